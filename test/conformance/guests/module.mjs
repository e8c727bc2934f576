// Runs a WebAssembly module as a command: its standard input and output are ours. Usage: node module.mjs guest.wasm
import { createSpawner } from '../../../dist/sandbox/index.js';
import { loadWasm } from '../../../dist/wasm/index.js';

const module = await loadWasm(process.argv[2]);
const spawner = createSpawner();
const guest = await module.start(spawner);
guest.output.onData((chunk) => process.stdout.write(chunk));
process.stdin.on('data', (chunk) => void guest.input.write(chunk).catch(() => {}));
process.stdin.on('end', () => guest.input.end());
const { exitCode, failure, stderr } = await guest.ended;
if (failure !== undefined || exitCode !== 0) console.error(failure ?? stderr);
await spawner.dispose();
process.stdin.destroy();
process.exitCode = exitCode ?? 1;
