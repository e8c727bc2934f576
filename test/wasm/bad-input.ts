import { encodeFrame, encodeMessagePack, FRAME_VERSION } from '../../src/wire/index.js';

const STREAM = /^stream must be the id of a stream$/;
const COUNT = /^count must be a whole number/;
const SIZE = /^size must be a whole number/;
const PAIR = /^(add|divide) takes two numbers$/;
const NAME = /^name must be the name of a function$/;
const SLEEP = /^sleep takes a whole number/;
const FINITE = /^the result is not a finite number$/;

const good = { stream: 'out', count: 2, size: 8 };

/** Calls that a guest has to refuse with an error, and nothing else: what is called, with what, and what it says. */
export const REFUSED_CALLS: readonly (readonly [name: string, params: unknown, error: RegExp])[] = [
  ...['produce', 'consume'].flatMap((name) =>
    [undefined, null, 7, 'out', [], {}].map((params) => [name, params, STREAM] as const),
  ),
  ...[null, 7, true, '', ['out'], { id: 'out' }, Uint8Array.of(111)].flatMap((stream) => [
    ['produce', { ...good, stream }, STREAM] as const,
    ['consume', { stream }, STREAM] as const,
  ]),
  ['produce', { stream: 'out', size: 8 }, COUNT],
  ...['2', -1, 1.5, 2 ** 32, null, [2]].map((count) => ['produce', { ...good, count }, COUNT] as const),
  ['produce', { stream: 'out', count: 2 }, SIZE],
  ...['8', -1, 0.5, 2 ** 26 + 1, null, {}].map((size) => ['produce', { ...good, size }, SIZE] as const),
  ...[7, false, ['x'], Uint8Array.of(111)].map(
    (error) => ['produce', { ...good, error }, /^error must be a text$/] as const,
  ),
  ...['add', 'divide'].flatMap((name) =>
    [undefined, null, 1, '12', {}, [], [1], [1, '2'], [null, 2], [true, 2]].map(
      (params) => [name, params, PAIR] as const,
    ),
  ),
  ['add', [1e308, 1e308], FINITE],
  ['divide', [1e308, 1e-10], FINITE],
  ['divide', [1, 0], /^Division by zero$/],
  ...[undefined, 'upper', {}, { name: null }, { name: 7 }, { name: '' }, { name: ['upper'] }].map(
    (params) => ['callHost', params, NAME] as const,
  ),
  ...[undefined, null, '30', -1, 1.5, 2 ** 31, [30]].map((params) => ['sleep', params, SLEEP] as const),
  ['no such function', [1, 2], /^There is no /],
  ['', [1, 2], /^There is no /],
];

const message = (fields: object): Uint8Array => encodeFrame(fields);
const call = (fields: object): Uint8Array =>
  message({ type: 0, id: 'bad', functionName: 'add', params: [1, 2], ...fields });
const without = (name: string): Uint8Array => {
  const { [name]: _, ...fields }: Record<string, unknown> = { type: 0, id: 'bad', functionName: 'add', params: [1, 2] };
  return message(fields);
};

/** A frame with a header of its own. */
function frame(payload: Uint8Array, length = payload.length, version: number = FRAME_VERSION): Uint8Array {
  const header = Buffer.alloc(5);
  header.writeUInt8(version);
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, payload]);
}
const hex = (digits: string): Uint8Array => frame(Buffer.from(digits, 'hex'));
const valid = encodeMessagePack({ type: 0, id: 'bad', functionName: 'add', params: [1, 2] });

/** What no host should send: a guest ends with exit code 1, without a word, whatever it does at that time. */
export const REFUSED_FRAMES: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['a frame of version 0', frame(valid, valid.length, 0)],
  ['a frame of version 2', frame(valid, valid.length, 2)],
  ['a length one above the limit', frame(new Uint8Array(), 2 ** 26 + 1)],
  ['a length that is negative with a sign', frame(new Uint8Array(), 2 ** 31)],
  ['the largest length', frame(new Uint8Array(), 2 ** 32 - 1)],
  ['an empty frame', frame(new Uint8Array())],
  ['a frame that ends within its value', frame(valid.subarray(0, -1))],
  ['a frame that goes on after its value', frame(Buffer.concat([valid, Buffer.of(0)]))],
  ['a byte that leads no value', hex('c1')],
  ['an extension', hex('82a26964a162a474797065d40000')],
  ['a text longer than its frame', hex('81a26964dbffffffff62')],
  ['binary longer than its frame', hex('81a26964c6ffffffff62')],
  ['a list longer than its frame', hex('ddffffffff')],
  ['a map longer than its frame', hex('dfffffffff')],
  ['a payload that is no map', hex('93010203')],
  ['a call without an id', without('id')],
  ...[null, 7, '', true, ['bad'], Uint8Array.of(98)].map(
    (id) => [`a call whose id is ${JSON.stringify(id)}`, call({ id })] as const,
  ),
  ['a message without a type', without('type')],
  ...[6, 9, 256, -1, 0.5, '0', null, [0]].map(
    (type) => [`a message whose type is ${JSON.stringify(type)}`, call({ type })] as const,
  ),
  ['a call without a name', without('functionName')],
  ['a call whose name is binary', call({ functionName: Uint8Array.from(Buffer.from('add')) })],
  ['a call whose expectsResponse is 0', call({ expectsResponse: 0 })],
  ['an error without a text', message({ type: 2, id: 'bad' })],
  ['an error whose text is a map', message({ type: 2, id: 'bad', error: { message: 'x' } })],
  ['a chunk without a chunk', message({ type: 3, id: 'bad' })],
  ['a stream error whose text is nil', message({ type: 5, id: 'bad', error: null })],
];
