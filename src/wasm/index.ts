export type { Caller, CallOptions, Notifier, ParamsOf, ReturnOf, WasmFunction, WasmFunctions } from './functions.js';
export type { DuplexContext } from './grant.js';
export type { WasmEvent } from './host/events.js';
export {
  type LoadWasmOptions,
  loadWasm,
  type RawGuest,
  type RawGuestEnd,
  type WasmModule,
} from './host/load-wasm.js';
export {
  type AnyFunctions,
  type OpenWasmOptions,
  openWasm,
  type PoolSettings,
  type RuntimeName,
  type WasmClient,
} from './host/open-wasm.js';
export { wasmRoomPolicy } from './host/room.js';
export { CALL_TIMEOUT_MS, DEFAULT_LIMITS, type WasmLimits } from './limits.js';
export {
  checkMessage,
  type FunctionCall,
  type FunctionError,
  type FunctionResponse,
  MESSAGE_TYPE,
  type Message,
  type MessageCheck,
  type StreamChunk,
  type StreamEnd,
  type StreamError,
} from './messages.js';
export { inspectWasm, type ModuleProblem, type ModuleReport } from './module/inspect.js';
export type { SizeRange, WasmExport, WasmImport } from './module/sections.js';
export type { EnforcedLimits, RuntimeReport, WasmRuntime } from './runtime/runtime.js';
export {
  type DuplexServer,
  type DuplexStream,
  type ServeDuplexOptions,
  serveDuplex,
} from './serve-duplex.js';
export { type ChunkWriter, createSink, type Sink } from './session/sink.js';
