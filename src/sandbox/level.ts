import type { Command } from './request.js';

/** A limit that was hit, as the trusted side saw it. */
export type LimitHit = 'memory' | 'processes' | 'cpu' | 'output';

/** What a level knows of a child that has ended. */
export interface Aftermath {
  readonly limit?: LimitHit;
  readonly cpuMs?: number;
  readonly maxRssBytes?: number;
}

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
  /**
   * Open handles of this process that the program finds from `3 + extraPipes` on, in this order. They are the level's
   * business with the tool that it executes, which closes them before the command runs. Closed here after the start.
   */
  readonly handles?: readonly number[];
  /**
   * What the leader is: the command itself unless said otherwise, or a supervisor that dies of polite signals and takes
   * the command along. Those are sent past a supervisor.
   */
  readonly leader?: 'supervisor';
  /** Who makes the terminal the controlling one of its session: the launcher unless said otherwise, or what the level put in front of the command. */
  readonly controllingTerminal?: 'level';
  /** Looks, when the leader has ended, which limit was hit and what was used. */
  readonly inspect?: (ending: { readonly exitCode: number | null }) => Aftermath;
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
  wrap(command: Command): Invocation | Promise<Invocation>;
}
