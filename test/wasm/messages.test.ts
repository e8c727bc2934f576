import { describe, expect, it } from 'vitest';
import {
  checkMessage,
  functionCall,
  functionError,
  functionResponse,
  notification,
  streamChunk,
  streamEnd,
  streamError,
} from '../../src/wasm/messages.js';
import { decodeMessagePack, encodeFrame, type WireValue } from '../../src/wire/index.js';

const hex = (message: unknown): string => Buffer.from(encodeFrame(message)).toString('hex');
const problem = (value: WireValue): string => {
  const checked = checkMessage(value);
  return checked.ok ? 'ok' : checked.problem;
};

describe('messages that go out', () => {
  it('are the very bytes that the published client sends', () => {
    expect(hex(functionCall('0', 'add', [1, 2]))).toBe(
      '010000002784ac66756e6374696f6e4e616d65a3616464a26964a130a47479706500a6706172616d73920102',
    );
    expect(hex(functionResponse('0', 3))).toBe('010000001483a26964a130a47479706501a6726573756c7403');
    expect(hex(functionResponse('0', undefined))).toBe('010000000c82a26964a130a47479706501');
    expect(hex(functionError('1', 'Division by zero'))).toBe(
      '010000002383a56572726f72b04469766973696f6e206279207a65726fa26964a131a47479706502',
    );
  });

  it('leave out what is absent, and keep null', () => {
    expect(functionCall('c0', 'f', undefined)).not.toHaveProperty('params');
    expect(functionCall('c0', 'f', null)).toHaveProperty('params', null);
    expect(functionResponse('c0', null)).toHaveProperty('result', null);
    expect(notification('c0', 'f', undefined)).toEqual({
      type: 0,
      id: 'c0',
      functionName: 'f',
      expectsResponse: false,
    });
    expect(streamChunk('s0', undefined)).toEqual({ type: 3, id: 's0', chunk: null });
  });

  it('all fit the schema', () => {
    const all = [
      functionCall('a', 'f', { x: 1 }),
      notification('a', 'f', 1),
      functionResponse('a', 1),
      functionError('a', 'e'),
      streamChunk('a', 1),
      streamEnd('a'),
      streamError('a', 'e'),
    ];
    for (const message of all) expect(checkMessage(decodeMessagePack(encodeFrame(message).subarray(5))).ok).toBe(true);
  });
});

describe('messages that come in', () => {
  it.each<[string, WireValue, string]>([
    ['no map', [1], 'not a map'],
    ['binary', new Uint8Array(3), 'not a map'],
    ['nil', null, 'not a map'],
    ['no id', { type: 1 }, '`id` is missing'],
    ['an id that is a number', { type: 1, id: 1 }, '`id` is the number 1'],
    ['an empty id', { type: 1, id: '' }, '0 characters'],
    ['an id of a megabyte', { type: 1, id: 'a'.repeat(1_000_000) }, '1000000 characters'],
    ['no type', { id: 'a' }, '`type` is missing'],
    ['a type as text', { id: 'a', type: '0' }, '`type` is a string'],
    ['a type as boolean', { id: 'a', type: true }, '`type` is a boolean'],
    ['type 6', { id: 'a', type: 6 }, 'the number 6'],
    ['type -1', { id: 'a', type: -1 }, 'the number -1'],
    ['type 1.5', { id: 'a', type: 1.5 }, 'the number 1.5'],
    ['a call without a name', { id: 'a', type: 0 }, '`functionName` is missing'],
    ['a name that is a map', { id: 'a', type: 0, functionName: {} }, '`functionName` is a map'],
    [
      'an expectsResponse of nil',
      { id: 'a', type: 0, functionName: 'f', expectsResponse: null },
      '`expectsResponse` is nil',
    ],
    ['an error without text', { id: 'a', type: 2 }, '`error` is missing'],
    ['a stream error with an array', { id: 'a', type: 5, error: [] }, '`error` is an array'],
    ['a chunk without a chunk', { id: 'a', type: 3 }, 'no `chunk`'],
  ])('are refused with %s', (_name, value, expected) => {
    expect(problem(value)).toContain(expected);
  });

  it('may have their type as an integral float, any width of integer, and fields nobody asked for', () => {
    const floatType = Buffer.from('82a26964a130a474797065cb3ff0000000000000', 'hex');
    const wideType = Buffer.from('82a26964a130a474797065d30000000000000001', 'hex');
    expect(checkMessage(decodeMessagePack(floatType))).toMatchObject({ ok: true, message: { type: 1, id: '0' } });
    expect(checkMessage(decodeMessagePack(wideType))).toMatchObject({ ok: true, message: { type: 1, id: '0' } });
    expect(checkMessage({ type: 4, id: 'x', error: 7, functionName: 1 }).ok).toBe(true);
  });

  it('tell nil from absent', () => {
    expect(checkMessage({ type: 3, id: 'x', chunk: null }).ok).toBe(true);
    expect(checkMessage({ type: 1, id: 'x', result: null })).toMatchObject({ message: { result: null } });
  });
});
