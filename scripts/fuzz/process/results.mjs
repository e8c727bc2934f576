// The shape of every result.
import { hold } from '../oracles.mjs';

const is = (type) => (value) => typeof value === type;
const nullOr = (check) => (value) => value === null || check(value);
const count = (value) => Number.isSafeInteger(value) && value >= 0;
const [text, flag] = [is('string'), is('boolean')];
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
const shape = (fields) => (value) =>
  typeof value === 'object' && value !== null && Object.entries(fields).every(([name, check]) => check(value[name]));
const chunk = shape({ seq: count, stream: (name) => ['stdout', 'stderr', 'pty'].includes(name), chunk: text });
const read = { chunks: listOf(chunk), nextSeq: count, exited: flag, exitCode: nullOr(Number.isSafeInteger) };
const anything = () => true;

const BOTH = {
  'process/read': shape(read),
  'process/terminate': shape({ running: flag }),
  'process/list': shape({ processes: Array.isArray }),
  'process/wait': shape({}),
  'process/resize': shape({}),
  'process/closeStdin': shape({}),
};
const FIRST = {
  ...BOTH,
  initialize: (value) => JSON.stringify(value) === '{}',
  'process/start': (value) => text(value.processId) && Object.keys(value).length === 1,
  'process/write': shape({ accepted: (value) => value === true }),
};
const STATUSES = new Set(['accepted', 'unknownProcess', 'stdinClosed', 'starting']);
const LATER = {
  ...BOTH,
  initialize: shape({ sessionId: text, capabilities: anything }),
  'process/start': shape({ processId: text, sandboxType: nullOr(text) }),
  'process/write': shape({ status: (value) => STATUSES.has(value) }),
  'process/read': shape({ ...read, closed: flag, failure: nullOr(text), sandboxDenied: flag }),
  'process/signal': shape({}),
  'environment/info': shape({ shell: shape({ name: text, path: text }), cwd: text, capabilities: anything }),
  'environment/status': shape({ status: (value) => value === 'ready' }),
  'fs/readFile': shape({ dataBase64: text }),
  'fs/getMetadata': shape({ isDirectory: flag, isFile: flag, isSymlink: flag, size: count }),
  'fs/readDirectory': shape({ entries: listOf(shape({ fileName: text, isDirectory: flag, isFile: flag })) }),
  'fs/canonicalize': shape({ path: (value) => /^file:\/\/\//.test(value) }),
  'fs/walk': shape({ entries: listOf(shape({ path: text, kind: text })), errors: Array.isArray, truncated: flag }),
  'fs/open': shape({ handleId: text }),
  'fs/readBlock': shape({ chunk: text, eof: flag }),
  'fs/close': shape({}),
  'fs/writeFile': shape({}),
  'fs/copy': shape({}),
  'fs/createDirectory': shape({}),
  'fs/remove': shape({}),
  'http/request': shape({ status: count, headers: Array.isArray }),
};

/** Fails unless a result is what the method may return. */
export function checkResult({ method, params }, result, dialect) {
  const check = (dialect === 'first' ? FIRST : LATER)[method];
  const shown = `${method} returned ${JSON.stringify(result)?.slice(0, 300)}`;
  hold(check !== undefined, `${shown}, although there is no such method`);
  hold(check(result), shown);
  if (method === 'process/start') hold(result.processId === params.processId, shown);
  if (method !== 'process/read') return;
  const after = params.afterSeq ?? 0;
  let last = after;
  for (const { seq } of result.chunks) {
    hold(seq > last, `${shown}: seq ${seq} after ${last}`);
    last = seq;
  }
  // The exit and the close have numbers as well in the later dialect, and may have come behind the last chunk.
  if (result.chunks.length > 0) {
    const behind = dialect === 'later' && result.exited;
    hold(behind ? result.nextSeq > last : result.nextSeq === last + 1, `${shown}: nextSeq`);
  }
}
