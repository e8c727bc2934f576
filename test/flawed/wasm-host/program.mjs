// A duplex-rpc host with switches: without one it does what the suite asks for, with `--flaw NAME` it makes one mistake, or
// several with `NAME,NAME`.
import { drive, functions } from '../../conformance/hosts/driver.mjs';
import { Client } from './client.mjs';
import { Queue } from './queue.mjs';

const flaws = process.argv.at(process.argv.indexOf('--flaw') + 1).split(',');

await drive({
  open: async (argv) => new Client(argv, (name) => flaws.includes(name)),
  call: (client, name, params, { timeoutMs = 60_000 }) => client.call(name, params, timeoutMs),
  notify: (client, name, params) => client.notify(name, params),
  callback: (name) => functions[name],
  receiver: () => {
    const queue = new Queue();
    return { place: queue, chunks: queue.read() };
  },
});
