import { availableParallelism } from 'node:os';
import { PassThrough } from 'node:stream';
import { attachRunner, createRunnerShells, MESSAGE_BUDGET } from '../guest/index.js';
import { isLoopback, listenWebSocket, ndjsonTransport, parseListenAddress, webSocketTransport } from '../wire/index.js';
import { checkIsolation } from './check-isolation.js';
import { CliError, EXIT } from './exit.js';
import type { CommandIsolation } from './options.js';

export interface RunnerFlags {
  readonly listen: string;
  readonly isolation: CommandIsolation;
}

/** Serves the runner protocol where the flags say, until the host hangs up or a signal comes. */
export async function serveRunner(flags: RunnerFlags): Promise<void> {
  await checkIsolation(flags.isolation);
  return flags.listen === 'stdio://' ? serveStdio(flags) : serveSockets(flags);
}

/** Serves one host until it hangs up. A host that only closed its output still gets the answer to what it asked. */
async function serveStdio({ isolation }: RunnerFlags): Promise<void> {
  const input = new PassThrough();
  process.stdin.pipe(input, { end: false });
  const transport = ndjsonTransport({ readable: input, writable: process.stdout, budget: MESSAGE_BUDGET });
  const runner = attachRunner(transport, { isolation });
  process.stdin.once('end', () => {
    // What was read last is still on its way through the transport.
    setImmediate(() => runner.drain().then(() => input.end()));
  });
  process.stdin.once('error', () => input.end());
  transport.onClose((reason) => {
    if (reason.kind === 'peer-closed' || reason.kind === 'terminated') return;
    process.stderr.write(`sallyport runner: ${reason.message}\n`);
    process.exitCode = EXIT.failure;
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => transport.terminate());
  await runner.closed;
  process.stdin.destroy();
}

async function serveSockets({ listen, isolation }: RunnerFlags): Promise<void> {
  const parsed = parseListenAddress(listen);
  if (!parsed.ok) throw new CliError(`--listen: ${parsed.message}`);
  const { host, port } = parsed.address;
  const token = process.env['EXECUTOR_API_KEY'] || undefined;
  if (token === undefined && !isLoopback(host)) {
    throw new CliError(`--listen: ${host} can be reached from elsewhere: set EXECUTOR_API_KEY, or listen on 127.0.0.1`);
  }
  const shells = createRunnerShells({ isolation, size: 2 * availableParallelism() });
  const listener = await listenWebSocket({ host, port, token, maxMessageBytes: MESSAGE_BUDGET.bytes }, (socket) => {
    attachRunner(webSocketTransport(socket, { budget: MESSAGE_BUDGET }), { shells });
  });
  process.stderr.write(`sallyport runner listening on ${listener.url}\n`);
  shells.prewarm().catch(() => {});
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  await listener.close();
  await shells.dispose();
}
