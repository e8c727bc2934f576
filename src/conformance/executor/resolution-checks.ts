import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { COMMONJS, DEFAULT_OBJECT, DEFAULT_TOOL, IMPORT_ONLY, TOOLS } from './registry/packages.js';
import { type ExecutorSession, expectFailure } from './session.js';

const group = 'Core';

interface Found {
  readonly name: string;
  readonly title: string;
  readonly level: 'MUST' | 'SHOULD';
  readonly cites: readonly string[];
  readonly tool: string;
  readonly packageName?: string;
  readonly output: unknown;
}

const FOUND: readonly Found[] = [
  {
    name: 'named',
    title: 'A named export is found, and execute has it as this',
    level: 'MUST',
    cites: ['tpmjs.resolution.named', 'tpmjs.resolution.execute'],
    tool: 'self',
    output: 'mine',
  },
  {
    name: 'default-property',
    title: 'A property of the default export is found',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.default-property'],
    tool: 'inside',
    packageName: DEFAULT_OBJECT,
    output: 'inside the default export',
  },
  {
    name: 'default',
    title: 'The default export itself is found under its name',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.default'],
    tool: 'onlyTool',
    packageName: DEFAULT_TOOL,
    output: 'the default export',
  },
  {
    name: 'function-with-execute',
    title: 'A function that has execute is a tool, and is not called itself',
    level: 'MUST',
    cites: ['tpmjs.resolution.execute', 'tpmjs.resolution.factory'],
    tool: 'functionTool',
    output: 'right',
  },
  {
    name: 'factory',
    title: 'A function without execute is called without arguments, and makes the tool',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.factory'],
    tool: 'factory',
    output: { made: { a: 1 } },
  },
  {
    name: 'async-factory',
    title: 'A function that makes the tool later is waited for',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.factory'],
    tool: 'asyncFactory',
    output: 'made later',
  },
  {
    name: 'commonjs',
    title: 'An export of a CommonJS package is found',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.named'],
    tool: 'old',
    packageName: COMMONJS,
    output: 'from CommonJS',
  },
  {
    name: 'import-only',
    title: 'An export of a package that can only be imported is found',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.named'],
    tool: 'modern',
    packageName: IMPORT_ONLY,
    output: 'from import',
  },
];

/** How an export becomes a tool. */
export const RESOLUTION_CHECKS: readonly Check<ExecutorSession>[] = [
  ...FOUND.map(
    ({ name, title, level, cites, tool, packageName = TOOLS, output }): Check<ExecutorSession> => ({
      id: `executor.resolution.${name}`,
      title,
      level,
      group,
      cites,
      async run(session) {
        expectEqual(await session.output(tool, { packageName, params: { a: 1 } }), output, 'the output');
      },
    }),
  ),
  {
    id: 'executor.resolution.wrong-name',
    title: 'A wrong name never runs another tool of the package',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.resolution.default', 'tpmjs.codes.tool-not-found'],
    async run(session) {
      for (const packageName of [DEFAULT_TOOL, DEFAULT_OBJECT, COMMONJS]) {
        expectFailure(await session.tool('anotherTool', { packageName }), 'TOOL_NOT_FOUND');
      }
    },
  },
];
