// The published client `duplex-rpc` as a host under test, used as its README shows.
import { spawn } from 'node:child_process';
import {
  AsyncWritable,
  createApiClientFromDuplex,
  createRpcFunctionDefinition,
  duplexFromSpawnedProcess,
  rpcCallback,
} from 'duplex-rpc';
import { drive, functions } from './driver.mjs';

const pass = createRpcFunctionDefinition({ params: (params) => params, decodeResult: (result) => result });
const definitions = { add: pass, divide: pass, echo: pass, work: pass };

await drive({
  open: async ([program, ...args]) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
    return createApiClientFromDuplex(duplexFromSpawnedProcess(child), definitions);
  },
  call: (client, name, params) => client[name](params),
  callback: (name) => rpcCallback(functions[name]),
  receiver: () => {
    const writable = new AsyncWritable();
    return { place: writable, chunks: writable.createAsyncIterator() };
  },
});
