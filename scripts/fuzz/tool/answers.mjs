// What an answer of the tool protocol may be.
import { isDeepStrictEqual } from 'node:util';
import { ERROR_REGISTRY } from '../../../dist/errors/index.js';
import { EXECUTE_ERROR_CODES } from '../../../dist/guest/index.js';
import { TOOL_ERROR_CODES } from '../../../dist/tool/index.js';
import { hold } from '../oracles.mjs';

/** Statuses that the specification, or HTTP itself, has for what a client did. A 500 is never one of them. */
const STATUSES = new Set([200, 202, 400, 403, 404, 408, 409, 413, 415, 417, 431, 503]);
/** Programs and Wasm modules, which share the port, have codes of their own. */
const CODES = new Set([...TOOL_ERROR_CODES, ...EXECUTE_ERROR_CODES, ...Object.keys(ERROR_REGISTRY)]);

/** Checks one answer against what is known of its request. */
export function checkAnswer({ status, headers, body }, { kind, method, expect }) {
  const shown = `${status} ${body.slice(0, 300)}`;
  // A browser may ask for leave before any request, also for a path that is not there.
  const leave = status === 204 && method === 'OPTIONS';
  hold(STATUSES.has(status) || leave, `the answer to a ${kind} request is ${shown}`);
  if (method === 'HEAD' || method === 'OPTIONS') return;
  if (/^text\/event-stream/.test(headers.get('content-type') ?? '')) return checkEvents(body, kind);
  let answer;
  try {
    answer = JSON.parse(body);
  } catch {
    hold(false, `the answer is no JSON: ${shown}`);
  }
  if (status >= 400) {
    hold(answer.success === false, `an error without success: false: ${shown}`);
    hold(typeof answer.error?.message === 'string', `an error without a message: ${shown}`);
  }
  // A batch of which one failed has no error of its own.
  const code = answer.error?.code;
  if (code !== undefined) hold(typeof code === 'string' && CODES.has(code), `an unknown code: ${shown}`);
  hold(code !== 'INTERNAL_ERROR', `an internal error: ${shown}`);
  if (kind !== 'valid') return;
  hold(status === expect.status, `expected ${JSON.stringify(expect)}, got ${shown}`);
  if (expect.code !== undefined) hold(code === expect.code, `expected ${expect.code}, got ${shown}`);
  for (const [name, value] of Object.entries(expect.answer ?? {})) {
    hold(
      isDeepStrictEqual(answer[name], value),
      `expected ${name} ${JSON.stringify(value)?.slice(0, 200)}, got ${shown}`,
    );
  }
}

/** Exactly one result, at the end. */
function checkEvents(text, kind) {
  const events = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  hold(events.filter((name) => name === 'result').length === 1, `the events are ${events}`);
  hold(events.at(-1) === 'result', `the events are ${events}`);
  const data =
    /^event: result\n(?:id: .*\n)?data: (.*)$/m.exec(text)?.[1] ??
    /^data: (.*)$/m.exec(text.slice(text.lastIndexOf('event: result')))?.[1];
  const result = JSON.parse(data ?? 'null');
  hold(typeof result?.success === 'boolean', `the result is ${data?.slice(0, 200)}`);
  if (kind === 'valid') hold(result.success, `the result is ${data?.slice(0, 200)}`);
}
