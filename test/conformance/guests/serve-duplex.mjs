// The functions that a guest under test offers, served by `serveDuplex` on standard input and output.
import { serveDuplex } from '../../../dist/wasm/index.js';

async function* indexes({ count, error }) {
  for (let index = 0; index < count; index += 1) yield index;
  if (error !== undefined) throw new Error(error);
}

const functions = {
  add: ([a, b]) => a + b,
  divide: ([a, b]) => {
    if (b === 0) throw new Error('Division by zero');
    return a / b;
  },
  echo: (params) => params,
  callHost: ({ name, params }, { call }) => call(name, params),
  produce: async (params, { send }) => {
    await send(params.stream, indexes(params));
    return params.count;
  },
  consume: async ({ stream }, { receive }) => {
    let count = 0;
    let sum = 0;
    for await (const chunk of receive(stream)) {
      count += 1;
      sum += chunk;
    }
    return [count, sum];
  },
};

await serveDuplex({ readable: process.stdin, writable: process.stdout }, { functions }).closed;
