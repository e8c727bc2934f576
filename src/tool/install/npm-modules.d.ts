// The parts of npm's own modules that are used here; they come without types.
declare module '@npmcli/arborist' {
  export interface ArboristNode {
    readonly name: string;
    readonly packageName: string | null;
    readonly version: string;
    readonly path: string;
    readonly resolved: string | null;
    readonly integrity: string | null;
    readonly isRoot: boolean;
    readonly isProjectRoot: boolean;
    readonly isLink: boolean;
    readonly inBundle: boolean;
    readonly optional: boolean;
    readonly hasInstallScript: boolean;
    readonly inert: boolean;
  }
  export interface ArboristTree {
    readonly inventory: { values(): IterableIterator<ArboristNode> };
  }
  export default class Arborist {
    constructor(options: Readonly<Record<string, unknown>>);
    buildIdealTree(): Promise<ArboristTree>;
  }
}

declare module 'pacote' {
  export interface Manifest {
    readonly name: string;
    readonly version: string;
    readonly dist?: { readonly integrity?: string };
    readonly _integrity?: string;
    readonly [field: string]: unknown;
  }
  export interface TarballStream {
    on(event: 'error', listener: (error: unknown) => void): this;
    on(event: 'data', listener: (chunk: Buffer) => void): this;
    on(event: 'end', listener: () => void): this;
    pause(): void;
    resume(): void;
    destroy?(error?: unknown): void;
  }
  type Options = Readonly<Record<string, unknown>>;
  const pacote: {
    manifest(spec: string, options: Options): Promise<Manifest>;
    readonly tarball: {
      stream<T>(spec: string, handler: (stream: TarballStream) => Promise<T>, options: Options): Promise<T>;
    };
  };
  export default pacote;
}

declare module '@npmcli/config' {
  export default class Config {
    constructor(options: Readonly<Record<string, unknown>>);
    load(): Promise<void>;
    readonly flat: Readonly<Record<string, unknown>>;
  }
}

declare module '@npmcli/config/lib/definitions/index.js' {
  const definitions: {
    readonly definitions: unknown;
    readonly shorthands: unknown;
    readonly flatten: unknown;
    readonly nerfDarts: unknown;
  };
  export default definitions;
}

declare module 'validate-npm-package-name' {
  export default function validate(name: string): {
    readonly validForNewPackages: boolean;
    readonly errors?: readonly string[];
    readonly warnings?: readonly string[];
  };
}

declare module 'semver' {
  const semver: {
    valid(version: string): string | null;
    validRange(range: string): string | null;
    satisfies(version: string, range: string, options?: { readonly includePrerelease?: boolean }): boolean;
  };
  export default semver;
}
