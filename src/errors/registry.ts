/**
 * Every error code of Sallyport, in one place. `docs/errors.md` is made from this table, and CI checks that it is current.
 *
 * A code is stable: programs match on it. The wording of a message is for people and may change.
 */

export type ErrorRoom =
  | 'wire'
  | 'capabilities'
  | 'sandbox'
  | 'guest'
  | 'wasm'
  | 'tool'
  | 'process'
  | 'server'
  | 'conformance';

export interface ErrorEntry {
  /** The room that raises it. */
  readonly room: ErrorRoom;
  /** What happened, in one sentence. */
  readonly meaning: string;
  /** What the reader can do about it. */
  readonly remedy: string;
}

const entry = (room: ErrorRoom, meaning: string, remedy: string): ErrorEntry => ({ room, meaning, remedy });

export const ERROR_REGISTRY = {
  WIRE_CLOSED: entry(
    'wire',
    'A message was sent on a transport that is already closed.',
    'Subscribe to `onClose` and stop sending; the error carries the reason of the close.',
  ),
  WIRE_FRAME_TOO_LARGE: entry(
    'wire',
    'A line or frame is larger than the limit. It is refused while it arrives, before its body is kept.',
    'Send less at once, or raise the limit on the receiving side.',
  ),
  WIRE_FRAME_VERSION: entry(
    'wire',
    'A frame starts with a version byte that is not 1.',
    'Check that the peer speaks this framing, and that nothing else writes to the same stream.',
  ),
  WIRE_FRAME_TIMEOUT: entry(
    'wire',
    'A frame began but did not arrive in full within the time limit.',
    'The peer stalled or died half-way through a frame: start a fresh one.',
  ),
  WIRE_FRAME_TRUNCATED: entry(
    'wire',
    'The stream ended in the middle of a frame.',
    'The peer died while it was writing.',
  ),
  WIRE_FRAME_EMPTY: entry(
    'wire',
    'A frame announces a payload of zero bytes.',
    'Every frame holds exactly one message.',
  ),
  WIRE_UTF8: entry('wire', 'Bytes that should be text are not valid UTF-8.', 'Encode text as UTF-8 before it is sent.'),
  WIRE_SYNTAX: entry(
    'wire',
    'A message is not well-formed.',
    'The message says at which byte or character parsing stopped.',
  ),
  WIRE_DUPLICATE_KEY: entry('wire', 'An object or map has the same key twice.', 'Send each key once.'),
  WIRE_KEY_TYPE: entry('wire', 'A map has a key that is not a string.', 'Use strings as keys.'),
  WIRE_EXTENSION: entry(
    'wire',
    'A MessagePack extension type was found.',
    'Only plain MessagePack values are accepted.',
  ),
  WIRE_NUMBER: entry('wire', 'A number is NaN or infinite.', 'Send finite numbers.'),
  WIRE_TRAILING: entry('wire', 'There are bytes behind the end of a message.', 'Send exactly one value per message.'),
  WIRE_BUDGET_BYTES: entry('wire', 'A message has more bytes than its budget.', 'Send less, or raise the budget.'),
  WIRE_BUDGET_DEPTH: entry('wire', 'A message is nested deeper than its budget.', 'Flatten it, or raise the budget.'),
  WIRE_BUDGET_VALUES: entry('wire', 'A message holds more values than its budget.', 'Split it, or raise the budget.'),
  WIRE_BACKLOG: entry(
    'wire',
    'A peer does not read, and what waits to be sent to it has reached its limit.',
    'Await the promise that `send` returns before sending more.',
  ),
  WIRE_CONNECT: entry('wire', 'A connection could not be opened.', 'The message has the address and the reason.'),
  WIRE_LISTEN: entry(
    'wire',
    'A server cannot listen on the address it was given.',
    'The message has the address and the reason: pick another port, or 0 for any free one.',
  ),
  VALUE_NOT_SERIALIZABLE: entry(
    'wire',
    'A value cannot cross a boundary. The message has the path of the first offender.',
    'Send null, booleans, strings, finite numbers, arrays and plain objects only.',
  ),
  TOOLS_INVALID: entry(
    'capabilities',
    'A tool definition or one of its schemas is not usable. Raised when tools are defined, never while a guest runs.',
    'The message names the tool, the place in the schema and the reason.',
  ),
  TOOLS_NAME: entry(
    'capabilities',
    'A namespace or a tool has a name that a guest cannot be given.',
    'Use an ASCII identifier that is not reserved, not a global of the guest, and not taken by another provider.',
  ),
  SPAWN_INVALID: entry(
    'sandbox',
    'A spawn request is not usable as it stands.',
    'The message names the field and the value.',
  ),
  SPAWN_FAILED: entry('sandbox', 'The system refused to start a program.', 'The message has the reason of the system.'),
  SPAWN_LEVEL_UNAVAILABLE: entry(
    'sandbox',
    'The isolation level that was asked for cannot be enforced on this machine.',
    'Run `sallyport doctor` to see what is missing, or ask for a weaker level.',
  ),
  SPAWN_TERMINAL_UNAVAILABLE: entry(
    'sandbox',
    'A terminal was asked for, but this machine cannot give one.',
    'Run `sallyport doctor` to see what is missing, or use pipes.',
  ),
  POLICY_INVALID: entry(
    'sandbox',
    'What a confined program may reach is not written so that it can only be meant one way.',
    'The message names the field, the value, and how to write it.',
  ),
  POLICY_WIDENED: entry(
    'sandbox',
    'A call asked for more than the policy of its boundary grants.',
    'Ask for less, or have the operator widen the policy. The message names what is not granted.',
  ),
  SPAWN_INPUT_CLOSED: entry(
    'sandbox',
    'Input was written to a child that takes none, or none any more.',
    'Start the child with a pipe or a terminal as its input, and stop writing once it has ended.',
  ),
  SPAWN_INPUT_BACKLOG: entry(
    'sandbox',
    'A child does not read its input, and what waits for it has reached the limit.',
    'Await each write before the next one, or raise `inputQueueBytes`.',
  ),
  WASM_MODULE_UNREADABLE: entry(
    'wasm',
    'The module cannot be read from its file.',
    'Check the path and the permissions.',
  ),
  WASM_MODULE_INVALID: entry(
    'wasm',
    'The bytes are not a WebAssembly module.',
    'Hand over the `.wasm` file that the compiler made, unpacked and not precompiled.',
  ),
  WASM_MODULE_COMPONENT: entry(
    'wasm',
    'The file is a component, not a core module.',
    'Build for `wasm32-wasip1` (preview 1) instead of a component target.',
  ),
  WASM_MODULE_TOO_LARGE: entry(
    'wasm',
    'The module is larger than the limit.',
    'Strip it, or raise `limits.moduleBytes`.',
  ),
  WASM_MODULE_IMPORTS: entry(
    'wasm',
    'The module imports something other than `wasi_snapshot_preview1` functions.',
    'Build it as a WASI preview 1 command without other imports.',
  ),
  WASM_MODULE_START: entry(
    'wasm',
    'The module exports no function `_start`, or no memory.',
    'Build it as a command (a program with `main`), not as a library or reactor.',
  ),
  WASM_MODULE_MEMORY: entry(
    'wasm',
    'The module asks for more memory or table elements at its start than the limit.',
    'Build it with less initial memory, or raise `limits.memoryBytes` or `limits.tableElements`.',
  ),
  WASM_MODULE_HASH: entry(
    'wasm',
    'The SHA-256 of the module is not the one that was asked for.',
    'Somebody changed the file, or the pin is out of date: find out before you run it.',
  ),
  WASM_RUNTIME_UNAVAILABLE: entry(
    'wasm',
    'The runtime that was asked for is not on this machine or cannot be used.',
    'Use the built-in runtime, or put the other one on PATH.',
  ),
  WASM_START_FAILED: entry(
    'wasm',
    'The guest ended before it could serve: it does not compile, traps or exits at its start.',
    'The message has the reason, the exit code and the end of its standard error.',
  ),
  WASM_START_TIMEOUT: entry(
    'wasm',
    'The guest was not ready in time: compiling takes too long, or its start function loops.',
    'Fix the module, or raise `limits.startTimeoutMs`.',
  ),
  WASM_BACKOFF: entry(
    'wasm',
    'The guest kept failing at its start, so it is not started again for a while.',
    'The error carries the last cause and the time until the next attempt.',
  ),
  WASM_FRAME_INVALID: entry(
    'wasm',
    'The guest sent a frame that cannot be decoded. It was ended.',
    'The cause has the offset and the reason. Every frame holds exactly one MessagePack map.',
  ),
  WASM_FRAME_VERSION: entry(
    'wasm',
    'The guest sent a frame of a protocol version other than 1. It was ended.',
    'Build the guest for version 1 of the protocol.',
  ),
  WASM_OUTPUT_NOT_PROTOCOL: entry(
    'wasm',
    'The guest wrote something that is no frame to its standard output. It was ended.',
    'Print to standard error: standard output belongs to the protocol.',
  ),
  WASM_MESSAGE_INVALID: entry(
    'wasm',
    'The guest sent a message that does not match the protocol schema. It was ended.',
    'The message names the field.',
  ),
  WASM_UNKNOWN_ID: entry(
    'wasm',
    'The guest referred to an id that was never issued, is used up, or is taken. It was ended.',
    'Answer each call once, end each stream once, and use a new id for each call.',
  ),
  WASM_NOT_GRANTED: entry(
    'wasm',
    'The guest called a function that was not granted. It was ended.',
    'Grant it by name, if it should be allowed.',
  ),
  WASM_TIMEOUT: entry(
    'wasm',
    'A call took longer than its timeout. The guest was ended, and all of its calls with it.',
    'Raise `timeoutMs`; `facts.function` is the call at fault.',
  ),
  WASM_EXITED: entry(
    'wasm',
    'The guest ended by itself while it was needed.',
    'The error carries the exit code or signal and the end of its standard error.',
  ),
  WASM_TRAPPED: entry(
    'wasm',
    'The guest trapped: unreachable code, a stack overflow, memory out of bounds.',
    'The error carries the reason and the end of its standard error.',
  ),
  WASM_BACKLOG: entry(
    'wasm',
    'The guest does not read, and what waits for it has reached the limit.',
    'Send less at once, or raise `limits.backlogBytes`.',
  ),
  WASM_STREAM_STALLED: entry(
    'wasm',
    'A stream that nobody read kept the rest of the guest waiting for too long. It was ended.',
    'Read the stream while the call runs, or raise `limits.stallMs` or `limits.streamBufferBytes`.',
  ),
  WASM_STREAM_IDLE: entry(
    'wasm',
    'An open stream moved nothing for too long. The guest was ended.',
    'Raise `limits.streamIdleMs` for streams that are quiet by nature.',
  ),
  WASM_STREAM_ABANDONED: entry(
    'wasm',
    'The guest kept sending to a stream whose consumer had stopped, beyond the limit. It was ended.',
    'Read the stream to its end, or raise `limits.discardBytes`.',
  ),
  WASM_STREAM_FAILED: entry(
    'wasm',
    'The sender of a stream ended it with an error.',
    'The message is the text of the sender.',
  ),
  WASM_CALL_FAILED: entry(
    'wasm',
    'The called function answered with an error.',
    'The message is the text of the guest; do not trust it.',
  ),
  WASM_CALL_ABORTED: entry('wasm', 'A call was aborted by its signal.', 'Nothing to do: the caller asked for it.'),
  WASM_FUNCTION_UNKNOWN: entry(
    'wasm',
    'A function was called that `functions` does not list.',
    'Add it to `functions`, or leave `functions` out to call anything.',
  ),
  WASM_PARAMS_INVALID: entry(
    'wasm',
    'The parameters of a call do not fit their schema or cannot cross the boundary. Nothing was sent.',
    'The message has the path.',
  ),
  WASM_RESULT_INVALID: entry(
    'wasm',
    'The result of a call does not fit its schema.',
    'The guest is wrong, or the schema is.',
  ),
  WASM_DISPOSED: entry('wasm', 'The client or session was disposed.', 'Open a new one.'),
  PROCESS_REFUSED: entry(
    'process',
    'A request of the process protocol was refused. `kind` and `rpcCode` say in which way.',
    'The message says what was wrong, with the name of the field where there is one.',
  ),
  PROCESS_HANDSHAKE: entry(
    'process',
    'A server did not complete the handshake of the process protocol.',
    'Check that the address or command is an exec-server, or raise `handshakeTimeoutMs`.',
  ),
  PROCESS_CONNECTION_LOST: entry(
    'process',
    'The connection to a server ended and the session could not be resumed, or the request cannot be repeated safely.',
    'Connect again. Processes of the session are ended by the server.',
  ),
  PROCESS_PROTOCOL: entry(
    'process',
    'A peer sent something that the process protocol does not know.',
    'The message says what. Check which version the peer speaks.',
  ),
  TOOL_CACHE_UNUSABLE: entry(
    'tool',
    'The folder for trees and async executions cannot be used.',
    'The message has the folder and the reason: make it writable, or name another one.',
  ),
  TOOL_SERVER: entry(
    'tool',
    'A tool server could not be reached, or answered something that is not the protocol.',
    'The message has the address, the status and what was answered.',
  ),
  SERVER_CONFIG: entry(
    'server',
    'The server cannot be what its configuration asks for.',
    'The message names the setting and the value.',
  ),
  SERVER_ISOLATION: entry(
    'server',
    'The isolation that was asked for cannot be enforced on this machine. Nothing runs weaker than configured.',
    'Run `sallyport doctor` to see what is missing, or ask for a weaker level.',
  ),
  SERVER_LISTEN: entry(
    'server',
    'The server cannot listen on its address.',
    'Pick another port with `--port`, or 0 for any free one.',
  ),
  CONFORMANCE_UNKNOWN: entry(
    'conformance',
    'There is no suite or check of that name.',
    'The message names what there is; `sallyport conformance <suite> --list` lists the checks.',
  ),
  CONFORMANCE_TARGET: entry(
    'conformance',
    'The suite cannot judge this target, or does not have this option.',
    'The message says what it can judge.',
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;
