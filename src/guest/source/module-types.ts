import { Parser } from 'acorn';
import { stripTypes } from './strip-types.js';
import { loadTypeScriptPlugin } from './typescript.js';

let moduleParser: typeof Parser | undefined;

/** Strip the types of a TypeScript module, positions kept. Throws `SyntaxError` for what is none, or needs more than stripping. */
export function stripModuleTypes(code: string): string {
  moduleParser ??= Parser.extend(loadTypeScriptPlugin());
  const program = moduleParser.parse(code, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    preserveParens: true,
    locations: true,
  });
  const stripped = stripTypes(code, program);
  if (!stripped.ok) throw new SyntaxError(stripped.message);
  return stripped.code;
}
