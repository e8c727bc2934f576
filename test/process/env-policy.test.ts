import { describe, expect, it } from 'vitest';
import { applyEnvPolicy, type EnvPolicy } from '../../src/process/env-policy.js';

const OWN = { PATH: '/bin', HOME: '/root', API_KEY: 'k', MY_TOKEN: 't', EDITOR: 'vi', A: '1' };
const NONE: EnvPolicy = { inherit: 'none', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
const apply = (policy: Partial<EnvPolicy>, env = {}) => ({ ...applyEnvPolicy({ ...NONE, ...policy }, OWN, env) });

describe('the environment policy', () => {
  it('inherits nothing, the core, or all but what looks like a secret', () => {
    expect(apply({})).toEqual({});
    expect(apply({ inherit: 'core' })).toEqual({ PATH: '/bin', HOME: '/root' });
    expect(apply({ inherit: 'all' })).toEqual({ PATH: '/bin', HOME: '/root', EDITOR: 'vi', A: '1' });
    expect(apply({ inherit: 'all', ignoreDefaultExcludes: true })).toEqual(OWN);
  });

  it('excludes by pattern in any case, sets, includes only, and lets the request have the last word', () => {
    expect(apply({ inherit: 'all', exclude: ['ed*r', '?'] })).toEqual({ PATH: '/bin', HOME: '/root' });
    expect(apply({ inherit: 'core', set: { X: '1', PATH: '/x' }, includeOnly: ['P*', 'x'] })).toEqual({
      PATH: '/x',
      X: '1',
    });
    expect(apply({ set: { X: '1' }, includeOnly: ['NOPE'] }, { X: '2' })).toEqual({ X: '2' });
  });

  it('is not confused by names such as __proto__, or slowed down by patterns of stars', () => {
    const env = JSON.parse('{"__proto__":"x","constructor":"y"}');
    expect(Object.keys(applyEnvPolicy(NONE, {}, env)).sort()).toEqual(['__proto__', 'constructor']);
    const own = { ['a'.repeat(1_000)]: '1' };
    expect(applyEnvPolicy({ ...NONE, inherit: 'all', exclude: [`${'*a'.repeat(500)}*b`] }, own, {})).toEqual(own);
  });
});
