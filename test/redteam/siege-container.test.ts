import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';
import { besiege } from './siege/besiege.js';

testRefusalWithoutRooms();

if (here.available) besiege('container');
