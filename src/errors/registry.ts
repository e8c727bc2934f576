/**
 * Every error code of Sallyport, in one place. `docs/errors.md` is made from this table, and CI checks that it is current.
 *
 * A code is stable: programs match on it. The wording of a message is for people and may change.
 */

export type ErrorRoom = 'wire' | 'capabilities' | 'sandbox' | 'guest' | 'wasm' | 'tool' | 'process' | 'server' | 'cli';

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
  CLI_USAGE: entry('cli', 'The command line cannot be understood.', 'See `--help` of the command.'),
  CLI_INPUT: entry(
    'cli',
    'A file, folder or port that the command needs cannot be used.',
    'The message names it and says why.',
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;
