export type { CloseReason, Transport, Unsubscribe } from './transport.js';
export {
  checkTransportSafe,
  formatPath,
  MAX_CONFIGURABLE_DEPTH,
  MAX_VALUE_BYTES,
  MAX_VALUE_COUNT,
  MAX_VALUE_DEPTH,
  type TransportSafeCheck,
  type TransportSafeOptions,
  type TransportValue,
  type ValueLimits,
} from './values.js';
