// An execbox runner with switches: without one it does what the suite asks for, with `--flaw NAME` it makes one mistake.
// It listens on a WebSocket, prints its address, and ends with its input.
import { WebSocketServer } from 'ws';
import { startEngine } from './engine.mjs';

const flaws = process.argv[process.argv.indexOf('--flaw') + 1].split(',');
const has = (name) => flaws.includes(name);
const UNWIND_MS = 100;
const CANCELLED = has('cancel-is-runtime-error') ? 'runtime_error' : 'timeout';

/** Cuts logs as the specification says, or in a way of its own. */
function cut(lines, { maxLogLines, maxLogChars }) {
  const kept = has('keeps-latest-lines') ? lines.slice(-maxLogLines) : lines.slice(0, maxLogLines);
  return clip(kept, maxLogChars);
}

function clip(lines, chars) {
  if (has('chars-per-line')) return lines.map((line) => line.slice(0, chars));
  let left = chars;
  const clipped = [];
  for (const line of lines) {
    if (left <= 0) break;
    clipped.push(line.slice(0, left));
    left -= line.length;
  }
  return clipped;
}

function serve(socket) {
  const say = (message) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(message));
  let active;

  function finish(outcome) {
    if (active === undefined) return;
    const { id, options, logs, engine, began, timer } = active;
    active = undefined;
    clearTimeout(timer);
    engine.end();
    const kept = outcome.ok || !has('loses-logs-of-failures') ? cut(logs, options) : [];
    const durationMs = has('no-duration') ? 0 : performance.now() - began;
    const done = { type: 'done', id: has('plain-ids') ? id.replaceAll(/[^\w-]/g, '') : id, durationMs, logs: kept };
    const both = has('result-in-failures') && !outcome.ok ? { result: null } : {};
    const late = has('started-last') ? [{ type: 'started', id }] : [];
    for (const message of late) say(message);
    say({ ...done, ...outcome, ...both });
    if (has('two-dones')) say({ ...done, ...outcome });
  }

  const fail = (code, message) => finish({ ok: false, error: { code, message } });

  function execute({ id, code, options, providers }) {
    if (active !== undefined) {
      if (has('second-execute-wins')) fail('internal_error', 'another execution came');
      else {
        const error = { code: 'internal_error', message: 'one execution at a time' };
        if (!has('ignores-second-execute')) say({ type: 'done', id, ok: false, error, logs: [], durationMs: 0 });
        return;
      }
    }
    const timer = setTimeout(() => {
      if (has('waits-for-ever') && active?.pending.size > 0) return;
      fail('timeout', 'Execution timed out');
    }, options.timeoutMs);
    const engine = startEngine(code, flaws, fromGuest, (error) => {
      const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY' && !has('memory-as-runtime-error');
      fail(memory ? 'memory_limit' : 'runtime_error', error.message);
    });
    active = { id, options, logs: [], engine, timer, began: performance.now(), pending: new Map(), calls: 0 };
    if (!has('no-started') && !has('started-last')) say({ type: 'started', id: has('own-started-id') ? 'me' : id });
    engine.send({ type: 'execute', code, providers });
  }

  function fromGuest(message) {
    if (active === undefined) return;
    if (message.type === 'log') active.logs.push(message.line);
    else if (message.type === 'done') {
      const failed = active.cancelled && !has('forgets-cancel');
      if (failed) fail(CANCELLED, 'Execution was cancelled');
      else finish(message.outcome);
    } else if (!active.cancelled) emit(message);
  }

  function emit({ key, ...call }) {
    active.calls += 1;
    const callId = `call-${has('repeats-call-ids') ? active.pending.size : active.calls}`;
    active.pending.set(callId, key);
    say({ ...call, callId });
    if (active.early) result({ callId, ...active.early });
  }

  function result({ callId, ...answer }) {
    if (active === undefined) return;
    if (has('needs-result') && answer.ok && !('result' in answer)) return;
    const matching = has('any-result') ? ([...active.pending.keys()][0] ?? callId) : callId;
    const key = active.pending.get(matching);
    if (!active.pending.delete(matching)) {
      if (has('any-result')) active.early = answer;
      return;
    }
    active.engine.send({ ...answer, key });
  }

  function cancel({ id }) {
    const error = { code: CANCELLED, message: 'Execution was cancelled' };
    if (active === undefined) {
      if (has('crashes-on-late-cancel')) socket.terminate();
      if (has('answers-late-cancel')) say({ type: 'done', id, ok: false, error, logs: [], durationMs: 0 });
      return;
    }
    if (id !== active.id && !has('cancels-anything')) return;
    if (has('ignores-cancel-in-calls') && active.pending.size > 0) return;
    if (has('cancel-without-unwinding')) return fail(error.code, error.message);
    // A moment for the program to unwind; whatever it does, the run has failed.
    active.cancelled = true;
    active.engine.send({ type: 'cancel' });
    setTimeout(() => fail(error.code, error.message), UNWIND_MS);
  }

  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.type === 'execute') execute(message);
    else if (message.type === 'tool_result') result(message);
    else if (message.type === 'cancel') cancel(message);
  });
  socket.on('close', () => fail('internal_error', 'the host hung up'));
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
server.on('connection', serve);
server.on('listening', () => console.log(`ws://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
