import type { WebSocket } from 'ws';
import type { RawGuest, RawGuestEnd } from '../../wasm/index.js';
import { printable, type Transport, webSocketBytes } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import type { Outcome } from '../audit/record.js';
import type { Parts } from '../parts.js';

/** Serves one module on one socket: its bytes as they are, in a process of its own that ends with the connection. */
export async function serveWasm(socket: WebSocket, caller: Caller, module: string, parts: Parts): Promise<void> {
  const { modules, trail, quotas, isolation, spawner } = parts;
  const transport = webSocketBytes(socket);
  const problem = quotas.charge(caller);
  if (problem !== undefined) return transport.close(problem.message);
  using place = modules.turns.tryTake();
  if (place === undefined) return transport.close('too many Wasm guests are running; try again later');
  let cancelled = false;
  const execution = trail.open(
    {
      kind: 'wasm',
      via: 'WS /wasm',
      label: module,
      isolation: isolation.levels.wasm,
      limits: {},
      cancel: () => {
        cancelled = true;
        transport.close('the execution was cancelled');
      },
    },
    caller,
  );
  try {
    const loaded = await modules.load(module);
    await using guest = await loaded.start(spawner);
    execution.started();
    execution.used({ type: 'process', name: `${module} (${guest.pid})`, outcome: 'started' });
    execution.ended(await relay(transport, guest, () => cancelled));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    execution.ended({ status: 'failed', code: 'WASM_START_FAILED', message });
    transport.close(printable(message, 100));
  }
}

/** Carries bytes both ways, each only as fast as the other side takes them, until one side ends. */
async function relay(
  transport: Transport<Uint8Array, Uint8Array>,
  guest: RawGuest,
  wasCancelled: () => boolean,
): Promise<Outcome> {
  guest.writable.on('error', () => {});
  guest.readable.on('error', () => {});
  transport.onMessage((bytes) => {
    if (guest.writable.write(bytes)) return undefined;
    return new Promise<void>((resolve) => {
      guest.writable.once('drain', resolve);
      guest.writable.once('close', resolve);
    });
  });
  guest.readable.on('data', (chunk: Buffer) => {
    let sent: void | Promise<void>;
    try {
      sent = transport.send(chunk);
    } catch {
      guest.readable.destroy();
      return;
    }
    if (sent === undefined) return;
    guest.readable.pause();
    void sent.finally(() => guest.readable.resume());
  });
  const hungUp = new Promise<'hung up'>((resolve) => transport.onClose(() => resolve('hung up')));
  const read = new Promise<void>((resolve) => guest.readable.once('close', resolve).once('end', resolve));
  const first = await Promise.race([hungUp, guest.ended]);
  if (first === 'hung up') {
    return wasCancelled() ? { status: 'cancelled', code: 'cancelled' } : { status: 'succeeded', code: 'ok' };
  }
  // What it said last is still on its way to a reader that takes its time.
  await Promise.race([read, hungUp]);
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
