import type { Parts } from '../parts.js';

/** What `/info` says about the machine: what was asked for, how limits hold, and why it is not more. */
export function confinementOf({ isolation: { asked, limits, shortfall } }: Parts): unknown {
  return { asked, ...(limits === undefined ? {} : { limits }), ...(shortfall === undefined ? {} : { shortfall }) };
}

/** What `/info` says about all boundaries. */
export function boundariesOf({ isolation, modules, providers }: Parts): unknown {
  const entry = (kind: 'guest' | 'wasm' | 'tool' | 'process') => ({
    isolation: isolation.levels[kind],
    confinedBy: isolation.enforced[kind],
  });
  return {
    guest: { ...entry('guest'), paths: ['POST /run', 'WS /guest'], tools: providers.map(({ name }) => name) },
    wasm: { ...entry('wasm'), paths: ['POST /wasm/<module>/<function>', 'WS /wasm/<module>'], modules: modules.names },
    tool: { ...entry('tool'), paths: ['POST /execute-tool'] },
    process: { ...entry('process'), paths: ['WS /exec'] },
  };
}
