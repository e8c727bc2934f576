import type { Isolation } from '../server/index.js';
import { implementationVersion } from '../tool/version.js';

export interface BannerFacts {
  readonly url: string;
  readonly isolation: Isolation;
  readonly key: 'needed' | 'not needed';
  readonly modules: readonly string[];
}

/** What a person sees at the start: where it is, what confines what, and what to try. */
export function banner({ url, isolation, key, modules }: BannerFacts): string {
  const { levels, enforced, shortfall } = isolation;
  const boundaries = (['guest', 'wasm', 'tool', 'process'] as const).map(
    (kind) => `  ${kind.padEnd(8)} ${levels[kind].padEnd(10)} ${enforced[kind]}`,
  );
  const auth = key === 'needed' ? ` -H "Authorization: Bearer $EXECUTOR_API_KEY"` : '';
  return [
    `Sallyport ${implementationVersion()} listens on ${url}`,
    '',
    ...boundaries,
    ...(shortfall === undefined ? [] : [`  weaker   ${shortfall}`]),
    `  key      ${key === 'needed' ? 'needed: Authorization: Bearer …' : 'not needed: only this machine is served'}`,
    ...(modules.length === 0 ? [] : [`  modules  ${modules.join(', ')}`]),
    '',
    key === 'needed' ? 'Try (with EXECUTOR_API_KEY set in your shell):' : 'Try:',
    `  curl -s ${url}/health`,
    `  curl -s ${url}/run${auth} -H 'content-type: application/json' -d '{"code":"return 6 * 7"}'`,
    `  curl -s ${url}/executions${auth}`,
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}
