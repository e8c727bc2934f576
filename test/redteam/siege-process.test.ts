import { besiege } from './siege/besiege.js';

besiege('process');
