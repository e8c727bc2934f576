import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { countOf, type Report, runSuite, summaryOf } from '../../src/conformance/index.js';
import { gone } from '../sandbox/helpers.js';
import { GOOD, runPing, script } from './ping-suite.js';

const verdicts = ({ outcomes }: Report) =>
  Object.fromEntries(outcomes.map(({ check, verdict }) => [check.id.replace('ping.', ''), verdict.status]));

const failureOf = ({ outcomes }: Report, id: string) => {
  const verdict = outcomes.find(({ check }) => check.id === id)?.verdict;
  return verdict?.status === 'failed' ? verdict.failure : undefined;
};

describe('a suite', () => {
  it('passes a target that does all of it, and says what it skipped', async () => {
    const report = await runPing(GOOD);
    expect(verdicts(report)).toEqual({
      'answer.pong': 'passed',
      'answer.once': 'passed',
      'end.quick': 'passed',
      never: 'skipped',
    });
    expect(summaryOf(report)).toBe('Core: 1/1 · More: 2/2');
    expect(countOf(report.outcomes)).toEqual({ passed: 3, failed: 0, skipped: 1, failedMusts: 0 });
  });

  it('records every message both ways', async () => {
    const { outcomes } = await runPing(GOOD);
    const said = outcomes[0]?.transcript.filter(({ from }) => from !== 'note').map(({ from, text }) => [from, text]);
    expect(said).toEqual([
      ['suite', '{"type":"ping"}'],
      ['target', '{"type":"pong"}'],
    ]);
  });

  it('says what was sent, what came back and what was expected', async () => {
    const report = await runPing(script(`onPing(() => { say({ type: 'pong' }); say({ type: 'pong', again: 1 }); });`));
    expect(verdicts(report)).toMatchObject({ 'answer.pong': 'passed', 'answer.once': 'failed' });
    expect(failureOf(report, 'ping.answer.once')).toEqual({
      sent: '{"type":"ping"}',
      cameBack: '{"type":"pong","again":1}',
      expected: 'no second pong',
    });
  });

  it('fails the checks of a target that hangs, and runs the rest', async () => {
    const report = await runPing(script(`process.stdin.resume();`), { limitMs: 4_000 });
    expect(verdicts(report)).toMatchObject({ 'answer.pong': 'failed', 'end.quick': 'passed' });
    expect(failureOf(report, 'ping.answer.pong')).toMatchObject({ cameBack: 'nothing within 4000 ms' });
  });

  it('does not take a target that crashed for a quiet one', async () => {
    const report = await runPing(
      script(`onPing(() => { say({ type: 'pong' }); setTimeout(() => process.exit(3), 20); });`),
    );
    expect(verdicts(report)).toMatchObject({ 'answer.pong': 'passed', 'answer.once': 'failed' });
    expect(failureOf(report, 'ping.answer.once')?.cameBack).toContain('exited with code 3');
  });

  it('fails the checks of a target that crashes, with its exit code and last words', async () => {
    const report = await runPing(script(`onPing(() => { console.error('no idea'); process.exit(3); });`));
    expect(failureOf(report, 'ping.answer.pong')?.cameBack).toBe(
      'the target exited with code 3; standard error ends with: no idea',
    );
  });

  it('fails a target that writes what is no message', async () => {
    const report = await runPing(script(`onPing(() => console.log('pong!'));`));
    expect(failureOf(report, 'ping.answer.pong')?.cameBack).toContain('no message: not valid JSON');
  });

  it('fails a target that ends its last message half-way', async () => {
    const report = await runPing(script(`onPing(() => process.stdout.write('{"type":', () => process.exit(0)));`));
    expect(failureOf(report, 'ping.answer.pong')?.cameBack).toContain('no message');
  });

  it('fails a target that cannot be started or reached', async () => {
    const missing = await runPing({ kind: 'command', argv: ['/no/such/program'] });
    expect(failureOf(missing, 'ping.answer.pong')?.cameBack).toContain('ENOENT');
    const closed = await runPing({ kind: 'url', url: 'ws://127.0.0.1:9' });
    expect(failureOf(closed, 'ping.answer.pong')?.cameBack).toContain('ECONNREFUSED');
  });

  it('leaves no process behind, not even what a target left running', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-conformance-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'pids');
    const body = `
      const child = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      require('node:fs').appendFileSync(${JSON.stringify(file)}, child.pid + ' ' + process.pid + ' ');
      process.on('SIGTERM', () => {});
      onPing(() => say({ type: 'pong' }));
      setInterval(() => {}, 1000);
    `;
    await runPing(script(body), { limitMs: 4_000 });
    const pids = readFileSync(file, 'utf8').trim().split(' ').map(Number);
    // The check that is skipped at once may end its target before that has written anything.
    expect(pids.length).toBeGreaterThanOrEqual(6);
    expect(await gone(pids)).toBe(true);
  });

  it('judges a WebSocket, with a connection for each check', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => void server.close());
    let connections = 0;
    server.on('connection', (socket) => {
      connections += 1;
      socket.on('message', () => socket.send('{"type":"pong"}'));
    });
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const report = await runPing({ kind: 'url', url: `ws://127.0.0.1:${port}` });
    expect(countOf(report.outcomes)).toMatchObject({ failed: 0 });
    expect(connections).toBe(4);
  });

  it('runs its checks one by one where it may run none at once', async () => {
    expect((await runPing(GOOD, { jobs: 0 })).outcomes.length).toBe(4);
  });

  it('stops before the next check when it is told to', async () => {
    const stop = new AbortController();
    const report = await runPing(GOOD, { jobs: 1, signal: stop.signal, onOutcome: () => stop.abort() });
    expect(report.outcomes.length).toBe(1);
  });
});

describe('a suite by name', () => {
  it.each([
    ['nothing', GOOD, {}, 'no suite nothing: there are runner'],
    ['runner', { kind: 'url', url: 'http://127.0.0.1' }, {}, 'judges a command or a ws: or wss: address'],
    ['runner', { kind: 'url', url: 'no address' }, {}, 'not no address'],
    ['runner', GOOD, { settings: { colour: 'red' } }, 'the suite runner has no option colour'],
    ...['abc', '0', '65536', '1e3', ''].map((port) => {
      const options = { settings: { 'registry-port': port } };
      return ['executor', { kind: 'url', url: 'http://127.0.0.1' }, options, 'takes a port for registry-port'] as const;
    }),
    ['runner', GOOD, { only: ['runner.sesion.one-done'] }, 'did you mean runner.session.one-done?'],
  ] as const)('refuses %s for what cannot be', async (name, target, options, message) => {
    await expect(runSuite(name, target, options)).rejects.toThrow(message);
  });
});
