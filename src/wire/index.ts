export type { CloseReason, Transport, Unsubscribe } from './transport.js';
