// The client of `sallyport/wasm` as a host under test. With --grants the functions of the host are granted by name.
import { readFileSync } from 'node:fs';
import { createSink, openWasm } from '../../../dist/wasm/index.js';
import { drive, functions } from './driver.mjs';

const byName = process.argv.includes('--grants');
// Any module will do: what runs as the guest is the command of the suite.
const module = readFileSync(new URL('../../../examples/wasm/zig/guest.wasm', import.meta.url));

/** Starts the command of the suite where a Wasm runtime would start the module. */
const runtimeOf = (argv) => async () => ({
  report: { name: 'command', version: '1', enforces: {} },
  dispose: async () => {},
  start: async (spawner) => {
    const stdio = { kind: 'pipes', stdin: 'pipe' };
    const child = await spawner.spawn({ argv, env: {}, cwd: '/', stdio, level: 'process' });
    return { process: child, ready: Promise.resolve(), failure: () => undefined };
  },
});

await drive({
  open: (argv) => openWasm(module, { runtime: runtimeOf(argv), ...(byName ? { grant: functions } : {}) }),
  call: (client, name, params, { timeoutMs }) =>
    client.call[name](params, timeoutMs === undefined ? {} : { timeoutMs }),
  notify: (client, name, params) => client.notify[name](params),
  callback: (name) => (byName ? name : functions[name]),
  receiver: () => {
    const sink = createSink();
    return { place: sink, chunks: sink };
  },
  close: (client) => client?.dispose(),
});
