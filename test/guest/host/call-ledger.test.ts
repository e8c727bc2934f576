import { describe, expect, it } from 'vitest';
import { CallLedger } from '../../../src/guest/host/call-ledger.js';
import {
  MAX_PENDING_INPUT_CHARS,
  MAX_PENDING_INPUT_VALUES,
  MAX_PENDING_TOOL_CALLS,
  MAX_REMEMBERED_CALL_IDS,
} from '../../../src/guest/limits.js';

const call = (callId: string, input?: unknown) => ({
  type: 'tool_call' as const,
  callId,
  providerName: 'p',
  safeToolName: 't',
  input,
});

describe('a ledger of calls', () => {
  it('refuses an id that is in flight or was answered', () => {
    const ledger = new CallLedger();
    expect(ledger.enter(call('a'))).toBeUndefined();
    expect(ledger.enter(call('a'))).toBe('callId a was used twice');
    ledger.close('a');
    expect(ledger.enter(call('a'))).toBe('callId a was used twice');
  });

  it('remembers the latest ids, and those in flight however old', () => {
    const ledger = new CallLedger();
    ledger.enter(call('open'));
    for (let n = 0; n <= MAX_REMEMBERED_CALL_IDS; n += 1) {
      ledger.enter(call(`call-${n}`));
      ledger.close(`call-${n}`);
    }
    expect(ledger.enter(call('open'))).toContain('used twice');
    expect(ledger.enter(call('call-1'))).toContain('used twice');
    expect(ledger.enter(call('call-0'))).toBeUndefined();
  });

  it('counts the calls in flight', () => {
    const ledger = new CallLedger();
    for (let n = 0; n < MAX_PENDING_TOOL_CALLS; n += 1) ledger.enter(call(String(n)));
    expect(ledger.enter(call('more'))).toContain('tool calls at once');
    ledger.close('0');
    expect(ledger.enter(call('more'))).toBeUndefined();
  });

  it('counts the characters of what is in flight, in strings and keys', () => {
    const ledger = new CallLedger();
    const half = 'x'.repeat(MAX_PENDING_INPUT_CHARS / 2);
    expect(ledger.enter(call('a', [half]))).toBeUndefined();
    expect(ledger.enter(call('b', { [half]: 1 }))).toBeUndefined();
    expect(ledger.enter(call('c', 'y'))).toContain('characters of tool input at once');
    ledger.close('a');
    expect(ledger.enter(call('c', 'y'))).toBeUndefined();
  });

  it('counts the values of what is in flight', () => {
    const ledger = new CallLedger();
    const quarter = Array(MAX_PENDING_INPUT_VALUES / 4 - 1).fill([]);
    for (const id of ['a', 'b', 'c', 'd']) expect(ledger.enter(call(id, quarter))).toBeUndefined();
    expect(ledger.enter(call('e', null))).toContain('values of tool input at once');
    ledger.close('d');
    expect(ledger.enter(call('e', null))).toBeUndefined();
  });

  it.each([
    [
      'a list that leads back to itself',
      () => {
        const list: unknown[] = [];
        list.push(list);
        return list;
      },
    ],
    ['a list without an end', () => new Array(2 ** 32 - 1)],
    ['bytes', () => new Uint8Array(MAX_PENDING_INPUT_CHARS + 1)],
  ])('refuses %s', (_, make) => {
    expect(new CallLedger().enter(call('a', make()))).toContain('of tool input at once');
  });
});
