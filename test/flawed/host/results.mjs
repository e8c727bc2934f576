// What the flawed host makes of a `done`.

const CODES = new Set([
  'timeout',
  'memory_limit',
  'validation_error',
  'tool_error',
  'runtime_error',
  'serialization_error',
  'internal_error',
]);

/** The result that the caller gets. */
export function resultOf(done, options, has) {
  const durationMs = has('trusts-durations') || done.durationMs >= 0 ? done.durationMs : 0;
  const base = { durationMs: has('no-durations') ? undefined : durationMs, logs: logsOf(done.logs, options, has) };
  if (done.ok) {
    const empty = has('null-results') ? { result: null } : {};
    return { ok: true, ...(done.result === undefined ? empty : { result: done.result }), ...base };
  }
  return { ok: false, error: errorOf(done.error, has), ...base };
}

function errorOf(error, has) {
  if (error === undefined) {
    return has('failures-without-error') ? undefined : { code: 'internal_error', message: 'the runner gave no reason' };
  }
  const message = typeof error.message === 'string' || has('trusts-messages') ? error.message : 'no message';
  if (has('timeout-by-text') && String(message).includes('timed out')) return { code: 'timeout', message };
  return { code: CODES.has(error.code) || has('trusts-codes') ? error.code : 'internal_error', message };
}

function logsOf(logs, { maxLogLines, maxLogChars }, has) {
  const texts = has('trusts-log-types') ? logs : logs.map(String);
  const lines = has('trusts-log-lines') ? texts : texts.slice(0, maxLogLines);
  if (has('trusts-log-chars') || has('trusts-log-types')) return lines;
  let left = maxLogChars;
  return lines.flatMap((line) => {
    const kept = line.slice(0, Math.max(0, left));
    left -= line.length;
    return kept === '' && line !== '' ? [] : [kept];
  });
}
