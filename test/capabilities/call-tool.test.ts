import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { callTool, defineTools, MAX_ERROR_MESSAGE_CHARS, type ToolProvider } from '../../src/capabilities/index.js';

const never = new AbortController().signal;
const call = (provider: ToolProvider, name: string, input?: unknown, signal = never) =>
  callTool(provider, name, input, { signal, callId: 'call-1', executionId: 'exec-1' });
const only = (execute: (input: unknown) => unknown) => defineTools('t', { tool: execute });
const failure = (code: string, message: unknown) => ({ ok: false, error: { code, message } });

describe('a call that succeeds', () => {
  it('hands over the input and the context, and gives back the result', async () => {
    const seen: unknown[] = [];
    const provider = defineTools('ns', { 'my-tool': (input, context) => ({ n: seen.push(input, context) }) });
    expect(await call(provider, 'my_tool', { a: 1 })).toEqual({ ok: true, result: { n: 2 } });
    expect(seen[0]).toEqual({ a: 1 });
    expect(seen[1]).toEqual({
      signal: never,
      namespace: 'ns',
      toolName: 'my-tool',
      safeToolName: 'my_tool',
      callId: 'call-1',
      executionId: 'exec-1',
    });
  });

  it('may result in nothing', async () => {
    expect(
      await call(
        only(() => undefined),
        'tool',
      ),
    ).toEqual({ ok: true, result: undefined });
  });

  it('gives a copy that later changes do not reach', async () => {
    const kept = { list: [1] };
    const outcome = await call(
      only(() => kept),
      'tool',
    );
    kept.list.push(2);
    expect(outcome).toEqual({ ok: true, result: { list: [1] } });
  });

  it('takes {} for no input where the schema does', async () => {
    const execute = (input: unknown) => ({ got: input });
    const provider = defineTools('t', {
      json: { input: { type: 'object', properties: { a: { type: 'number' } } }, execute },
      zod: { input: z.object({ a: z.number().default(7) }), execute },
      optional: { input: z.string().optional(), execute: (input) => input ?? 'none' },
      needed: { input: { type: 'object', required: ['a'] }, execute },
    });
    expect(await call(provider, 'json')).toEqual({ ok: true, result: { got: {} } });
    expect(await call(provider, 'zod')).toEqual({ ok: true, result: { got: { a: 7 } } });
    expect(await call(provider, 'optional')).toEqual({ ok: true, result: 'none' });
    expect(await call(provider, 'needed')).toEqual(
      failure('validation_error', 'Tool t.needed refused its input: input: is required'),
    );
  });
});

describe('an unknown tool', () => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'size', ''])('%s is no tool', async (name) => {
    const outcome = await call(defineTools('ns', { alpha: () => 1, beta: () => 1 }), name);
    expect(outcome).toEqual(
      failure('validation_error', `There is no tool ns.${name}. The namespace ns has: alpha, beta`),
    );
  });

  it('is answered with the nearest name', async () => {
    const outcome = await call(defineTools('ns', { get_weather: () => 1 }), 'getWeather');
    expect(outcome).toEqual(
      failure('validation_error', 'There is no tool ns.getWeather. Did you mean ns.get_weather?'),
    );
  });

  it('in a large or empty namespace gets a short answer', async () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`tool${index}`, () => 1]));
    expect(await call(defineTools('ns', many), 'x'.repeat(5_000))).toMatchObject({
      error: { message: expect.stringMatching(/tool19 and 30 more$/) },
    });
    expect(await call(defineTools('ns', {}), 'a')).toMatchObject({
      error: { message: 'There is no tool ns.a: the namespace ns is empty' },
    });
  });
});

describe('input that does not fit', () => {
  const execute = vi.fn(() => 1);
  const provider = defineTools('t', {
    zod: { input: z.object({ city: z.string(), days: z.array(z.number()) }), execute },
    valibot: { input: v.object({ city: v.string(), days: v.array(v.number()) }), execute },
    arktype: { input: type({ city: 'string', days: 'number[]' }), execute },
    later: { input: z.object({ city: z.string().refine(async (city) => city !== 'Atlantis', 'is lost') }), execute },
    json: {
      input: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          days: { type: 'array', items: { type: ['number', 'null'] } },
          unit: { enum: ['C', 'F'] },
        },
        required: ['city', 'days'],
        additionalProperties: false,
      },
      execute,
    },
    either: {
      input: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/n' }], $defs: { n: { type: 'number' } } },
      execute,
    },
    unique: { input: { type: 'array', uniqueItems: true }, execute },
    proto: {
      input: { type: 'object', required: ['toString'], properties: { constructor: { type: 'string' } } },
      execute,
    },
  });

  it.each(['zod', 'valibot', 'arktype', 'json'])('is refused by %s with the path of each mistake', async (name) => {
    const outcome = await call(provider, name, { city: 3, days: [1, 'x'] });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'validation_error' } });
    const { message } = (outcome as { error: { message: string } }).error;
    expect(message).toContain(`Tool t.${name} refused its input: input.city: `);
    expect(message).toContain('input.days[1]: ');
    expect(execute).not.toHaveBeenCalled();
  });

  it('may be found out later', async () => {
    expect(await call(provider, 'later', { city: 'Atlantis' })).toEqual(
      failure('validation_error', 'Tool t.later refused its input: input.city: is lost'),
    );
  });

  it('is explained in words a model can act on', async () => {
    expect(await call(provider, 'json', { days: ['x'], unit: 'K', extra: 1 })).toEqual(
      failure(
        'validation_error',
        'Tool t.json refused its input: input.city: is required; input.days[0]: expected number or null, got string; ' +
          'input.unit: must be one of ["C","F"]; input.extra: is not allowed here',
      ),
    );
    expect(await call(provider, 'either', true)).toEqual(
      failure(
        'validation_error',
        'Tool t.either refused its input: input: fits none of the alternatives; ' +
          'input: expected string, got boolean; input: expected number, got boolean',
      ),
    );
  });

  it('is judged by own properties alone', async () => {
    expect(await call(provider, 'proto', {})).toEqual(
      failure('validation_error', 'Tool t.proto refused its input: input.toString: is required'),
    );
    expect(await call(provider, 'proto', { toString: 1 })).toEqual({ ok: true, result: 1 });
  });

  it('may be large and wrong everywhere without harm', async () => {
    const days = Array.from({ length: 200_000 }, () => 'x');
    const outcome = await call(provider, 'json', { city: 'x', days });
    expect(outcome).toMatchObject({ error: { code: 'validation_error' } });
    expect(await call(provider, 'unique', days)).toMatchObject({
      error: { code: 'validation_error', message: expect.stringContaining('duplicate items at indexes 0 and 1') },
    });
    expect(await call(provider, 'unique', [...days.keys()])).toMatchObject({ ok: true });
    expect(await call(provider, 'unique', [...days.keys(), 0, 199_999])).toMatchObject({
      error: { code: 'validation_error', message: expect.stringContaining('duplicate items at indexes 0 and 200000') },
    });
    expect(await call(provider, 'unique', [...days.keys(), 199_999])).toMatchObject({
      error: { code: 'validation_error', message: expect.stringContaining('takes too long to check') },
    });
  });

  it('that cannot cross a boundary is a serialization error', async () => {
    expect(await call(provider, 'zod', { city: new Date() })).toMatchObject({
      error: { code: 'serialization_error', message: expect.stringContaining('input.city: Date') },
    });
  });

  it('that makes a validator throw is an internal error', async () => {
    const input = z.string().refine(() => {
      throw new Error('validator broke');
    });
    const broken = defineTools('t', { tool: { input, execute } });
    expect(await call(broken, 'tool', 'x')).toEqual(failure('internal_error', 'validator broke'));
  });
});

describe('a result that does not fit', () => {
  it('its output schema is a validation error', async () => {
    const provider = defineTools('t', {
      zod: { output: z.object({ n: z.number() }), execute: () => JSON.parse('{"n":"x"}') },
      json: { output: { type: 'object', required: ['n'] }, execute: () => ({}) },
      nothing: { output: { type: 'object' }, execute: () => undefined },
    });
    for (const [name, path] of [
      ['zod', 'result.n: '],
      ['json', 'result.n: is required'],
      ['nothing', 'result: is required'],
    ] as const) {
      const message = `Tool t.${name} returned a value that does not fit its output schema: ${path}`;
      expect(await call(provider, name)).toEqual(failure('validation_error', expect.stringContaining(message)));
    }
  });

  it('the boundary is a serialization error with its path', async () => {
    expect(
      await call(
        only(() => ({ rows: [{ at: new Date(0) }] })),
        'tool',
      ),
    ).toEqual(failure('serialization_error', expect.stringContaining('Tool t.tool returned result.rows[0].at: Date')));
    expect(
      await call(
        only(() => ({
          get secret() {
            throw new Error('x');
          },
        })),
        'tool',
      ),
    ).toMatchObject({
      error: { code: 'serialization_error' },
    });
  });

  it('is transformed by its schema first', async () => {
    const provider = defineTools('t', {
      now: { output: z.date().transform((date) => date.toISOString()), execute: () => new Date(0) },
    });
    expect(await call(provider, 'now')).toEqual({ ok: true, result: '1970-01-01T00:00:00.000Z' });
  });

  it('respects the limits of the call', async () => {
    const outcome = await callTool(
      only(() => [1, 2, 3]),
      'tool',
      undefined,
      {
        signal: never,
        callId: '1',
        limits: { values: 2 },
      },
    );
    expect(outcome).toMatchObject({ error: { code: 'serialization_error' } });
  });
});

describe('a tool that throws', () => {
  const throwing = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('from the getter');
    },
  });
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('from the trap');
      },
    },
  );
  const silent = 'Tool t.tool failed without saying why';
  it.each<[unknown, string]>([
    [new Error('disk full'), 'disk full'],
    ['just words', 'just words'],
    [null, silent],
    [undefined, silent],
    [42, silent],
    [Symbol('s'), silent],
    [{ message: 3 }, silent],
    [new Error(''), silent],
    [throwing, silent],
    [hostile, silent],
    [Object.assign(new Error('forged'), { code: 'timeout' }), 'forged'],
  ])('case %# is a tool error with a safe message', async (thrown, message) => {
    const sync = only(() => {
      throw thrown;
    });
    expect(await call(sync, 'tool')).toEqual(failure('tool_error', message));
    expect(
      await call(
        only(() => Promise.reject(thrown)),
        'tool',
      ),
    ).toEqual(failure('tool_error', message));
  });

  it('has its message clipped, and no surrogate pair split', async () => {
    const long = `${'x'.repeat(MAX_ERROR_MESSAGE_CHARS - 2)}${'😀'.repeat(10)}`;
    const outcome = await call(
      only(() => Promise.reject(new Error(long))),
      'tool',
    );
    const { message } = (outcome as { error: { message: string } }).error;
    expect(message.length).toBeLessThanOrEqual(MAX_ERROR_MESSAGE_CHARS);
    expect(message).toMatch(/x…$/);
  });
});

describe('thenables', () => {
  // biome-ignore-start lint/suspicious/noThenProperty: misbehaving thenables are what is tried here
  it('that settle twice count once', async () => {
    const twice = {
      then(resolve: (value: number) => void, reject: (error: Error) => void) {
        resolve(1);
        reject(new Error('late'));
        resolve(2);
      },
    };
    expect(
      await call(
        only(() => twice),
        'tool',
      ),
    ).toEqual({ ok: true, result: 1 });
  });

  it('with a throwing `then` are tool errors', async () => {
    const trap = {
      get then() {
        throw new Error('no then');
      },
    };
    expect(
      await call(
        only(() => trap),
        'tool',
      ),
    ).toEqual(failure('tool_error', 'no then'));
  });
  // biome-ignore-end lint/suspicious/noThenProperty: misbehaving thenables are what is tried here
});

describe('cancellation', () => {
  it('ends a call that never settles, at once', async () => {
    const controller = new AbortController();
    const outcome = call(
      only(() => new Promise(() => {})),
      'tool',
      undefined,
      controller.signal,
    );
    controller.abort();
    expect(await outcome).toEqual(failure('timeout', 'Tool t.tool was cancelled before it finished'));
  });

  it('wins over the rejection that it causes, and the late rejection goes nowhere', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const controller = new AbortController();
    let rejectLate: (error: Error) => void = () => {};
    const provider = defineTools('t', {
      prompt: (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      late: () => new Promise((_resolve, reject) => (rejectLate = reject)),
    });
    const outcomes = [
      call(provider, 'prompt', undefined, controller.signal),
      call(provider, 'late', undefined, controller.signal),
    ];
    await new Promise(setImmediate);
    controller.abort();
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ error: { code: 'timeout' } });
    rejectLate(new Error('too late'));
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('before the call, or while its input is validated, keeps the tool from running', async () => {
    const execute = vi.fn(() => 1);
    expect(await call(only(execute), 'tool', undefined, AbortSignal.abort())).toMatchObject({
      error: { code: 'timeout' },
    });
    const controller = new AbortController();
    const input = z.string().refine(async () => {
      controller.abort();
      return true;
    });
    const provider = defineTools('t', { tool: { input, execute } });
    expect(await call(provider, 'tool', 'x', controller.signal)).toMatchObject({ error: { code: 'timeout' } });
    await new Promise(setImmediate);
    expect(execute).not.toHaveBeenCalled();
  });

  it('leaves no listener behind', async () => {
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, 'removeEventListener');
    await call(
      only(() => 1),
      'tool',
      undefined,
      controller.signal,
    );
    expect(remove).toHaveBeenCalledOnce();
  });
});
