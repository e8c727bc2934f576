import { describe, expect, it, onTestFinished } from 'vitest';
import { describeTarget, runSuite, type Target } from '../../../src/conformance/index.js';
import { freePort } from '../free-port.js';
import { describeFlaws } from '../harness.js';
import { startFlawed } from '../start.js';

const PROGRAM = new URL('./program.mjs', import.meta.url);

const checks = (...ids: readonly string[]): string[] => ids.map((id) => `executor.${id}`);
const because = (reason: string, ...ids: readonly string[]): Record<string, string> =>
  Object.fromEntries(ids.map((id) => [`executor.${id}`, reason]));

describeFlaws({
  suite: 'executor',
  start: async (flaw) => {
    // Each has a registry of its own: one of the checks counts what was fetched.
    const port = await freePort();
    const started = await startFlawed(PROGRAM, flaw, {
      token: 'a key',
      args: ['--registry', `http://127.0.0.1:${port}/`],
    });
    return { ...started, settings: { 'registry-port': String(port) } };
  },
  limitMs: 20_000,
  jobs: 4,
  together: true,
  flaws: [
    {
      name: 'status-healthy',
      caughtBy: checks('health.ok'),
      also: because('it is the same answer', 'extended.api-health'),
    },
    { name: 'no-protocol-version', caughtBy: checks('health.protocol-version', 'info.same-version') },
    { name: 'seconds', caughtBy: checks('health.optional-fields') },
    { name: 'no-time', caughtBy: checks('execute.success', 'execute.failed-time') },
    {
      name: 'tool-errors-500',
      caughtBy: checks('execute.tool-error'),
      also: because(
        'its tool fails',
        'execute.odd-error',
        'execute.broken-package',
        'execute.cyclic',
        'isolation.exit',
      ),
    },
    {
      name: 'missing-404',
      caughtBy: checks('execute.package-not-found', 'execute.version-not-found'),
      also: because('npm finds none of its names', 'request.no-package-name'),
    },
    { name: 'newest-version', caughtBy: checks('execute.latest') },
    {
      name: 'no-versions',
      caughtBy: checks('execute.exact-version', 'execute.tag-and-range', 'execute.version-not-found'),
    },
    { name: 'no-env', caughtBy: checks('execute.env') },
    { name: 'keeps-env', caughtBy: checks('execute.env-stays') },
    { name: 'no-null', caughtBy: checks('execute.no-output') },
    { name: 'inherited-names', caughtBy: checks('execute.inherited-names') },
    { name: 'any-default', caughtBy: checks('resolution.wrong-name') },
    { name: 'no-factories', caughtBy: checks('resolution.factory', 'resolution.async-factory') },
    { name: 'calls-functions', caughtBy: checks('resolution.function-with-execute') },
    { name: 'malformed-500', caughtBy: checks('request.malformed', 'request.empty') },
    { name: 'any-name', caughtBy: checks('request.no-name') },
    { name: 'any-types', caughtBy: checks('request.version-type', 'request.params-type', 'request.env-type') },
    {
      name: 'bare-errors',
      caughtBy: checks('request.malformed', 'request.unknown-endpoint', 'auth.missing'),
      also: because(
        'its error has no structure',
        ...['empty', 'no-object', 'no-package', 'no-name', 'package-type', 'version-type', 'params-type'].map(
          (name) => `request.${name}`,
        ),
        'request.env-type',
        'request.wrong-method',
        'auth.wrong',
        'auth.before-body',
      ),
    },
    { name: 'any-size', caughtBy: checks('request.too-large') },
    { name: 'no-cors-on-errors', caughtBy: checks('cors.bad-request', 'cors.not-found', 'auth.cors') },
    { name: 'no-version-header', caughtBy: checks('cors.preflight-health', 'cors.preflight-execute') },
    {
      name: 'preflight-204',
      caughtBy: checks('cors.preflight-health', 'cors.preflight-execute', 'info.preflight'),
    },
    {
      name: 'preflight-needs-key',
      caughtBy: checks('cors.preflight-health', 'cors.preflight-execute', 'info.preflight'),
    },
    { name: 'no-time-limit', caughtBy: checks('info.capabilities') },
    { name: 'sandboxed', caughtBy: checks('info.isolation') },
    { name: 'two-versions', caughtBy: checks('info.same-version') },
    { name: 'any-key', caughtBy: checks('auth.wrong') },
    { name: 'key-if-given', caughtBy: checks('auth.missing', 'auth.before-body') },
    { name: 'blocks', caughtBy: checks('health.while-busy') },
    { name: 'key-403', caughtBy: checks('auth.missing', 'auth.wrong', 'auth.before-body') },
    { name: 'body-first', caughtBy: checks('auth.before-body') },
    { name: 'wrong-timeout-code', caughtBy: checks('timeouts.never', 'timeouts.busy') },
    { name: 'half-a-minute', caughtBy: checks('timeouts.minimum') },
    { name: 'keeps-files', caughtBy: checks('cleanup.files') },
    { name: 'keeps-processes', caughtBy: checks('cleanup.processes', 'timeouts.cleanup') },
    { name: 'exit-is-success', caughtBy: checks('isolation.exit') },
    { name: 'own-environment', caughtBy: checks('isolation.own-key') },
    { name: 'result-from-output', caughtBy: checks('isolation.prints') },
    { name: 'no-cache', caughtBy: checks('extended.caching') },
    { name: 'no-api-routes', caughtBy: checks('extended.api-health', 'extended.api-execute') },
  ],
});

describe('an executor that needs no key', () => {
  const statuses = async (tokenFrom: { readonly tokenFrom?: 'environment' }) => {
    const { target, stop } = await startFlawed(PROGRAM, undefined, { args: ['--registry', 'http://127.0.0.1:9/'] });
    onTestFinished(async () => stop?.());
    const keyed: Target = { kind: 'url', url: describeTarget(target), token: 'a key', ...tokenFrom };
    const { outcomes } = await runSuite('executor', keyed, { only: ['executor.auth'] });
    return Object.fromEntries(outcomes.map(({ check, verdict }) => [check.id, verdict.status]));
  };

  it('is not judged by a key that was only found in the environment', async () => {
    expect(await statuses({ tokenFrom: 'environment' })).toMatchObject({
      'executor.auth.missing': 'skipped',
      'executor.auth.wrong': 'skipped',
      'executor.auth.right': 'passed',
    });
  });

  it('fails by a key that was named', async () => {
    expect(await statuses({})).toMatchObject({ 'executor.auth.missing': 'failed', 'executor.auth.wrong': 'failed' });
  });
});
