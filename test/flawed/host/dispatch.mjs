// How the flawed host runs the tools of a case.

const BEHAVIOURS = {
  echo: (input) => input,
  strict: (input) => input,
  nothing: () => undefined,
  bad: () => ({ big: 10n }),
  fail: () => {
    throw new Error('failed on purpose');
  },
  hang: (_, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('the caller gave up')))),
};

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Runs the tool of a call. Gives the `tool_result`, or nothing when the flaw is to say nothing. */
export async function answerCall(call, { has, say, signal, granted }) {
  const { callId } = call;
  if (has('drops-empty-input') && !('input' in call)) return undefined;
  const tool = toolOf(call, granted, has);
  if (tool === undefined && has('ignores-unknown-tools')) return undefined;
  try {
    if (tool === undefined) throw new Refused('validation_error', 'no such tool');
    const result = await run(tool, call.input, { has, say, signal });
    const empty = has('null-for-nothing') ? { result: null } : {};
    return { type: 'tool_result', callId, ok: true, ...(result === undefined ? empty : { result: safe(result, has) }) };
  } catch (error) {
    return { type: 'tool_result', callId, ok: false, error: { code: codeOf(error, has), message: error.message } };
  }
}

function toolOf({ providerName, safeToolName }, granted, has) {
  if (has('looks-into-prototypes') && safeToolName in {}) return { originalName: safeToolName, behaviour: 'echo' };
  if (has('one-namespace')) return granted.get(`tools.${safeToolName}`);
  return granted.get(`${providerName}.${safeToolName}`);
}

async function run({ originalName, behaviour }, input, { has, say, signal }) {
  if (behaviour === 'strict' && !has('no-validation') && typeof input?.n !== 'number') {
    throw new Refused('validation_error', 'n must be a number');
  }
  say({ type: 'called', tool: originalName, input: has('wraps-input') ? { input } : input });
  signal.addEventListener('abort', () => say({ type: 'aborted', tool: originalName }));
  return BEHAVIOURS[behaviour](input, signal);
}

function safe(value, has) {
  const text = JSON.stringify(value, (_, inner) => {
    if (typeof inner !== 'bigint') return inner;
    if (has('bigint-is-text')) return String(inner);
    throw new Refused('serialization_error', 'a bigint cannot cross');
  });
  return JSON.parse(text);
}

function codeOf(error, has) {
  if (error instanceof Refused) return error.code;
  if (has('own-tool-codes')) return 'EFAILED';
  return has('tools-as-runtime-errors') ? 'runtime_error' : 'tool_error';
}
