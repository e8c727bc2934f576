export { EncodedJson } from './encoded-json.js';
export { acceptsEvents, beginEventStream, eventText, HEARTBEAT } from './event-stream.js';
export type { FrameTransportLimits, FrameTransportOptions } from './frame-transport.js';
export { frameTransport } from './frame-transport.js';
export { FRAME_HEADER_BYTES, FRAME_VERSION, FrameDecoder } from './frames.js';
export { Gate } from './gate.js';
export { type AnswerEnd, clientPresence, whenAnswered } from './http-answer.js';
export { Inbox, type InboxFlow } from './inbox.js';
export { DEFAULT_JSON_BUDGET, decodeJson, type JsonBudget, parseJson } from './json.js';
export {
  CLOSE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  DEPTH_CEILING,
  FRAME_TIMEOUT_MS,
  KEEP_ALIVE_DELAY_MS,
  LAST_WORDS_MS,
  MAX_BACKLOG_BYTES,
  MAX_CONNECTIONS,
  MAX_DEPTH,
  MAX_FRAME_BYTES,
  MAX_HEADER_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_VALUE_BYTES,
  MAX_VALUES,
  PAIR_WINDOW_MESSAGES,
  PORT_ACK_EVERY,
  PORT_WINDOW_MESSAGES,
  SEND_HIGH_WATER_BYTES,
  SPARE_CONNECTIONS,
  UPGRADE_TIMEOUT_MS,
} from './limits.js';
export { LineDecoder } from './lines.js';
export {
  formatListenAddress,
  isLoopback,
  type ListenAddress,
  type ParsedListenAddress,
  parseListenAddress,
} from './listen-address.js';
export { memoryPair } from './memory-pair.js';
export type { MessageDecoder } from './message-decoder.js';
export { decodeFields, decodeMessagePack } from './msgpack/decode.js';
export type { DecodeBudget } from './msgpack/decode-budget.js';
export { type EncodeOptions, encodeFrame, encodeMessagePack } from './msgpack/encode.js';
export type { WireMap, WireValue } from './msgpack/wire-value.js';
export {
  encodeJsonLine,
  JsonLineDecoder,
  type JsonMessageOptions,
  type NdjsonTransportOptions,
  ndjsonTransport,
} from './ndjson.js';
export { type PortLike, type PortTransportOptions, portTransport } from './port-transport.js';
export { printable } from './printable.js';
export { peerBacklog, transportClosed } from './refused-send.js';
export { bearerOf, hostNameOf, isLoopbackName, sameDigest, secretDigest } from './request-identity.js';
export { type Clock, REAL_CLOCK, type StreamTransportOptions, streamTransport } from './stream-transport.js';
export type { CloseReason, Transport, Unsubscribe } from './transport.js';
export {
  checkTransportSafe,
  formatPath,
  type TransportSafeCheck,
  type TransportSafeOptions,
  type TransportValue,
  type ValueLimits,
} from './values.js';
export {
  type ConnectOptions,
  openWebSocket,
  WEBSOCKET_LIMITS,
  type WebSocketTransportOptions,
  webSocketBytes,
  webSocketTransport,
} from './websocket.js';
export { type Admission, type AdmissionRules, admit } from './websocket-admission.js';
export { listenWebSocket, type WebSocketListener, type WebSocketListenerOptions } from './websocket-listener.js';
export { createUpgrader, refuseUpgrade, type Upgrader, type UpgraderOptions } from './websocket-upgrade.js';
