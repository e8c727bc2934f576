import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createExecutor, type ExecuteResult, type Executor } from '../../dist/guest/index.js';
import { ESCAPES, FLOODS, OWN, TOOLS } from './guest-attacks.js';

const shown = (result: ExecuteResult): string => (result.ok ? 'ok' : result.error.code);

for (const isolation of ['inline', 'thread', 'process'] as const) {
  describe(`attacks on a guest with isolation ${isolation}`, () => {
    let executor: Executor;
    beforeAll(async () => {
      executor = createExecutor({ isolation, size: 1, limits: { timeoutMs: 8_000 } });
      await executor.prewarm();
    });
    afterAll(() => executor.dispose());

    // What floods the caller's own thread is no attack but a choice, and the same engine is flooded below.
    for (const attack of isolation === 'inline' ? [...ESCAPES, ...OWN] : [...ESCAPES, ...FLOODS, ...OWN]) {
      it(`${attack.id} ${attack.what}`, async () => {
        const before = Object.getOwnPropertyNames(globalThis).length;
        const result = await executor.execute(attack.code, attack.tools ?? TOOLS, attack.options);
        if ('codes' in attack.expected) expect(attack.expected.codes).toContain(shown(result));
        else expect(result).toMatchObject({ ok: true, result: attack.expected.result });
        expect(JSON.stringify(result)).not.toMatch(/node_modules|\/dist\/|\/src\//);

        // The host is unharmed, and the next guest finds a world of its own.
        expect(Reflect.ownKeys(Object.prototype)).not.toContain('polluted');
        expect(Object.getOwnPropertyNames(globalThis)).toHaveLength(before);
        expect(process.exitCode).toBeUndefined();
        const next = await executor.execute(
          '[typeof left, await tools.echo(2), Object.keys(globalThis).join()]',
          TOOLS,
        );
        expect(next).toMatchObject({ ok: true, result: ['undefined', 2, 'tools'] });
      });
    }
  });
}
