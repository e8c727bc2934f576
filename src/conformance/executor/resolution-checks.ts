import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { FACTORY, FACTORY_ANSWERS, FUNCTION, FUNCTION_ANSWERS, GREETED, GREETING } from './public-tools.js';
import { COMMONJS, DEFAULT_OBJECT, DEFAULT_TOOL, IMPORT_ONLY, TOOLS } from './registry/packages.js';
import { type ExecutorSession, expectFailure, outputOf, type ToolRequest } from './session.js';

const group = 'Core';

interface Found {
  readonly name: string;
  readonly title: string;
  readonly level: 'MUST' | 'SHOULD';
  readonly cites: readonly string[];
  readonly tool: string;
  readonly packageName?: string;
  readonly output: unknown;
  /** The same with a tool of the public registry, where there is one. */
  readonly open?: { readonly request: ToolRequest; readonly output: unknown };
}

const FOUND: readonly Found[] = [
  {
    name: 'named',
    title: 'A named export is found, and execute has it as this',
    level: 'MUST',
    cites: ['tpmjs.resolution.named', 'tpmjs.resolution.execute'],
    tool: 'self',
    output: 'mine',
    open: { request: GREETING, output: GREETED },
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
    open: { request: FUNCTION, output: FUNCTION_ANSWERS },
  },
  {
    name: 'factory',
    title: 'A function without execute is called without arguments, and makes the tool',
    level: 'SHOULD',
    cites: ['tpmjs.resolution.factory'],
    tool: 'factory',
    output: { made: { a: 1 } },
    open: { request: FACTORY, output: FACTORY_ANSWERS },
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
    ({ name, title, level, cites, tool, packageName = TOOLS, output, open }): Check<ExecutorSession> => ({
      id: `executor.resolution.${name}`,
      title,
      level,
      group,
      cites,
      async run(session) {
        const own = { request: { packageName, name: tool, params: { a: 1 } }, output };
        if (open === undefined) session.registry();
        const asked = session.choose(own, open ?? own);
        expectEqual(outputOf(await session.post(asked.request)), asked.output, 'the output');
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
      const ofTheSuite = [DEFAULT_TOOL, DEFAULT_OBJECT, COMMONJS].map((packageName): ToolRequest => ({ packageName }));
      // It has a tool as its default export as well.
      for (const request of session.choose(ofTheSuite, [GREETING])) {
        expectFailure(await session.post({ ...request, name: 'anotherTool' }), 'TOOL_NOT_FOUND');
      }
    },
  },
];
