import type { Command } from './request.js';

export type Availability = { readonly available: true } | { readonly available: false; readonly reason: string };

/** What is really executed for a command. */
export interface Invocation {
  /** The absolute path of the program to execute. */
  readonly file: string;
  /** What it finds in its argv[0]. */
  readonly argv0: string;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly cwd: string;
  /** Gives back what the level set up for this one child (scratch folders, control groups), after its tree was ended. */
  readonly dispose?: () => void | Promise<void>;
}

/**
 * One way to confine a child: the seam behind which every level lives. The spawner knows no level by name; it looks
 * them up in the map it was given.
 */
export interface IsolationLevel {
  readonly name: string;
  /** Tells whether this machine can enforce it. Asked once per spawner. */
  probe(): Promise<Availability>;
  /** Turns a checked command into what is executed. Throws a SallyportError when the command cannot run. */
  wrap(command: Command): Invocation;
}
