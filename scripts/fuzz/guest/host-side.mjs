// Our host against a runner that lies: `runSession` over a pair of streams, whose far end says what a case says.
import { PassThrough } from 'node:stream';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { defineTools } from '../../../dist/capabilities/index.js';
import { EXECUTE_ERROR_CODES, runSession } from '../../../dist/guest/index.js';
import { ndjsonTransport } from '../../../dist/wire/index.js';
import { cut, pieceSizes } from '../cut.mjs';
import { mutateBytes } from '../mutate-bytes.mjs';
import { mutateFields, mutateText } from '../mutate-json.mjs';
import { hold, withinLimit } from '../oracles.mjs';

const OPTIONS = { timeoutMs: 60, maxLogLines: 3, maxLogChars: 40 };
const WAITS = { startTimeoutMs: 60, cancelGraceMs: 60 };
const RESULTS = [1, null, 'text', [1, { a: [] }], { b: true }];
const CODES = new Set(EXECUTE_ERROR_CODES);

/** What a runner says in one session, and what becomes of it on the way. */
export function hostCase(random) {
  const result = random.pick(RESULTS);
  const calls = random.below(4);
  const lines = [{ type: 'started', id: '@id@' }];
  if (random.oneIn(3)) lines.push({ type: 'log', id: '@id@', line: 'x'.repeat(random.below(60)) });
  for (let index = 0; index < calls; index += 1) {
    const safeToolName = random.pick(['echo', 'echo', 'slow', 'fail']);
    lines.push({ type: 'tool_call', callId: `c${index}`, providerName: 'tools', safeToolName, input: { n: index } });
  }
  const logs = Array.from({ length: random.below(5) }, (_, index) => `line ${index}`);
  lines.push({ type: 'done', id: '@id@', ok: true, durationMs: 1, logs, result });
  const texts = lines.map((line) => Buffer.from(JSON.stringify(line)));
  const honest = !random.oneIn(5);
  for (let left = honest ? 0 : 1 + random.below(2); left > 0; left -= 1) lie(random, lines, texts);
  return {
    mode: 'host',
    lines: texts,
    honest,
    expected: result,
    pieces: random.oneIn(2) ? pieceSizes(random) : undefined,
    pauseMs: random.oneIn(4) ? random.below(10) : 0,
    cancelMs: random.oneIn(6) ? random.below(20) : undefined,
    ending: random.pick(['stay', 'stay', 'end', 'error']),
  };
}

function lie(random, lines, texts) {
  const at = random.below(texts.length);
  const text = texts[at].toString();
  switch (random.below(7)) {
    case 0:
    case 1:
    case 2:
      texts[at] = Buffer.from(JSON.stringify(mutateFields(random, lines[at % lines.length])) ?? 'undefined');
      break;
    case 3:
      texts[at] = Buffer.from(mutateText(random, text));
      break;
    case 4:
      texts[at] = mutateBytes(random, texts[at]);
      break;
    case 5:
      texts.splice(at, 0, texts[at]);
      break;
    default:
      texts.splice(at, 1);
      if (texts.length === 0) texts.push(Buffer.from('{}'));
  }
}

/** Runs one session and judges what our host makes of it. */
export async function checkHost(input) {
  const ran = [];
  const tools = defineTools('tools', {
    echo: (value, { callId }) => note(ran, callId, value),
    slow: async (value, { callId }) => delay(1).then(() => note(ran, callId, value)),
    fail: (_, { callId }) => {
      note(ran, callId);
      throw new Error('the tool failed');
    },
  });
  const [toHost, toRunner] = [new PassThrough(), new PassThrough()];
  const transport = ndjsonTransport({ readable: toHost, writable: toRunner });
  const aborter = new AbortController();
  const session = runSession({ transport, code: '1', providers: tools, ...OPTIONS, ...WAITS, signal: aborter.signal });
  const talking = talk(input, toHost, toRunner, aborter);
  const result = await withinLimit(session, 'runSession has no result');
  transport.terminate();
  await withinLimit(talking, 'the runner cannot get its words out');
  checkResult(result, input, aborter.signal.aborted);
  hold(new Set(ran).size === ran.length, `a tool ran twice for one callId: ${ran}`);
  return { frames: input.lines.length, outcome: `host: ${result.ok ? 'ok' : result.error.code}` };
}

function note(ran, callId, value) {
  ran.push(callId);
  return value;
}

async function talk({ lines, pieces, pauseMs, cancelMs, ending }, toHost, toRunner, aborter) {
  const first = await new Promise((resolve) => {
    let text = '';
    const onData = (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
    };
    toRunner.on('data', onData);
    toRunner.once('close', () => resolve(undefined));
  });
  if (first === undefined) return;
  if (cancelMs !== undefined) setTimeout(() => aborter.abort(), cancelMs);
  for (const line of lines) {
    const bytes = Buffer.from(`${line.toString('latin1').replaceAll('@id@', first.id)}\n`, 'latin1');
    for (const piece of pieces === undefined ? [bytes] : cut(bytes, pieces)) {
      if (toHost.destroyed) return;
      toHost.write(piece);
      if (pieces !== undefined) await turn();
    }
    if (pauseMs > 0) await delay(pauseMs);
  }
  if (ending === 'end') toHost.end();
  if (ending === 'error') toHost.destroy(new Error('the pipe broke'));
}

function checkResult(result, { honest, expected, cancelMs, ending }, aborted) {
  const { ok, durationMs, logs, error } = result;
  hold(typeof durationMs === 'number' && durationMs >= 0 && Number.isFinite(durationMs), `durationMs is ${durationMs}`);
  hold(logs.length <= OPTIONS.maxLogLines, `${logs.length} lines of logs`);
  hold(logs.join('').length <= OPTIONS.maxLogChars, 'too many characters of logs');
  if (!ok) hold(CODES.has(error.code) && typeof error.message === 'string', `the error is ${JSON.stringify(error)}`);
  else hold(JSON.stringify(result.result) !== undefined || result.result === undefined, 'a result that is no JSON');
  if (!honest || cancelMs !== undefined || ending === 'error') return;
  // The machine may take longer than the short limits of this test.
  if (!ok && (error.code === 'timeout' || /in time/.test(error.message))) return;
  hold(
    ok && !aborted && isDeepStrictEqual(result.result, expected),
    `an honest session ended as ${JSON.stringify(result)}`,
  );
}
