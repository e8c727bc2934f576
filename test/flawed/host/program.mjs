// An execbox host behind the adapter protocol, with switches: without one it does what the suite asks for, with
// `--flaw NAME` it makes one mistake. It listens on a WebSocket, prints its address, and ends with its input.
import { WebSocketServer } from 'ws';
import { answerCall } from './dispatch.mjs';
import { resultOf } from './results.mjs';

const flaws = process.argv[process.argv.indexOf('--flaw') + 1].split(',');
const has = (name) => flaws.includes(name);

/** What the runner may take beyond its own time. */
const GRACE_MS = 100;
/** What it may take to answer a cancel: long enough for a suite on a crowded machine. */
const ANSWER_MS = 700;
/** How late a flawed host looks at `done`, so that the close overtakes it. */
const LATE_MS = 300;
const ID = 'session-1';

function serve(socket) {
  const say = (line) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(line));
  const send = (message) => say({ type: 'host', message });
  const tools = new AbortController();
  const seen = new Set();
  const state = { ended: false, cancelled: false, granted: new Map(), options: {}, calls: Promise.resolve() };

  function end(result) {
    if (state.ended && !has('last-done-counts')) return;
    state.ended = true;
    clearTimeout(state.timer);
    if (!has('tools-run-on')) tools.abort();
    say({ type: 'result', result });
  }

  const fail = (code, message) => end({ ok: false, error: { code, message }, logs: [], durationMs: 1 });

  function cancel(why) {
    if (state.ended && !(has('cancels-after-done') && why === 'abort')) return;
    if (state.cancelled && !has('cancels-twice')) return;
    state.cancelled = true;
    if (!has('tools-run-on')) tools.abort();
    if (!has(`no-cancel-on-${why}`)) send({ type: 'cancel', id: ID });
    if (!has('waits-for-runner')) state.timer = setTimeout(() => fail('timeout', 'Execution timed out'), ANSWER_MS);
  }

  function manifestOf(name, named, secret) {
    const manifests = Object.keys(named).map((originalName) => {
      const safeName = has('raw-names') ? originalName : originalName.replaceAll(/\W/g, '_');
      state.granted.set(`${name}.${safeName}`, { originalName, behaviour: named[originalName] });
      const leak = has('leaks-closures') ? { execute: '(input) => input' } : {};
      return [safeName, { safeName, originalName, ...leak, ...(has('leaks-secrets') ? { description: secret } : {}) }];
    });
    return { name, tools: Object.fromEntries(manifests), ...(has('no-types') ? {} : { types: '' }) };
  }

  const FROM_RUNNER = {
    started() {
      if (!state.cancelled) state.timer = setTimeout(() => cancel('timeout'), state.options.timeoutMs + GRACE_MS);
    },
    tool_call(call) {
      if ((state.ended && !has('tools-after-done')) || state.cancelled) return;
      if (seen.has(call.callId) && !has('runs-calls-again')) return;
      seen.add(call.callId);
      const answer = () => answerCall(call, { has, say, signal: tools.signal, granted: state.granted });
      const answered = has('one-call-at-a-time') ? state.calls.then(answer) : answer();
      state.calls = answered;
      answered.then((message) => {
        if (message === undefined || state.ended) return;
        send(message);
        if (has('answers-twice')) send(message);
        if (has('failed-tools-end-runs') && !message.ok) fail(message.error.code, message.error.message);
      });
    },
    done(done) {
      if (state.cancelled && done.ok && !has('takes-late-success')) return fail('timeout', 'Execution timed out');
      const settle = () => end(resultOf(done, state.options, has));
      if (has('close-beats-done')) setTimeout(settle, LATE_MS);
      else settle();
    },
  };

  const LINES = {
    case({ code, providers, options, secret }) {
      state.options = options;
      const limits = has('own-limits')
        ? { timeoutMs: 5_000, memoryLimitBytes: 1, maxLogLines: 1, maxLogChars: 1 }
        : options;
      const execute = {
        type: 'execute',
        id: ID,
        code: has('trims-code') ? code.trim() : code,
        options: limits,
        providers: providers.map(({ name, tools: named }) => manifestOf(name, named, secret)),
      };
      send(execute);
      if (has('executes-twice')) send(execute);
    },
    runner({ message }) {
      const { type, id } = message;
      if (id !== undefined && id !== ID && !has('takes-any-id')) return;
      if (!has('breaks-on-nonsense') && !Object.hasOwn(FROM_RUNNER, type)) return;
      FROM_RUNNER[type](message);
    },
    close() {
      if (!has('ignores-close')) fail('internal_error', 'the runner went away');
    },
    abort: () => cancel('abort'),
  };

  socket.on('close', () => clearTimeout(state.timer));
  socket.on('message', (text) => {
    const line = JSON.parse(String(text));
    try {
      LINES[line.type](line);
    } catch {
      // This host would be gone; the others that this program serves go on.
      socket.terminate();
    }
  });
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
server.on('connection', serve);
server.on('listening', () => console.log(`ws://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
