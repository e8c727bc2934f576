import { describe, expect, it } from 'vitest';
import { Gate } from '../../src/wire/gate.js';

describe('a gate', () => {
  it('gives all who wait one promise, and lets them go together', async () => {
    const gate = new Gate();
    const first = gate.wait();
    expect(gate.wait()).toBe(first);
    expect(gate.shut).toBe(true);
    gate.open();
    expect(gate.shut).toBe(false);
    await first;
  });

  it('keeps whoever comes after an opening for the next one', async () => {
    const gate = new Gate();
    gate.open();
    let passed = false;
    const waiting = gate.wait().then(() => {
      passed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(passed).toBe(false);
    gate.open();
    await waiting;
    expect(passed).toBe(true);
  });
});
