export { stripModuleTypes } from './module-types.js';
export { type SourcePosition, sourceFrame } from './position.js';
export { type PreparedSource, type PrepareOptions, prepareSource, type SourceError } from './prepare.js';
export { GUEST_FILE, type MapStackOptions, mapStack } from './stack.js';
export { loadTypeScript } from './typescript.js';
export type { SourceOrigin } from './wrap.js';
