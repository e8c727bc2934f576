// Valid sessions of a host with a runner.
import { PROGRAMS, PROVIDERS } from './programs.mjs';

const VALUES = [null, 1, -0.5, 'text', '', [1, [2]], { a: { b: null } }, true, JSON.parse('{"__proto__":1}')];
const ERRORS = [
  { code: 'tool_error', message: 'it failed' },
  { code: 'validation_error', message: 'bad input' },
  { code: 'timeout', message: 'the tool took too long' },
  { code: 'no_such_code', message: 'x' },
];

/** Makes the steps of one connection: one to three executions, with answers, cancels and waits where they belong. */
export function hostSession(random) {
  const steps = [];
  let calls = 0;
  let ends = 0;
  for (let index = 0, count = 1 + random.below(3); index < count; index += 1) {
    const program = random.pick(PROGRAMS);
    const id = random.oneIn(10) ? 'same' : `exec-${index}`;
    steps.push({ send: execute(random, id, program) });
    if (random.oneIn(8)) steps.push({ send: { type: 'cancel', id: random.oneIn(4) ? 'another' : id } });
    for (let call = 0; call < (program.calls ?? 0); call += 1) {
      steps.push({ wait: 'call or done', count: calls + ends + 1 });
      steps.push({ send: toolResult(random, `@call${calls}@`) });
      calls += 1;
    }
    ends += 1;
    // Most hosts wait for the end; the others find out what a second execute does.
    if (!random.oneIn(4)) steps.push({ wait: 'done', count: ends });
  }
  return steps;
}

function execute(random, id, program) {
  const options = { timeoutMs: program.endless ? 1 + random.below(120) : 10_000 };
  if (random.oneIn(4)) options.maxLogLines = random.below(5);
  if (random.oneIn(4)) options.maxLogChars = random.below(50);
  if (random.oneIn(6)) options.streamLogs = true;
  if (random.oneIn(8)) options.memoryLimitBytes = 2 ** (16 + random.below(10));
  const message = { type: 'execute', id, code: program.code, options, providers: PROVIDERS };
  if (random.oneIn(12)) delete message.providers;
  return message;
}

function toolResult(random, callId) {
  if (random.oneIn(5)) return { type: 'tool_result', callId, ok: false, error: random.pick(ERRORS) };
  if (random.oneIn(10)) return { type: 'tool_result', callId, ok: true };
  return { type: 'tool_result', callId, ok: true, result: random.pick(VALUES) };
}
