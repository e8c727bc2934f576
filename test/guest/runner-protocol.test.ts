import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { EXECUTE_ERROR_CODES } from '../../src/guest/messages.js';
import { type ListeningRunner, listenRunner } from './listening-runner.js';
import { ERRORS, TIMEOUTS, VALUES } from './programs.js';
import { byType, mailbox, startRunner, type WireMessage, type WireRunner } from './wire-runner.js';

const OPTIONS = { timeoutMs: 10_000, memoryLimitBytes: 67_108_864, maxLogLines: 100, maxLogChars: 64_000 };
const named = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { safeName: name, originalName: name }]));
const PROVIDERS = [{ name: 'tools', tools: named('echo', 'hang', 'fail'), types: 'declare namespace tools {}' }];
const short = (text: string): string => (text.length > 90 ? `${text.slice(0, 90)}…` : text).replaceAll('\0', '\\0');

let count = 0;
/** Sends an execute with an id of its own. */
function execute(runner: Pick<WireRunner, 'send' | 'forget'>, code: string, more: object = {}): string {
  count += 1;
  const id = `run-${count}`;
  runner.forget();
  runner.send({ type: 'execute', id, code, options: OPTIONS, providers: PROVIDERS, ...more });
  return id;
}

let runner: WireRunner;
beforeAll(() => {
  runner = startRunner();
});
afterAll(() => runner.stop());

const finish = async (code: string, more: object = {}): Promise<WireMessage> => {
  const id = execute(runner, code, more);
  return runner.next(byType('done', id));
};

describe('the transcripts of the specification', () => {
  it('the minimal success', async () => {
    const fresh = startRunner();
    fresh.send({
      type: 'execute',
      id: 'exec-1',
      code: 'const value = await tools.echo({"ok":true}); value.ok',
      options: { timeoutMs: 1000, memoryLimitBytes: 67108864, maxLogLines: 100, maxLogChars: 64000 },
      providers: [
        {
          name: 'tools',
          tools: { echo: { safeName: 'echo', originalName: 'echo', description: 'Echo input' } },
          types: 'declare namespace tools { ... }',
        },
      ],
    });
    await fresh.next(byType('tool_call'));
    fresh.send({ type: 'tool_result', callId: 'call-1', ok: true, result: { ok: true } });
    await fresh.next(byType('done'));
    expect(fresh.messages).toEqual([
      { type: 'started', id: 'exec-1' },
      { type: 'tool_call', callId: 'call-1', providerName: 'tools', safeToolName: 'echo', input: { ok: true } },
      { type: 'done', id: 'exec-1', ok: true, durationMs: expect.any(Number), logs: [], result: true },
    ]);
    await fresh.stop();
  });

  it('the minimal success of the reference, whose value is the last expression', async () => {
    const fresh = startRunner(['--isolation', 'process']);
    fresh.send({
      type: 'execute',
      id: 'exec-1',
      code: 'await tools.echo({"ok":true})',
      options: { timeoutMs: 1000, memoryLimitBytes: 67108864, maxLogLines: 100, maxLogChars: 64000 },
      providers: [
        {
          name: 'tools',
          tools: { echo: { safeName: 'echo', originalName: 'echo', description: 'Echo input' } },
          types: 'declare namespace tools { ... }',
        },
      ],
    });
    await fresh.next(byType('tool_call'));
    fresh.send({ type: 'tool_result', callId: 'call-1', ok: true, result: { ok: true } });
    await fresh.next(byType('done'));
    expect(fresh.messages).toEqual([
      { type: 'started', id: 'exec-1' },
      { type: 'tool_call', callId: 'call-1', providerName: 'tools', safeToolName: 'echo', input: { ok: true } },
      { type: 'done', id: 'exec-1', ok: true, durationMs: expect.any(Number), logs: [], result: { ok: true } },
    ]);
    await fresh.stop();
  });

  it('the minimal cancellation', async () => {
    const fresh = startRunner();
    fresh.send({
      type: 'execute',
      id: 'exec-2',
      code: 'await tools.hang({})',
      options: { timeoutMs: 1000, memoryLimitBytes: 67108864, maxLogLines: 100, maxLogChars: 64000 },
      providers: [
        {
          name: 'tools',
          tools: { hang: { safeName: 'hang', originalName: 'hang' } },
          types: 'declare namespace tools { ... }',
        },
      ],
    });
    await fresh.next(byType('tool_call'));
    fresh.send({ type: 'cancel', id: 'exec-2' });
    await fresh.next(byType('done'));
    expect(fresh.messages).toEqual([
      { type: 'started', id: 'exec-2' },
      // Which id a call has is the runner's to choose.
      { type: 'tool_call', callId: expect.any(String), providerName: 'tools', safeToolName: 'hang', input: {} },
      {
        type: 'done',
        id: 'exec-2',
        ok: false,
        durationMs: expect.any(Number),
        logs: [],
        error: { code: 'timeout', message: 'Execution timed out' },
      },
    ]);
    await fresh.stop();
  });
});

describe('the session', () => {
  it('has one started before anything else, and exactly one done at its end', async () => {
    const from = runner.messages.length;
    const id = execute(runner, 'tools.echo(1); tools.echo(2); 3');
    await runner.next(byType('done', id));
    expect(runner.messages.slice(from).map((message) => message.type)).toEqual([
      'started',
      'tool_call',
      'tool_call',
      'done',
    ]);
  });

  it('carries the next execution after done', async () => {
    expect(await finish('globalThis.x = 1')).toMatchObject({ ok: true });
    expect(await finish('typeof x')).toMatchObject({ result: 'undefined' });
  });

  it('refuses a second execute while one is active with done and internal_error, and goes on', async () => {
    const first = execute(runner, 'await tools.hang()');
    const call = await runner.next(byType('tool_call'));
    const second = execute(runner, '2');
    expect(await runner.next(byType('done', second))).toMatchObject({ ok: false, error: { code: 'internal_error' } });
    runner.send({ type: 'tool_result', callId: call.callId, ok: true, result: 'on' });
    expect(await runner.next(byType('done', first))).toMatchObject({ ok: true, result: 'on' });
  });

  it('answers an execute that does not validate by its id, and names the field', async () => {
    expect(await finish('1', { options: { timeoutMs: -1 } })).toMatchObject({
      ok: false,
      error: { code: 'validation_error', message: expect.stringContaining('timeoutMs') },
    });
    expect(await finish('1', { providers: [{ name: 'JSON', tools: {} }] })).toMatchObject({
      error: { code: 'validation_error' },
    });
    expect(await finish('x'.repeat(1_100_000))).toMatchObject({
      error: { code: 'validation_error', message: expect.stringContaining('bytes') },
    });
  });

  it('takes defaults for absent options and providers, and ignores what it does not know', async () => {
    const id = 'bare';
    runner.send({ type: 'execute', id, code: '1', future: { field: 1 } });
    expect(await runner.next(byType('done', id))).toMatchObject({ ok: true, result: 1 });
  });

  it('ignores a cancel and a tool_result that are for nobody', async () => {
    runner.send({ type: 'cancel', id: 'nobody' });
    runner.send({ type: 'tool_result', callId: 'nobody', ok: true });
    expect(await finish('1')).toMatchObject({ ok: true });
  });

  it('never sends log messages to a host that did not ask', async () => {
    const from = runner.messages.length;
    await finish('console.log(1); await 0; console.log(2)');
    expect(runner.messages.slice(from).map((message) => message.type)).toEqual(['started', 'done']);
  });
});

describe('tools', () => {
  it('appear under their safeName, whatever the key of the manifest is', async () => {
    const providers = [
      { name: 'firecrawl', tools: { 'scrape-url': { safeName: 'scrape_url', originalName: 'scrape-url' } }, types: '' },
    ];
    const id = execute(runner, 'Object.keys(firecrawl)', { providers });
    expect(await runner.next(byType('done', id))).toMatchObject({ result: ['scrape_url'] });
  });

  it('are functions that return promises and send their first argument alone', async () => {
    const from = runner.messages.length;
    const id = execute(runner, 'const p = tools.echo({ n: 1 }, "second"); tools.echo(); p instanceof Promise');
    expect(await runner.next(byType('done', id))).toMatchObject({ result: true });
    const [first, second] = runner.messages.slice(from).filter(byType('tool_call'));
    expect(first).toEqual({
      type: 'tool_call',
      callId: expect.any(String),
      providerName: 'tools',
      safeToolName: 'echo',
      input: { n: 1 },
    });
    expect(second).toEqual({
      type: 'tool_call',
      callId: expect.any(String),
      providerName: 'tools',
      safeToolName: 'echo',
    });
  });

  it('pause the guest until their result comes, and accept a result that is absent', async () => {
    const id = execute(runner, 'const order = ["before"]; const r = await tools.hang(); order.push(typeof r); order');
    const call = await runner.next(byType('tool_call'));
    expect(runner.messages.some(byType('done', id))).toBe(false);
    runner.send({ type: 'tool_result', callId: call.callId, ok: true });
    expect(await runner.next(byType('done', id))).toMatchObject({ result: ['before', 'undefined'] });
  });

  it('reject with the message and the code of the host, which is kept when nobody catches it', async () => {
    for (const code of EXECUTE_ERROR_CODES) {
      const id = execute(
        runner,
        'try { await tools.fail() } catch (e) { console.log(e instanceof Error, e.code, e.message); throw e }',
      );
      const call = await runner.next(byType('tool_call'));
      runner.send({
        type: 'tool_result',
        callId: call.callId,
        ok: false,
        error: { code, message: `host says ${code}` },
      });
      expect(await runner.next(byType('done', id))).toMatchObject({
        ok: false,
        logs: [`true ${code} host says ${code}`],
        error: { code, message: `host says ${code}` },
      });
    }
  });

  it('that fail with a code of no protocol fail as tool_error', async () => {
    const id = execute(runner, 'await tools.fail()');
    const call = await runner.next(byType('tool_call'));
    runner.send({ type: 'tool_result', callId: call.callId, ok: false, error: { code: 'EACCES', message: 'no' } });
    expect(await runner.next(byType('done', id))).toMatchObject({ error: { code: 'tool_error', message: 'no' } });
  });

  it('never use a callId twice, over all executions of the session', () => {
    const ids = runner.messages.filter(byType('tool_call')).map((message) => message.callId);
    expect(ids.length).toBeGreaterThan(8);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('get no input that cannot travel', async () => {
    const from = runner.messages.length;
    expect(await finish('await tools.echo(new Map())')).toMatchObject({ error: { code: 'serialization_error' } });
    expect(runner.messages.slice(from).some(byType('tool_call'))).toBe(false);
  });

  it('with hostile results change no prototype of the guest', async () => {
    const id = execute(runner, 'const r = await tools.echo(); [Object.hasOwn(r, "__proto__"), ({}).x]');
    const call = await runner.next(byType('tool_call'));
    runner.sendRaw(`{"type":"tool_result","callId":"${call.callId}","ok":true,"result":{"__proto__":{"x":1}}}\n`);
    expect(await runner.next(byType('done', id))).toMatchObject({ ok: false, error: { code: 'serialization_error' } });
    const again = execute(runner, 'const r = await tools.echo(); [Object.hasOwn(r, "__proto__"), typeof ({}).x]');
    const call2 = await runner.next(byType('tool_call'));
    runner.sendRaw(`{"type":"tool_result","callId":"${call2.callId}","ok":true,"result":{"__proto__":{"x":1}}}\n`);
    expect(await runner.next(byType('done', again))).toMatchObject({ result: [true, 'undefined'] });
  });
});

describe('cancellation', () => {
  it('ends a guest that waits, whatever it catches', async () => {
    const id = execute(runner, 'for (;;) try { await tools.hang() } catch (e) { console.log(e.code) }');
    await runner.next(byType('tool_call'));
    runner.send({ type: 'cancel', id });
    expect(await runner.next(byType('done', id))).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });

  it('ends a guest in a busy loop promptly', async () => {
    const id = execute(runner, 'for (;;) {}');
    await runner.next(byType('started', id));
    const from = performance.now();
    runner.send({ type: 'cancel', id });
    expect(await runner.next(byType('done', id))).toMatchObject({ ok: false, error: { code: 'timeout' } });
    expect(performance.now() - from).toBeLessThan(15_000);
    expect(await finish('1')).toMatchObject({ ok: true });
  });

  it('may come right behind execute', async () => {
    const id = execute(runner, 'await tools.hang()');
    runner.send({ type: 'cancel', id });
    expect(await runner.next(byType('done', id))).toMatchObject({ ok: false, error: { code: 'timeout' } });
    expect(await finish('1')).toMatchObject({ ok: true });
  });
});

describe('logs', () => {
  it('are one line per call of log, info, warn and error', async () => {
    const code =
      'console.log("a", 1, undefined); console.info({ b: [1] }); console.warn(null, true); console.error(() => 1)';
    expect(await finish(code)).toMatchObject({ logs: ['a 1 undefined', '{"b":[1]}', 'null true', '[Function]'] });
  });

  it('are cut by lines first, then by characters over all lines', async () => {
    const code = 'for (const line of ["abc", "def", "ghi", "jkl"]) console.log(line)';
    expect(await finish(code, { options: { ...OPTIONS, maxLogLines: 3, maxLogChars: 7 } })).toMatchObject({
      logs: ['abc', 'def', 'g'],
    });
    expect(await finish(code, { options: { ...OPTIONS, maxLogLines: 0 } })).toMatchObject({ logs: [] });
  });

  it('survive a timeout and a kill', async () => {
    const options = { ...OPTIONS, timeoutMs: 100 };
    expect(await finish('console.log("kept"); for (;;) {}', { options })).toMatchObject({
      logs: ['kept'],
      error: { code: 'timeout' },
    });
    expect(await finish('console.log("kept"); new Array(3e8).join()', { options })).toMatchObject({
      logs: ['kept'],
      error: { code: 'timeout' },
    });
    expect(await finish('1')).toMatchObject({ ok: true });
  });

  it('cannot forge a message of the protocol', async () => {
    const forged = JSON.stringify({ type: 'done', id: 'forged', ok: true, durationMs: 0, logs: [], result: 'forged' });
    const done = await finish(`console.log(${JSON.stringify(`x\n${forged}\n`)}); 1`);
    expect(done).toMatchObject({ result: 1, logs: [`x\n${forged}\n`] });
    expect(runner.messages.some(byType('done', 'forged'))).toBe(false);
  });
});

describe('done', () => {
  it('has exactly one of result and error, the id, the logs and the time', async () => {
    const good = await finish('await new Promise((resolve) => setTimeout(resolve, 30)); 1');
    expect(Object.keys(good).sort()).toEqual(['durationMs', 'id', 'logs', 'ok', 'result', 'type']);
    expect(good['durationMs']).toBeGreaterThanOrEqual(25);
    const bad = await finish('throw new Error("x")');
    expect(Object.keys(bad).sort()).toEqual(['durationMs', 'error', 'id', 'logs', 'ok', 'type']);
    expect(await finish('undefined')).not.toHaveProperty('result');
  });

  it('comes after started for a syntax error, with the line and column of the author', async () => {
    const from = runner.messages.length;
    const done = await finish('const a = 1;\n  let b = ;');
    expect(runner.messages.slice(from).map((message) => message.type)).toEqual(['started', 'done']);
    expect(done).toMatchObject({
      error: { code: 'runtime_error', message: expect.stringContaining('2:'), line: 2, column: 11 },
    });
  });

  it('shows the line of the author for an error, also in TypeScript', async () => {
    expect(await finish('type A = { b: number };\nconst a: A | undefined = undefined;\n\na.b')).toMatchObject({
      error: { line: 4 },
    });
  });
});

describe('the value of code, over the wire', () => {
  // Those that need no answer of a host.
  for (const [code, value] of VALUES.filter(([each]) => !each.includes('tools.'))) {
    it(short(code), async () => {
      const done = await finish(code);
      expect(done).toMatchObject({ ok: true });
      expect(done['result']).toEqual(value);
    });
  }
});

describe('failures, over the wire', () => {
  const alone = ERRORS.filter(([code, errorCode]) => !code.includes('tools.') && errorCode !== 'tool_error');
  for (const [code, errorCode, message] of alone.filter(([code]) => !/ech0|tool\.|echo\(/.test(code))) {
    it(`${errorCode}: ${short(code)}`, async () => {
      expect(await finish(code)).toMatchObject({
        ok: false,
        error: { code: errorCode, message: expect.stringMatching(message) },
      });
    });
  }

  it('timeout, for a guest that never ends', async () => {
    for (const [, code] of TIMEOUTS.filter(([, each]) => !each.includes('tools.')).slice(0, 4)) {
      expect(await finish(code, { options: { ...OPTIONS, timeoutMs: 60 } })).toMatchObject({
        error: { code: 'timeout' },
      });
    }
  });

  it('memory_limit, for a guest that hoards', async () => {
    const options = { ...OPTIONS, memoryLimitBytes: 4e6 };
    expect(await finish('const a = []; for (;;) a.push({})', { options })).toMatchObject({
      error: { code: 'memory_limit' },
    });
  });
});

describe('the runner as a process', () => {
  it('answers what it was asked before its input ended, and exits 0', async () => {
    const own = startRunner();
    const id = execute(own, 'await new Promise((resolve) => setTimeout(resolve, 20)); "late"');
    own.end();
    expect(await own.next(byType('done', id))).toMatchObject({ result: 'late' });
    expect(await own.exited).toEqual({ code: 0, stderr: '' });
  });

  it('ends an execution that waits for a host that hung up', async () => {
    const own = startRunner();
    const id = execute(own, 'await tools.hang()', { options: { ...OPTIONS, timeoutMs: 60_000 } });
    await own.next(byType('tool_call'));
    own.end();
    expect(await own.next(byType('done', id))).toMatchObject({ error: { code: 'timeout' } });
    expect((await own.exited).code).toBe(0);
  });

  const GARBAGE: readonly [what: string, bytes: string | Uint8Array, reason: RegExp][] = [
    ['a line that is no JSON', 'garbage\n', /JSON|Unexpected|token/i],
    ['half a line', '{"type":"exec', /JSON|end|Unterminated|incomplete|expected/i],
    ['a message without an id', '{"type":"execute","code":"1"}\n', /execute\.id/],
    ['a message of an unknown type', '{"type":"root"}\n', /unknown message type/],
    ['a number', '5\n', /must be an object/],
    ['bytes that are no UTF-8', new Uint8Array([0xff, 0xfe, 0x0a]), /./],
    ['nesting without end', `${'['.repeat(10_000)}\n`, /./],
  ];
  for (const [what, bytes, reason] of GARBAGE) {
    it(`ends with the reason on ${what}`, async () => {
      const own = startRunner();
      own.sendRaw(bytes);
      own.end();
      const { code, stderr } = await own.exited;
      expect(code).toBe(1);
      expect(stderr).toMatch(reason);
      expect(own.messages).toEqual([]);
    });
  }
});

describe('the runner on a WebSocket', () => {
  let listening: ListeningRunner;
  beforeAll(async () => {
    listening = await listenRunner({ EXECUTOR_API_KEY: 'a-long-enough-secret' });
  });
  afterAll(() => listening.stop());

  /** A client, or the status with which it was refused. */
  function connect(url: string, headers: Record<string, string> = {}) {
    const socket = new WebSocket(url, { headers });
    const box = mailbox();
    socket.on('message', (data) => box.put(JSON.parse(String(data))));
    const closed = new Promise<{ code: number; reason: string }>((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
    socket.on('error', () => {});
    return {
      ...box,
      closed,
      socket,
      send: (message: unknown) => socket.send(JSON.stringify(message)),
      opened: new Promise<'open' | number>((resolve) => {
        socket.once('open', () => resolve('open'));
        socket.once('unexpected-response', (_request, response) => {
          resolve(response.statusCode ?? 0);
          socket.terminate();
        });
      }),
    };
  }
  const BEARER = { Authorization: 'Bearer a-long-enough-secret' };

  it('refuses who has no token, or another', async () => {
    expect(await connect(listening.url).opened).toBe(401);
    expect(await connect(listening.url, { Authorization: 'Bearer wrong' }).opened).toBe(401);
    expect(await connect(listening.url, { Authorization: 'Basic a-long-enough-secret' }).opened).toBe(401);
  });

  it('refuses a web page', async () => {
    expect(await connect(listening.url, { ...BEARER, Origin: 'https://evil.example' }).opened).toBe(403);
  });

  it('runs executions one after another on one connection, tools included', async () => {
    const client = connect(listening.url, BEARER);
    expect(await client.opened).toBe('open');
    for (const input of [1, 2]) {
      const id = execute(client, `(await tools.echo(${input})) + 1`);
      const call = await client.next(byType('tool_call'));
      client.send({ type: 'tool_result', callId: call.callId, ok: true, result: call['input'] });
      expect(await client.next(byType('done', id))).toMatchObject({ ok: true, result: input + 1 });
    }
    client.socket.close();
    await client.closed;
  });

  it('keeps connections apart', async () => {
    const clients = [1, 2, 3].map(() => connect(listening.url, BEARER));
    await Promise.all(clients.map((client) => client.opened));
    const ids = clients.map((client, index) => execute(client, `globalThis.mine ??= ${index}; await 0; mine`));
    for (const [index, client] of clients.entries()) {
      expect(await client.next(byType('done', ids[index]))).toMatchObject({ result: index });
      expect(client.messages).toHaveLength(2);
      client.socket.close();
    }
  });

  it('ends the execution of a client that went away, and serves the next', async () => {
    const client = connect(listening.url, BEARER);
    await client.opened;
    execute(client, 'for (;;) {}', { options: { ...OPTIONS, timeoutMs: 60_000 } });
    await client.next(byType('started'));
    client.socket.terminate();
    const next = connect(listening.url, BEARER);
    await next.opened;
    const id = execute(next, '1 + 1');
    expect(await next.next(byType('done', id))).toMatchObject({ result: 2 });
    next.socket.close();
  });

  it('closes with a reason on what is no message', async () => {
    const client = connect(listening.url, BEARER);
    await client.opened;
    client.socket.send('garbage');
    expect((await client.closed).code).not.toBe(1006);
  });

  it('needs no token on loopback when none is set', async () => {
    const open = await listenRunner({});
    const client = connect(open.url);
    expect(await client.opened).toBe('open');
    const id = execute(client, '3');
    expect(await client.next(byType('done', id))).toMatchObject({ result: 3 });
    client.socket.close();
    expect(await open.stop()).toBe(0);
  });
});
