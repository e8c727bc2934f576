import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_MAX_LOG_CHARS,
  DEFAULT_MAX_LOG_LINES,
  DEFAULT_MEMORY_LIMIT_BYTES,
  DEFAULT_TIMEOUT_MS,
  MAX_CALL_ID_CHARS,
} from '../../src/guest/limits.js';
import {
  EXECUTE_ERROR_CODES,
  isExecuteErrorCode,
  parseHostMessage,
  parseOptions,
  parseRunnerMessage,
} from '../../src/guest/messages.js';

const execute = (more: object = {}) => ({ type: 'execute', id: 'e', code: '1', options: {}, providers: [], ...more });
const tool = (safeName: unknown, more: object = {}) => ({ safeName, originalName: 'x', ...more });
const provider = (tools: unknown, more: object = {}) => ({ name: 'tools', tools, types: '', ...more });

describe('a message from a host', () => {
  it('takes the default of every option that is absent', () => {
    const parsed = parseHostMessage({ type: 'execute', id: 'e', code: '' });
    expect(parsed).toEqual({
      ok: true,
      message: {
        type: 'execute',
        id: 'e',
        code: '',
        options: {
          timeoutMs: DEFAULT_TIMEOUT_MS,
          memoryLimitBytes: DEFAULT_MEMORY_LIMIT_BYTES,
          maxLogLines: DEFAULT_MAX_LOG_LINES,
          maxLogChars: DEFAULT_MAX_LOG_CHARS,
        },
        providers: [],
      },
    });
  });

  it('may have fields that nobody knows', () => {
    expect(parseHostMessage(execute({ extra: 1, options: { more: 2 } }))).toMatchObject({ ok: true });
    expect(parseHostMessage({ type: 'cancel', id: 'e', extra: 1 })).toEqual({
      ok: true,
      message: { type: 'cancel', id: 'e' },
    });
  });

  it('shows a tool under its safeName, whatever its key is', () => {
    const parsed = parseHostMessage(execute({ providers: [provider({ anything: tool('real') })] }));
    expect(parsed).toMatchObject({ ok: true, message: { providers: [{ tools: { real: { safeName: 'real' } } }] } });
  });

  const NAMED: readonly [what: string, message: object, field: string][] = [
    ['code that is no string', execute({ code: 5 }), 'execute.code'],
    ['options that are no object', execute({ options: [] }), 'execute.options'],
    ['a time limit of 0', execute({ options: { timeoutMs: 0 } }), 'timeoutMs'],
    ['a negative time limit', execute({ options: { timeoutMs: -1 } }), 'timeoutMs'],
    ['a time limit that is NaN', execute({ options: { timeoutMs: Number.NaN } }), 'timeoutMs'],
    ['a huge time limit', execute({ options: { timeoutMs: 1e308 } }), 'timeoutMs'],
    ['a time limit that is a string', execute({ options: { timeoutMs: '5' } }), 'timeoutMs'],
    ['a memory limit of 0', execute({ options: { memoryLimitBytes: 0 } }), 'memoryLimitBytes'],
    ['a huge memory limit', execute({ options: { memoryLimitBytes: 1e15 } }), 'memoryLimitBytes'],
    ['negative log lines', execute({ options: { maxLogLines: -1 } }), 'maxLogLines'],
    ['infinite log characters', execute({ options: { maxLogChars: Number.POSITIVE_INFINITY } }), 'maxLogChars'],
    ['providers that are no array', execute({ providers: {} }), 'execute.providers'],
    ['a provider without a name', execute({ providers: [{ tools: {} }] }), 'execute.providers[0].name'],
    [
      'a namespace that is reserved',
      execute({ providers: [provider({}, { name: 'await' })] }),
      'execute.providers[0].name',
    ],
    [
      'a namespace that hides a global',
      execute({ providers: [provider({}, { name: 'JSON' })] }),
      'execute.providers[0].name',
    ],
    [
      'a namespace called __proto__',
      execute({ providers: [provider({}, { name: '__proto__' })] }),
      'execute.providers[0].name',
    ],
    ['a namespace twice', execute({ providers: [provider({}), provider({})] }), 'execute.providers[1].name'],
    ['tools that are no object', execute({ providers: [provider([])] }), 'execute.providers[0].tools'],
    ['a tool without a safeName', execute({ providers: [provider({ a: {} })] }), '["a"].safeName'],
    ['a safeName that is no identifier', execute({ providers: [provider({ a: tool('a-b') })] }), '["a"].safeName'],
    ['a safeName with an escape', execute({ providers: [provider({ a: tool('\\u0061') })] }), '["a"].safeName'],
    [
      'a safeName of 10,000 characters',
      execute({ providers: [provider({ a: tool('a'.repeat(10_000)) })] }),
      '["a"].safeName',
    ],
    ['a safeName twice', execute({ providers: [provider({ a: tool('x'), b: tool('x') })] }), '["b"].safeName'],
    ['types that are no string', execute({ providers: [provider({}, { types: 1 })] }), 'execute.providers[0].types'],
    [
      'a description that is no string',
      execute({ providers: [provider({ a: tool('a', { description: 1 }) })] }),
      'description',
    ],
  ];
  for (const [what, message, field] of NAMED) {
    it(`with ${what} can be answered, and the field is named`, () => {
      const parsed = parseHostMessage(message);
      expect(parsed).toMatchObject({ ok: false, id: 'e' });
      expect(!parsed.ok && parsed.reason).toContain(field);
    });
  }

  const HOPELESS: readonly unknown[] = [
    null,
    5,
    'execute',
    [],
    {},
    { type: 'nonsense', id: 'e' },
    { type: 'execute', code: '1' },
    { type: 'execute', id: 5, code: '1' },
    { type: 'cancel' },
    { type: 'tool_result', ok: true },
    { type: 'tool_result', callId: 'c', ok: 'yes' },
    { type: 'tool_result', callId: 'c', ok: false },
    { type: 'tool_result', callId: 'c', ok: false, error: { code: 1, message: 'm' } },
    { type: 'constructor' },
    { type: '__proto__' },
  ];
  for (const message of HOPELESS) {
    it(`cannot be answered: ${JSON.stringify(message)}`, () => {
      const parsed = parseHostMessage(message);
      expect(parsed).toMatchObject({ ok: false, reason: expect.any(String) });
      expect('id' in parsed).toBe(false);
    });
  }

  it('with a tool result needs no result, which over JSON is undefined', () => {
    expect(parseHostMessage({ type: 'tool_result', callId: 'c', ok: true })).toEqual({
      ok: true,
      message: { type: 'tool_result', callId: 'c', ok: true, result: undefined },
    });
  });

  it('makes a tool called __proto__ an own property', () => {
    const parsed = parseHostMessage(execute({ providers: [provider({ a: tool('__proto__') })] }));
    if (!parsed.ok || parsed.message.type !== 'execute') throw new Error('refused');
    const tools = parsed.message.providers[0]?.tools ?? {};
    expect(Object.getPrototypeOf(tools)).toBe(Object.prototype);
    expect(Object.keys(tools)).toEqual(['__proto__']);
  });
});

describe('options', () => {
  it('lose their fractions', () => {
    expect(parseOptions({ timeoutMs: 10.9, maxLogLines: 0.5 })).toMatchObject({ timeoutMs: 10, maxLogLines: 0 });
  });
  it('ask for streamed logs only with the very word true', () => {
    expect(parseOptions({ streamLogs: true })).toHaveProperty('streamLogs', true);
    for (const streamLogs of [1, 'true', undefined, null])
      expect(parseOptions({ streamLogs })).not.toHaveProperty('streamLogs');
  });
});

describe('a message from a runner', () => {
  const done = (more: object) => ({ type: 'done', id: 'e', durationMs: 1, logs: [], ...more });
  const fine: readonly object[] = [
    { type: 'started', id: 'e' },
    { type: 'log', id: 'e', line: 'x' },
    { type: 'tool_call', callId: 'c', providerName: 'p', safeToolName: 't' },
    { type: 'tool_call', callId: 'c', providerName: '__proto__', safeToolName: 'constructor', input: null },
    done({ ok: true }),
    done({ ok: true, result: [1] }),
    ...EXECUTE_ERROR_CODES.map((code) => done({ ok: false, error: { code, message: 'm' } })),
  ];
  for (const message of fine) {
    it(`is accepted: ${JSON.stringify(message)}`, () =>
      expect(parseRunnerMessage(message)).toMatchObject({ ok: true, message }));
  }

  const bad: readonly unknown[] = [
    undefined,
    'done',
    {},
    { type: 'started' },
    { type: 'log', id: 'e' },
    { type: 'tool_call', callId: 1, providerName: 'p', safeToolName: 't' },
    { type: 'tool_call', callId: 'c', safeToolName: 't' },
    { type: 'tool_call', callId: 'c'.repeat(MAX_CALL_ID_CHARS + 1), providerName: 'p', safeToolName: 't' },
    done({}),
    done({ ok: 'true' }),
    done({ ok: true, error: { code: 'timeout', message: 'm' } }),
    done({ ok: false }),
    done({ ok: false, result: 1, error: { code: 'timeout', message: 'm' } }),
    done({ ok: false, error: { code: 'made_up', message: 'm' } }),
    done({ ok: false, error: { code: 'constructor', message: 'm' } }),
    done({ ok: false, error: { code: 'timeout' } }),
    done({ ok: true, logs: [1] }),
    done({ ok: true, logs: 'x' }),
    done({ ok: true, durationMs: Number.NaN }),
    done({ ok: true, durationMs: -1 }),
    done({ ok: true, durationMs: '1' }),
  ];
  for (const message of bad) {
    it(`is refused: ${JSON.stringify(message)?.slice(0, 80)}`, () =>
      expect(parseRunnerMessage(message)).toMatchObject({ ok: false, reason: expect.any(String) }));
  }
});

describe('both parsers', () => {
  it('never throw, whatever arrives', () => {
    const values = fc.oneof(
      fc.anything(),
      fc.record({
        type: fc.constantFrom('execute', 'done', 'tool_call', 'tool_result', 'cancel'),
        id: fc.anything(),
        code: fc.anything(),
        options: fc.anything(),
        providers: fc.anything(),
        ok: fc.anything(),
        error: fc.anything(),
        logs: fc.anything(),
      }),
    );
    fc.assert(
      fc.property(values, (value) => {
        expect(typeof parseHostMessage(value).ok).toBe('boolean');
        expect(typeof parseRunnerMessage(value).ok).toBe('boolean');
      }),
    );
  });

  it('know exactly the codes of the specification', () => {
    expect([...EXECUTE_ERROR_CODES].sort()).toEqual([
      'internal_error',
      'memory_limit',
      'runtime_error',
      'serialization_error',
      'timeout',
      'tool_error',
      'validation_error',
    ]);
    expect(isExecuteErrorCode('toString')).toBe(false);
  });
});
