import type { WebSocket } from 'ws';
import type { RawGuest, RawGuestEnd } from '../../wasm/index.js';
import { printable, type Transport, webSocketBytes } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import type { Outcome } from '../audit/record.js';
import type { Parts } from '../parts.js';

type Bytes = Transport<Uint8Array, Uint8Array>;

/**
 * Serves one module on one socket: its bytes as they are, in a process of its own that ends with the connection. Returns how
 * to end it.
 */
export function serveWasm(socket: WebSocket, caller: Caller, module: string, parts: Parts): (reason: string) => void {
  const transport = webSocketBytes(socket);
  // The transport tells of its end only when the guest has read what came before.
  const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  void runModule(transport, gone, caller, module, parts);
  return (reason) => transport.close(reason);
}

async function runModule(
  transport: Bytes,
  gone: Promise<void>,
  caller: Caller,
  module: string,
  parts: Parts,
): Promise<void> {
  const { modules, trail, quotas, isolation, spawners } = parts;
  const problem = quotas.charge(caller);
  if (problem !== undefined) return transport.close(problem.message);
  using place = modules.turns.tryTake();
  if (place === undefined) return transport.close('too many Wasm guests are running; try again later');
  const cancelled = new AbortController();
  const execution = trail.open(
    {
      kind: 'wasm',
      via: 'WS /wasm',
      label: module,
      isolation: isolation.levels.wasm,
      limits: {},
      cancel: () => {
        cancelled.abort();
        transport.close('the execution was cancelled');
      },
    },
    caller,
  );
  try {
    const loaded = await modules.load(module);
    await using guest = await loaded.start(spawners.wasm);
    execution.started();
    execution.used({ type: 'process', name: `${module} (${guest.pid})`, outcome: 'started' });
    execution.ended(await relay(transport, guest, gone, cancelled.signal));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    execution.ended({ status: 'failed', code: 'WASM_START_FAILED', message });
    transport.close(printable(message, 100));
  }
}

/** Carries bytes both ways, each only as fast as the other side takes them, until one side ends. */
async function relay(transport: Bytes, guest: RawGuest, gone: Promise<void>, cancelled: AbortSignal): Promise<Outcome> {
  const { input, output } = guest;
  // A guest that does not read its input holds its caller up; one that is gone is told by its end.
  transport.onMessage((bytes) => input.write(bytes).catch(() => {}));
  output.onData((chunk) => {
    let sent: void | Promise<void>;
    try {
      sent = transport.send(chunk);
    } catch {
      output.discard();
      return;
    }
    if (sent === undefined) return;
    output.pause();
    void sent.finally(() => output.resume());
  });
  const hungUp = new Promise<'hung up'>((resolve) => {
    const hangUp = (): void => resolve('hung up');
    void gone.then(hangUp);
    transport.onClose(hangUp);
    if (cancelled.aborted) hangUp();
    cancelled.addEventListener('abort', hangUp, { once: true });
  });
  const first = await Promise.race([hungUp, guest.ended]);
  if (first === 'hung up') {
    return cancelled.aborted ? { status: 'cancelled', code: 'cancelled' } : { status: 'succeeded', code: 'ok' };
  }
  // What it said last is still on its way to a reader that takes its time.
  await Promise.race([output.ended, hungUp]);
  transport.close(`the guest ended: ${describe(first)}`);
  if (first.exitCode === 0) return { status: 'succeeded', code: 'ok' };
  return {
    status: 'failed',
    code: first.failure === undefined ? 'WASM_EXITED' : 'WASM_TRAPPED',
    message: describe(first),
  };
}

function describe({ exitCode, signal, failure }: RawGuestEnd): string {
  if (failure !== undefined) return printable(failure, 100);
  return signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
}
