import type { ToolRequest } from './session.js';

/*
 * Tools of the public registry, for targets that cannot use the packages of the suite. They need neither network nor keys, and
 * their versions are fixed, so that it is known what they answer.
 */

/** Renders a template with data. */
export const rendering = (template: string, data: object): ToolRequest => ({
  packageName: '@tpmjs/tools-template-render',
  version: '0.1.0',
  name: 'templateRenderTool',
  params: { template, data },
});

export const GREETING = rendering('Hi {{name}}', { name: 'Bo' });
export const GREETED = { rendered: 'Hi Bo', variablesUsed: ['name'], unusedVariables: [] };

/** Fails when its template is read, with what is wrong: its params are as its schema wants them. */
export const UNCLOSED = rendering('{{#open}}', {});
export const UNCLOSED_SAYS = 'Unclosed section';

/** A function that has `execute`; called itself it would return something else. */
export const FUNCTION: ToolRequest = {
  packageName: '@agentic/core',
  version: '8.4.4',
  name: 'echoAIFunction',
  params: { query: 'é😀' },
};
export const FUNCTION_ANSWERS = 'é😀';

/** A function that makes a tool, in a package without a scope. */
export const FACTORY: ToolRequest = {
  packageName: 'bashkit',
  version: '0.7.1',
  name: 'createExitPlanModeTool',
  params: { plan: 'x' },
};
export const FACTORY_ANSWERS = { message: 'Plan submitted for review' };

/** An export that is a text. */
export const NO_TOOL: ToolRequest = { packageName: 'semver', version: '7.6.3', name: 'SEMVER_SPEC_VERSION' };
