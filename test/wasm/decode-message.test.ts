import { expect, it } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { decodeMessage } from '../../src/wasm/decode-message.js';
import { functionCall, functionError, functionResponse, streamChunk, streamEnd } from '../../src/wasm/messages.js';
import { encodeMessagePack } from '../../src/wire/index.js';
import { DEFAULT_BUDGET } from '../../src/wire/msgpack/decode-budget.js';

const decode = (value: unknown) => decodeMessage(encodeMessagePack(value), DEFAULT_BUDGET);

it.each([
  functionCall('1', 'add', [1, 2]),
  functionResponse('1', null),
  functionError('1', 'no'),
  streamChunk('s', { a: [1] }),
  streamEnd('s'),
])('reads what was written: %j', (message) => {
  expect(decode(message)).toMatchObject(message);
});

it('keeps nothing of one message for the next', () => {
  decode(functionCall('1', 'add', [1, 2]));
  expect(decode(functionResponse('2', undefined))).toEqual({
    id: '2',
    type: 1,
    result: undefined,
    chunk: undefined,
    error: undefined,
    functionName: undefined,
    params: undefined,
    expectsResponse: undefined,
  });
});

it('reads a message among more fields than it has use for', () => {
  const extra = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x${index}`, index]));
  expect(decode({ ...functionResponse('1', 3), ...extra })).toMatchObject({ type: 1, id: '1', result: 3 });
});

it.each([
  ['a payload that is no map', [1]],
  ['a type that there is none of', { type: 6, id: 'x' }],
  ['no id', { type: 4 }],
  ['an error that is no text', { type: 2, id: 'x', error: 1 }],
])('refuses %s, and goes on', (_what, value) => {
  let refused: unknown;
  try {
    decode(value);
  } catch (error) {
    refused = error;
  }
  expect(isSallyportError(refused, 'WASM_MESSAGE_INVALID')).toBe(true);
  expect(decode(streamEnd('s'))).toMatchObject({ type: 4, id: 's' });
});
