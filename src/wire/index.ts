export type { FrameClock, FrameTransportLimits, FrameTransportOptions } from './frame-transport.js';
export { frameTransport } from './frame-transport.js';
export { FRAME_HEADER_BYTES, FRAME_VERSION, FrameDecoder } from './frames.js';
export { FRAME_TIMEOUT_MS, MAX_BACKLOG_BYTES, MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES } from './limits.js';
export { decodeMessagePack } from './msgpack/decode.js';
export type { DecodeBudget } from './msgpack/decode-budget.js';
export { type EncodeOptions, encodeFrame, encodeMessagePack } from './msgpack/encode.js';
export type { WireMap, WireValue } from './msgpack/wire-value.js';
export type { CloseReason, Transport, Unsubscribe } from './transport.js';
