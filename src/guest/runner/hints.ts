import { closestName, type ProviderManifest } from '../../capabilities/index.js';

/** How many names a hint lists. */
const MAX_LISTED = 20;

/** What a model often reaches for, and what to say about it. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ['fetch', 'There is no network here: call one of the tools instead.'],
  ['XMLHttpRequest', 'There is no network here: call one of the tools instead.'],
  ['WebSocket', 'There is no network here: call one of the tools instead.'],
  ['require', 'No module can be loaded here: use the built-in globals and the tools.'],
  ['module', 'No module can be loaded here: use the built-in globals and the tools.'],
  ['exports', 'No module can be loaded here: return the value instead.'],
  ['process', 'There is no process, environment or file system here.'],
  ['Buffer', 'Use Uint8Array, TextEncoder and TextDecoder instead.'],
  ['window', 'There is no page here; the global object is globalThis.'],
  ['document', 'There is no page here.'],
  ['global', 'The global object is globalThis.'],
  ['Deno', 'There is no host runtime here: use the built-in globals and the tools.'],
  ['Bun', 'There is no host runtime here: use the built-in globals and the tools.'],
]);

/** What is known when an error needs explaining. */
export interface HintContext {
  readonly providers: readonly ProviderManifest[];
  /** Looks up the names of the guest's globals. */
  readonly globals: () => readonly string[];
  /** The author's source, and the line that the error points to. */
  readonly code: string;
  readonly line: number | undefined;
}

/** Says what an author most likely meant, for an unknown global or tool. Empty where there is nothing to say. */
export function hintFor(name: string, message: string, context: HintContext): string {
  if (name === 'ReferenceError') {
    const wanted = /^'?([^\s']+)'? is not defined$/.exec(message)?.[1];
    return wanted === undefined ? '' : unknownGlobal(wanted, context);
  }
  return name === 'TypeError' && /not a function/.test(message) ? unknownTool(context) : '';
}

function unknownGlobal(wanted: string, { providers, globals }: HintContext): string {
  const absent = ABSENT.get(wanted);
  const namespaces = providers.map((provider) => provider.name);
  const owner = providers.find((provider) => Object.hasOwn(provider.tools, wanted));
  const closest = owner ? `${owner.name}.${wanted}` : closestName(wanted, [...namespaces, ...globals()]);
  const suggestion = absent ?? (closest === undefined ? '' : `Did you mean ${closest}?`);
  return join(suggestion, namespaces.length === 0 ? 'There are no tools.' : `Tools: ${listTools(providers)}.`);
}

/** The engine does not say what was no function, so the author's line is searched for a tool that does not exist. */
function unknownTool({ providers, code, line }: HintContext): string {
  const text = line === undefined ? code : (code.split('\n')[line - 1] ?? '');
  for (const provider of providers) {
    const calls = new RegExp(
      `(?<![\\w$.])${provider.name.replaceAll('$', '\\$')}\\s*\\??\\.\\s*([A-Za-z_$][\\w$]*)\\s*(?:\\?\\.)?\\(`,
      'g',
    );
    for (const [, wanted = ''] of text.matchAll(calls)) {
      if (Object.hasOwn(provider.tools, wanted)) continue;
      const names = Object.keys(provider.tools);
      const closest = closestName(wanted, names);
      const original = Object.values(provider.tools).find((tool) => tool.originalName === wanted)?.safeName;
      const meant = original ?? closest;
      return join(
        `${provider.name} has no tool ${wanted}.`,
        meant === undefined ? '' : `Did you mean ${provider.name}.${meant}?`,
        `Tools: ${listTools([provider])}.`,
      );
    }
  }
  return '';
}

function listTools(providers: readonly ProviderManifest[]): string {
  const all = providers.flatMap((provider) => Object.keys(provider.tools).map((tool) => `${provider.name}.${tool}`));
  const more = all.length > MAX_LISTED ? `, and ${all.length - MAX_LISTED} more` : '';
  return all.length === 0 ? 'none' : `${all.slice(0, MAX_LISTED).join(', ')}${more}`;
}

const join = (...parts: string[]): string => parts.filter((part) => part !== '').join(' ');
