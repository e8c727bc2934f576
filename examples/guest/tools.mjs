// Grants a program two functions of the host, and runs what a model might have written.
// From a clone: npm ci && npm run build && node examples/guest/tools.mjs
import { defineTools, describeTools } from 'sallyport/capabilities';
import { createExecutor } from 'sallyport/guest';

const STOCK = new Map([
  ['apple', 3],
  ['pear', 0],
]);

const shop = defineTools('shop', {
  'list-items': {
    description: 'Names of everything the shop sells.',
    output: { type: 'array', items: { type: 'string' } },
    execute: () => [...STOCK.keys()],
  },
  stock: {
    description: 'How many of one item are left.',
    input: {
      type: 'object',
      properties: { item: { type: 'string' } },
      required: ['item'],
      additionalProperties: false,
    },
    output: { type: 'integer' },
    execute: ({ item }) => {
      const count = STOCK.get(item);
      // The message is what the program sees; the stack stays here.
      if (count === undefined) throw new Error(`the shop does not sell ${item}`);
      return count;
    },
  },
});

// What goes into the prompt.
console.log(describeTools([shop]));

// What came back.
const program = `
const items = await shop.list_items();
const counts = await Promise.all(items.map((item) => shop.stock({ item })));
return Object.fromEntries(items.map((item, index) => [item, counts[index]]));
`;

const executor = createExecutor();
const good = await executor.execute(program, shop);
console.log(good.ok ? good.result : good.error);

// A failure is a result too, never a rejection.
const bad = await executor.execute(`await shop.stock({ item: 'cheese' })`, shop);
console.log(bad.ok ? bad.result : bad.error);
await executor.dispose();

// Prints:
// declare namespace shop {
//   /** Names of everything the shop sells. */
//   function list_items(input?: unknown): Promise<string[]>;
//   /** How many of one item are left. */
//   function stock(input: {
//     item: string;
//   }): Promise<number>;
// }
//
// { apple: 3, pear: 0 }
// { code: 'tool_error', message: 'the shop does not sell cheese' }
