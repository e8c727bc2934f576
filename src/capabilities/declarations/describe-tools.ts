import type { CompiledSchema } from '../schema.js';
import type { Tool, ToolProvider } from '../tools.js';
import { blockComment, docLines, inlineComment } from './doc-comment.js';
import { NamedTypes, pascalCase } from './named-types.js';
import { isInputOptional } from './optional-input.js';
import { renderType } from './render-type.js';
import { commentLines, indentRest } from './text.js';

const UNDESCRIBED = inlineComment(['the schema has no JSON Schema form']);
const rendered = new WeakMap<ToolProvider, string>();

/** Writes the TypeScript declarations that a model reads, one namespace per provider. */
export function describeTools(providers: Iterable<ToolProvider>): string {
  return Array.from(providers, describeProvider).join('\n');
}

/** Writes the declarations of one provider. Rendered once. */
export function describeProvider(provider: ToolProvider): string {
  let text = rendered.get(provider);
  if (text === undefined) {
    text = renderProvider(provider);
    rendered.set(provider, text);
  }
  return text;
}

function renderProvider(provider: ToolProvider): string {
  const types = new NamedTypes();
  const functions = Array.from(provider.tools.values(), (tool) => renderTool(tool, types));
  const members = [...types.declarations, ...functions].map((member) => `  ${indentRest(member)}\n`);
  return `declare namespace ${provider.name} {\n${members.join('')}}\n`;
}

function renderTool(tool: Tool, types: NamedTypes): string {
  const doc = tool.description === undefined ? [] : commentLines(tool.description.trim());
  const output = tool.output === undefined ? 'unknown' : renderSide(tool, tool.output, 'output', types);
  return `${blockComment(doc)}function ${tool.safeName}(${renderParameter(tool, types)}): Promise<${output}>;`;
}

function renderParameter(tool: Tool, types: NamedTypes): string {
  if (tool.input === undefined) return 'input?: unknown';
  const described = tool.input.toJsonSchema('input');
  const mark = isInputOptional(tool.input, described) ? '?' : '';
  return `${inlineComment(docLines(described))}input${mark}: ${renderSide(tool, tool.input, 'input', types)}`;
}

function renderSide(tool: Tool, schema: CompiledSchema, side: 'input' | 'output', types: NamedTypes): string {
  const described = schema.toJsonSchema(side);
  if (described === undefined) return `${UNDESCRIBED}unknown`;
  return renderType(described, types.open(described, `${pascalCase(tool.safeName)}-${side}`));
}
