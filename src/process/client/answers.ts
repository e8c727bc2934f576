import { SallyportError } from '../../errors/index.js';
import type { SessionEvent } from '../events.js';
import { Fields } from '../fields.js';
import { type Dialect, isObject, type StreamName } from '../messages.js';

const STREAMS: readonly StreamName[] = ['stdout', 'stderr', 'pty'];

/** Reads the answer of a server, which is no more to be trusted than a client's request. */
export function answer<Result>(
  method: string,
  result: unknown,
  dialect: Dialect,
  read: (fields: Fields) => Result,
): Result {
  try {
    if (!isObject(result)) throw new Error('it is not an object');
    return read(Fields.of(result, dialect));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new SallyportError('PROCESS_PROTOCOL', `the server's answer to ${method} does not fit: ${problem}`);
  }
}

/** Reads the chunks of a `process/read`. */
export function readChunks(fields: Fields): { seq: number; stream: StreamName; bytes: Buffer }[] {
  return fields.objects('chunks').map((chunk) => ({
    seq: chunk.integer('seq'),
    stream: chunk.oneOf('stream', STREAMS),
    bytes: chunk.bytes('chunk'),
  }));
}

/** Makes an event of a notification, or nothing of one that is not known. Servers of the first dialect send no numbers. */
export function eventOf(method: string, params: unknown, dialect: Dialect): SessionEvent | undefined {
  const read = (make: (fields: Fields) => SessionEvent): SessionEvent => answer(method, params, dialect, make);
  switch (method) {
    case 'process/output':
      return read((fields) => ({
        type: 'output',
        processId: fields.string('processId'),
        seq: fields.optionalInteger('seq') ?? 0,
        stream: fields.oneOf('stream', STREAMS),
        bytes: fields.bytes('chunk'),
      }));
    case 'process/exited':
      return read((fields) => ({
        type: 'exited',
        processId: fields.string('processId'),
        seq: fields.optionalInteger('seq') ?? 0,
        exitCode: fields.signed('exitCode'),
        timedOut: fields.booleanOr('timedOut', 'false'),
      }));
    case 'process/closed':
      return read((fields) => ({ type: 'closed', processId: fields.string('processId'), seq: fields.integer('seq') }));
    case 'http/request/bodyDelta':
      return read((fields) => ({
        type: 'bodyDelta',
        requestId: fields.string('requestId'),
        seq: fields.integer('seq'),
        bytes: fields.bytes('deltaBase64'),
        done: fields.boolean('done'),
        error: fields.optionalString('error') ?? null,
      }));
    default:
      return undefined;
  }
}
