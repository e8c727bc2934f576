// The load: clients of every boundary that go on whatever happens, and some that leave without a word.
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { Commands, Failed, post, runGuest, runTool, runWasm } from '../lib/boundaries.mjs';

/** Nothing honest takes longer, faults included: the server's own limits end it before, that of an install after a minute. */
const GIVE_UP_MS = 90_000;
const PAUSE_MS = 20;
const ASYNC_LIMIT_MS = 120_000;

/** Starts the clients. They stop when `stopping` says so; `finished` resolves when the last has. */
export function startLoad({ host, ledger, random, versions }) {
  let stopping = false;
  const stop = () => {
    stopping = true;
  };
  const client = async (kind, once) => {
    while (!stopping) {
      const close = ledger.ask(kind);
      try {
        await giveUp(once());
        close('ok');
      } catch (error) {
        close(error instanceof Failed ? error.code : 'bug', error.stack);
        // A server that is away is not asked again at full speed.
        await delay(5 * PAUSE_MS);
      }
      await delay(random.below(2 * PAUSE_MS));
    }
  };
  const commands = new Commands();
  const asyncExecutions = [];
  const clients = [
    client('guest', () => runGuest(host.url)),
    client('guest socket', () => guestOverSocket(host)),
    client('wasm', () => runWasm(host.url)),
    client('tool', () => runTool(host.url)),
    client('tool, any version', () => runTool(host.url, undefined, { version: random.pick(versions) })),
    client('process', () => commands.run(host.socketUrl)),
    client('async', () => askAsync(host, asyncExecutions)),
    leavers({ host, ledger, random, stopping: () => stopping }),
  ];
  const finished = Promise.all(clients).then(() => commands.close());
  return { stop, finished, asyncExecutions };
}

/** One program over `WS /guest`, with a tool on this side. */
async function guestOverSocket({ socketUrl }) {
  const socket = new WebSocket(`${socketUrl}/guest`, { perMessageDeflate: false });
  try {
    await new Promise((resolve, reject) => {
      socket.on('error', (error) => reject(new Failed('connection', error.message)));
      socket.once('close', (code) => reject(new Failed('connection', `closed with ${code}`)));
      socket.once('open', () => {
        const tools = { double: { safeName: 'double', originalName: 'double' } };
        const providers = [{ name: 'math', tools, types: '' }];
        socket.send(
          JSON.stringify({ type: 'execute', id: 'soak', code: 'return await math.double({ n: 21 })', providers }),
        );
      });
      socket.on('message', (data) => {
        const message = JSON.parse(String(data));
        if (message.type === 'tool_call') {
          socket.send(
            JSON.stringify({ type: 'tool_result', callId: message.callId, ok: true, result: message.input.n * 2 }),
          );
        }
        if (message.type !== 'done') return;
        if (message.result === 42) resolve();
        else reject(new Failed(message.error?.code ?? 'wrong result', message.error?.message));
      });
    });
  } finally {
    socket.terminate();
  }
}

/** Asks for an execution in the background; what becomes of it is looked up at the end. */
async function askAsync({ url }, asked) {
  const { executionId, error } = await post(url, '/execute-async', {
    packageName: 'load-tool',
    name: 'double',
    params: { n: 1 },
  });
  if (typeof executionId !== 'string') throw new Failed(error?.code ?? 'no id', error?.message);
  asked.push(executionId);
  await delay(250);
}

/** Clients that ask for something long and are gone: what they asked for has to end with them. */
async function leavers({ host, ledger, random, stopping }) {
  while (!stopping()) {
    const close = ledger.ask('leaver');
    const body = { code: 'await new Promise(() => {})', timeoutMs: 60_000 };
    await post(host.url, '/run', body, AbortSignal.timeout(30 + random.below(200))).catch(() => {});
    close('ok');
    await delay(500 + random.below(1_000));
  }
}

async function giveUp(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Failed('hang', `nothing after ${GIVE_UP_MS} ms`)), GIVE_UP_MS);
  });
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Looks up what became of every execution that was accepted with a 202: each must have an end, whatever was killed meanwhile. */
export async function settleAsync({ url }, ids) {
  const ends = {};
  const deadline = performance.now() + ASYNC_LIMIT_MS;
  for (const id of ids) {
    let status = 'unknown';
    while (performance.now() < deadline) {
      const response = await fetch(`${url}/executions/${id}`);
      const answer = await response.json();
      status = response.status === 200 ? answer.status : `HTTP ${response.status}`;
      if (!['queued', 'running', 'pending'].includes(status)) break;
      await delay(100);
    }
    ends[status] = (ends[status] ?? 0) + 1;
  }
  return ends;
}
