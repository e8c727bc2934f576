import { Writable } from 'node:stream';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { SallyportError } from '../../errors/index.js';
import { DEPTH_CEILING, printable, type WireValue } from '../../wire/index.js';
import { MAX_ERROR_CHARS } from '../limits.js';
import { StreamQueue } from './stream-queue.js';

/** A place in `params` where the peer may stream to. Iterate it, during the call or after it: nothing is lost. */
export interface Sink<T = WireValue> extends AsyncIterable<T> {
  readonly [SINK]: StreamQueue;
}

const SINK: unique symbol = Symbol('sallyport.sink');

/** Anything that takes chunks one by one and may ask to wait. */
export interface ChunkWriter {
  write(chunk: WireValue): unknown;
  end?(): unknown;
  error?(error: Error): unknown;
}

/** Makes a sink for one stream. With a schema, each chunk is checked against it. */
export function createSink(): Sink<WireValue>;
export function createSink<S extends StandardSchemaV1>(schema: S): Sink<StandardSchemaV1.InferOutput<S>>;
export function createSink(schema?: StandardSchemaV1): Sink<unknown> {
  const queue = new StreamQueue();
  return {
    [SINK]: queue,
    [Symbol.asyncIterator]: () => (schema === undefined ? queue : checked(queue, schema)),
  };
}

async function* checked(queue: StreamQueue, schema: StandardSchemaV1): AsyncGenerator<unknown, void, undefined> {
  for await (const chunk of queue) {
    const result = await schema['~standard'].validate(chunk);
    if (result.issues !== undefined) {
      const [issue] = result.issues;
      const reason = printable(issue?.message ?? 'no reason given', MAX_ERROR_CHARS);
      throw new SallyportError('WASM_RESULT_INVALID', `a chunk does not fit its schema: ${reason}`);
    }
    yield result.value;
  }
}

/** Finds the queue that feeds a sink of any kind, or nothing when the value is no sink. */
export function queueForSink(value: object): StreamQueue | undefined {
  if (SINK in value && value[SINK] instanceof StreamQueue) return value[SINK];
  if (value instanceof WritableStream) {
    const writer = value.getWriter();
    return pumped(webWriter(writer), () => writer.releaseLock());
  }
  if (value instanceof Writable) return pumped(nodeWriter(value));
  if (isChunkWriter(value)) return pumped(value);
  return undefined;
}

/** Tells whether this takes chunks and an end. */
export function isChunkWriter(value: object): value is ChunkWriter {
  return 'write' in value && typeof value.write === 'function' && 'end' in value && typeof value.end === 'function';
}

/**
 * Tells the sinks in the parameters of a call that was never sent, so that nobody waits for them. They can be given to
 * another call. Those of a call that runs are left alone, and so are other kinds of sinks, which nobody has touched.
 */
export function refuseSinks(params: unknown, error: unknown): void {
  const reason = error instanceof Error ? error : new Error(String(error));
  const seen = new Set<object>();
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > DEPTH_CEILING || seen.has(value)) return;
    seen.add(value);
    if (SINK in value && value[SINK] instanceof StreamQueue) {
      if (value[SINK].owner === undefined) value[SINK].refuse(reason);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return;
    for (const property of Object.values(Object.getOwnPropertyDescriptors(value))) visit(property.value, depth + 1);
  };
  visit(params, 0);
}

function pumped(writer: ChunkWriter, release?: () => void): StreamQueue {
  const queue = new StreamQueue();
  queue.release = release;
  void pump(queue, writer);
  return queue;
}

/** Carries chunks to a writer, one after the other. A writer that fails has stopped consuming. */
async function pump(queue: StreamQueue, writer: ChunkWriter): Promise<void> {
  try {
    for (;;) {
      const step = await queue.next().catch((error: unknown) => ({ error }));
      if ('error' in step) {
        // A stream that never began leaves its writer as it is.
        if (queue.owner === undefined) return;
        await writer.error?.(step.error instanceof Error ? step.error : new Error(String(step.error)));
        return;
      }
      if (step.done === true) {
        await writer.end?.();
        return;
      }
      await writer.write(step.value);
    }
  } catch {
    queue.abandon();
  }
}

function webWriter(writer: WritableStreamDefaultWriter): ChunkWriter {
  return {
    write: async (chunk) => {
      await writer.ready;
      await writer.write(chunk);
    },
    end: () => writer.close(),
    error: (error) => writer.abort(error),
  };
}

function nodeWriter(writable: Writable): ChunkWriter {
  // Its owner hears of the error as well; without a listener it would end this process.
  writable.on('error', () => {});
  return {
    write: (chunk) =>
      new Promise<void>((resolve, reject) => {
        writable.write(chunk, (error) => (error ? reject(error) : resolve()));
      }),
    end: () => writable.end(),
    error: (error) => writable.destroy(error),
  };
}
