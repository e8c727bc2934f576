// What every host under test does with the lines of the suite. An adapter says how its client is opened and called.
import { createInterface } from 'node:readline';

const notes = [];
/** What guests may call. */
export const functions = {
  echo: async (value) => value,
  fail: async () => {
    throw new Error('the host refuses');
  },
  nothing: async () => undefined,
  note: async (value) => void notes.push(value),
  notes: async () => notes,
};

/**
 * Reads cases from standard input and writes outcomes. The adapter has `open(argv)`, `call(client, name, params, { timeoutMs })`,
 * `callback(name)`, `receiver()` with the `place` it takes in params and its `chunks`, and, where the client has it,
 * `notify(client, name, params)` and `close(client)`.
 */
export async function drive(adapter) {
  let client;
  for await (const line of createInterface({ input: process.stdin })) {
    const { guest, ...message } = JSON.parse(line);
    if (guest !== undefined) client = await adapter.open(guest);
    else void answer(adapter, client, message).then((outcome) => console.log(JSON.stringify(outcome)));
  }
  await adapter.close?.(client);
}

async function answer(adapter, client, { call, functionName, params, timeoutMs, notify }) {
  const streams = [];
  const given = special(adapter, params, streams);
  try {
    if (notify && adapter.notify === undefined)
      return { call, unsupported: 'the client has no calls without an answer' };
    if (notify) {
      await adapter.notify(client, functionName, given);
      return { call, ok: true };
    }
    const result = await adapter.call(client, functionName, given, { timeoutMs });
    return { call, ok: true, result, streams: Object.fromEntries(await Promise.all(streams)) };
  } catch (error) {
    return { call, ok: false, error: error.message };
  }
}

/** Puts callbacks and streams where the case wants them. */
function special(adapter, value, streams) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => special(adapter, item, streams));
  if ('$callback' in value) return adapter.callback(value.$callback);
  if ('$send' in value) return items(value);
  if ('$receive' in value) {
    const { place, chunks } = adapter.receiver();
    streams.push(collect(value.$receive, chunks));
    return place;
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, special(adapter, item, streams)]));
}

async function* items({ $send, error }) {
  yield* $send;
  if (error !== undefined) throw new Error(error);
}

async function collect(name, source) {
  const chunks = [];
  try {
    for await (const chunk of source) chunks.push(chunk);
    return [name, { chunks }];
  } catch (error) {
    return [name, { chunks, error: error.message }];
  }
}
