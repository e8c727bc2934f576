import { describeProvider } from './declarations/describe-tools.js';
import type { ToolProvider } from './tools.js';

/** What a runner is told about one tool. */
export interface ToolManifest {
  readonly safeName: string;
  readonly originalName: string;
  readonly description?: string;
}

/** What a runner is told about one namespace: names and types, nothing that can be called. */
export interface ProviderManifest {
  readonly name: string;
  readonly tools: Readonly<Record<string, ToolManifest>>;
  readonly types: string;
}

const manifests = new WeakMap<ToolProvider, ProviderManifest>();

/** Makes the transport-safe description of a provider. Made once. */
export function toManifest(provider: ToolProvider): ProviderManifest {
  let manifest = manifests.get(provider);
  if (manifest === undefined) {
    manifest = makeManifest(provider);
    manifests.set(provider, manifest);
  }
  return manifest;
}

function makeManifest(provider: ToolProvider): ProviderManifest {
  const tools = Array.from(provider.tools.values(), ({ safeName, originalName, description }) => {
    const tool: ToolManifest = { safeName, originalName, ...(description !== undefined && { description }) };
    return [safeName, Object.freeze(tool)] as const;
  });
  // `fromEntries` defines own properties, so a tool called `__proto__` is a key like any other.
  return Object.freeze({
    name: provider.name,
    tools: Object.freeze(Object.fromEntries(tools)),
    types: describeProvider(provider),
  });
}
