import { afterEach, describe, expect, it } from 'vitest';
import { engineModules } from '../../../src/guest/engine/modules.js';
import { INLINE_STACK_BYTES } from '../../../src/guest/limits.js';
import type { HostMessage, RunnerMessage } from '../../../src/guest/messages.js';
import { RunnerCore } from '../../../src/guest/runner/runner-core.js';
import { type CloseReason, memoryPair } from '../../../src/wire/index.js';

const TOOLS = [{ name: 'tools', tools: { a: { safeName: 'a', originalName: 'a' } }, types: '' }];
const open: RunnerCore[] = [];
afterEach(() => {
  for (const core of open.splice(0)) core.dispose();
});

async function session(options: { aborted?: () => boolean; now?: () => number } = {}) {
  const [host, far] = memoryPair<RunnerMessage, HostMessage>();
  const core = new RunnerCore(far, { modules: await engineModules(), stackBytes: INLINE_STACK_BYTES, ...options });
  open.push(core);
  const messages: RunnerMessage[] = [];
  const waiting = new Map<string, (message: RunnerMessage) => void>();
  host.onMessage((message) => {
    messages.push(message);
    waiting.get(message.type)?.(message);
  });
  const closed = new Promise<CloseReason>((resolve) => host.onClose(resolve));
  return {
    core,
    messages,
    closed,
    send: (message: unknown) => void host.send(message as HostMessage),
    execute: (code: string, more: object = {}) =>
      void host.send({
        type: 'execute',
        id: 'e',
        code,
        options: {},
        providers: TOOLS,
        ...more,
      } as unknown as HostMessage),
    /** The next message of a type. */
    next: <T extends RunnerMessage['type']>(type: T) =>
      new Promise<Extract<RunnerMessage, { type: T }>>((resolve) => {
        waiting.set(type, (message) => resolve(message as Extract<RunnerMessage, { type: T }>));
      }),
    types: () => messages.map((message) => message.type),
  };
}

describe('a runner', () => {
  it('answers execute with started and one done', async () => {
    const { execute, next, messages } = await session();
    execute('1 + 1');
    await next('done');
    expect(messages).toEqual([
      { type: 'started', id: 'e' },
      { type: 'done', id: 'e', ok: true, durationMs: expect.any(Number), logs: [], result: 2 },
    ]);
  });

  it('carries a next execution after done, in a pristine heap and with call ids that were not used before', async () => {
    const { execute, next, send } = await session();
    const ids: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      execute('globalThis.n = (globalThis.n ?? 0) + 1; await tools.a(); n');
      const call = await next('tool_call');
      ids.push(call.callId);
      send({ type: 'tool_result', callId: call.callId, ok: true });
      expect(await next('done')).toMatchObject({ ok: true, result: 1 });
    }
    expect(new Set(ids).size).toBe(3);
  });

  it('refuses a second execute while one is active, and goes on with the first', async () => {
    const { execute, next, send, messages } = await session();
    execute('await tools.a(); "first"');
    const call = await next('tool_call');
    execute('2', { id: 'second' });
    expect(await next('done')).toMatchObject({ id: 'second', ok: false, error: { code: 'internal_error' } });
    send({ type: 'tool_result', callId: call.callId, ok: true });
    expect(await next('done')).toMatchObject({ id: 'e', ok: true, result: 'first' });
    expect(messages.filter((message) => message.type === 'started')).toHaveLength(1);
  });

  it('emits parallel calls in call order, and a call that is not awaited before done', async () => {
    const { execute, next, messages } = await session();
    execute('for (const n of [1, 2, 3]) tools.a(n); "done"');
    await next('done');
    expect(messages.map((message) => (message.type === 'tool_call' ? message.input : message.type))).toEqual([
      'started',
      1,
      2,
      3,
      'done',
    ]);
  });

  it('settles calls by their ids, in whatever order the results come', async () => {
    const { execute, next, send, messages } = await session();
    execute('await Promise.all([tools.a(1), tools.a(2)])');
    await next('tool_call');
    const [first, second] = messages.flatMap((message) => (message.type === 'tool_call' ? [message.callId] : []));
    send({ type: 'tool_result', callId: second, ok: true, result: 'two' });
    send({ type: 'tool_result', callId: first, ok: true, result: 'one' });
    expect(await next('done')).toMatchObject({ result: ['one', 'two'] });
  });

  it('ignores results that nobody waits for', async () => {
    const { execute, next, send } = await session();
    execute('const r = await tools.a(); r');
    const call = await next('tool_call');
    send({ type: 'tool_result', callId: 'unknown', ok: true, result: 'wrong' });
    send({ type: 'tool_result', callId: call.callId, ok: true, result: 'right' });
    send({ type: 'tool_result', callId: call.callId, ok: true, result: 'late' });
    expect(await next('done')).toMatchObject({ result: 'right' });
  });

  it('cancels the execution with that id, and no other', async () => {
    const { execute, next, send } = await session();
    execute('try { await tools.a() } catch { return "caught" }');
    await next('tool_call');
    send({ type: 'cancel', id: 'another' });
    send({ type: 'cancel', id: 'e' });
    expect(await next('done')).toMatchObject({ ok: false, error: { code: 'timeout', message: 'Execution timed out' } });
    execute('1');
    expect(await next('done')).toMatchObject({ ok: true, result: 1 });
  });

  it('lets a cancelled guest unwind, and sends nothing of what it asks for meanwhile', async () => {
    const { execute, next, send, messages } = await session();
    execute(
      'try { await tools.a(1) } catch (e) { console.log(e.code); await tools.a(2) } finally { console.log("finally") }',
    );
    await next('tool_call');
    send({ type: 'cancel', id: 'e' });
    const done = await next('done');
    expect(done.logs).toEqual(['timeout', 'finally']);
    expect(messages.filter((message) => message.type === 'tool_call')).toHaveLength(1);
  });

  it('lets a guest unwind also where the cancel comes with a flag in shared memory, as it does for threads', async () => {
    let flag = 0;
    const { execute, next, send } = await session({ aborted: () => flag === 1, now: () => 0 });
    // More than the engine runs before it asks whether to go on.
    const work = 'let n = 0; while (n < 30000) n += 1; console.log(n)';
    execute(`try { await tools.a(1) } finally { ${work} }`);
    await next('tool_call');
    flag = 1;
    send({ type: 'cancel', id: 'e' });
    expect((await next('done')).logs).toEqual(['30000']);
  });

  it('tolerates a cancel in the very next message after execute', async () => {
    const { execute, next, send, types } = await session();
    execute('await tools.a()');
    send({ type: 'cancel', id: 'e' });
    expect(await next('done')).toMatchObject({ ok: false, error: { code: 'timeout' } });
    expect(types()).toEqual(['started', 'tool_call', 'done']);
  });

  it('answers an execute that does not validate, and goes on', async () => {
    const { execute, next, types } = await session();
    execute('1', { options: { timeoutMs: -5 } });
    expect(await next('done')).toMatchObject({
      id: 'e',
      error: { code: 'validation_error', message: expect.stringContaining('timeoutMs') },
    });
    execute('2');
    expect(await next('done')).toMatchObject({ ok: true, result: 2 });
    expect(types()).toEqual(['done', 'started', 'done']);
  });

  it('closes with the reason on what is no message', async () => {
    const { send, closed } = await session();
    send({ type: 'execute', code: '1' });
    expect((await closed).message).toContain('execute.id must be a string');
  });

  it('shows logs as they come only to a host that asked', async () => {
    const { execute, next, types } = await session();
    execute('console.log("a"); console.log("b")');
    expect((await next('done')).logs).toEqual(['a', 'b']);
    expect(types()).not.toContain('log');
    execute('console.log("a"); console.log("b")', { options: { streamLogs: true, maxLogLines: 1 } });
    await next('done');
    expect(types().filter((type) => type === 'log')).toHaveLength(1);
  });

  it('runs nothing more when its transport ends in the middle', async () => {
    const { execute, next, core, messages } = await session();
    execute('setTimeout(() => tools.a("late"), 1); await tools.a()');
    await next('tool_call');
    core.dispose();
    const count = messages.length;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(messages.filter((message) => message.type === 'tool_call' && message.input === 'late')).toEqual([]);
    expect(messages.length - count).toBeLessThanOrEqual(1);
  });
});
