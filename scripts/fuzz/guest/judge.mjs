// What a runner has to make of one message of a host, written down a second time from the specification.
import { isDeepStrictEqual } from 'node:util';
import { judgeJson } from '../judge-json.mjs';
import { PROVIDERS } from './programs.mjs';

const RANGES = {
  timeoutMs: [1, 3_600_000],
  memoryLimitBytes: [64 * 1024, 2 ** 31],
  maxLogLines: [0, 1_000_000],
  maxLogChars: [0, 64 * 1024 * 1024],
};
const DEPTH = 72;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * `nothing` (a blank line), `close` (it ends the session), `cancel`, `tool_result`, or an execute that must `run`, must be `refuse`d,
 * or where `either` is right.
 */
export function judgeHostMessage(bytes, wireKind) {
  if (wireKind === 'lines' && /^[ \t\r]*$/.test(bytes.toString('latin1'))) return { kind: 'nothing' };
  const judged = judgeJson(bytes, { depth: DEPTH });
  if (judged === undefined || !isObject(judged.value)) return { kind: 'close' };
  const message = judged.value;
  const { type, id, callId, ok, error } = message;
  switch (type) {
    case 'execute':
      return typeof id === 'string' ? { kind: judgeExecute(message), message } : { kind: 'close' };
    case 'cancel':
      return typeof id === 'string' ? { kind: 'cancel', message } : { kind: 'close' };
    case 'tool_result': {
      if (typeof callId !== 'string') return { kind: 'close' };
      const failed =
        ok === false && isObject(error) && typeof error.code === 'string' && typeof error.message === 'string';
      return ok === true || failed ? { kind: 'tool_result', message } : { kind: 'close' };
    }
    default:
      return { kind: 'close' };
  }
}

function judgeExecute({ code, options, providers }) {
  if (typeof code !== 'string') return 'refuse';
  if (options !== undefined && !isObject(options)) return 'refuse';
  for (const [name, [low, high]] of Object.entries(RANGES)) {
    const value = options?.[name] ?? low;
    if (typeof value !== 'number' || !(value >= low && value <= high)) return 'refuse';
  }
  if (providers === undefined || isDeepStrictEqual(providers, PROVIDERS)) return 'run';
  // What makes a namespace or a tool name usable is tested elsewhere; here only that there is an answer.
  return Array.isArray(providers) ? 'either' : 'refuse';
}
