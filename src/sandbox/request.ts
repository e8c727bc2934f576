import { isAbsolute } from 'node:path';
import { SallyportError } from '../errors/index.js';
import type { PolicyRequest } from './container/policy.js';
import type { ProxyDecision } from './container/proxy/gate.js';
import { EXEC_STRING_BYTES, EXEC_TOTAL_BYTES, EXTRA_PIPES_MAX, TERMINAL_SIDE_MAX } from './limits.js';
import type { Priority } from './priority.js';
import { spawnFailed } from './resolve-program.js';

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

/** What a child may use. Everything is unlimited unless named. */
export interface SpawnLimits {
  /** Wall-clock time. Then the child is ended, politely first. */
  readonly timeoutMs?: number;
  /** How long the polite signal may take, at a timeout. */
  readonly killGraceMs?: number;
  /** Bytes that it may write to all its outputs together. Then it is ended at once. */
  readonly outputBytes?: number;
  /** The rest are limits of the kernel, per process. They cost one more exec, of `prlimit`. */
  readonly cpuSeconds?: number;
  readonly fileSizeBytes?: number;
  readonly openFiles?: number;
  readonly processes?: number;
  readonly addressSpaceBytes?: number;
  /** Private memory that can be written to. Unlike the address space it leaves out what is only reserved, as engines do by the gigabyte. */
  readonly dataBytes?: number;
}

/** Standard input of a child with pipes, and how many two-way pipes it gets from handle 3 on. */
export interface PipeStdio {
  readonly kind: 'pipes';
  readonly stdin: 'null' | 'pipe';
  readonly extraPipes?: number;
}

/** One terminal for all three standard handles. */
export interface TerminalStdio extends TerminalSize {
  readonly kind: 'terminal';
}

export interface SpawnRequest {
  /** The program and its arguments. No shell ever sees them. */
  readonly argv: readonly string[];
  /** What the program is told its name is. Which program runs stays the same. */
  readonly arg0?: string;
  /** Exactly the child's environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly cwd: string;
  readonly stdio: PipeStdio | TerminalStdio;
  readonly limits?: SpawnLimits;
  /** What of the level's own policy this call needs. It can only ask for less; a level that confines nothing refuses it. */
  readonly policy?: PolicyRequest;
  /** Hears of every connection of this child that a level with a network of its own allowed or refused. */
  readonly onNetworkDecision?: (decision: ProxyDecision) => void;
  /** Whether it stands back when others want the processor. `normal` unless told otherwise. */
  readonly priority?: Priority;
  /** The name of an isolation level, such as `process`. */
  readonly level: string;
}

/** The part of a request that an isolation level sees, checked. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly arg0: string | undefined;
  readonly env: ReadonlyMap<string, string>;
  readonly cwd: string;
  readonly limits: SpawnLimits;
  readonly policy: PolicyRequest | undefined;
  readonly onNetworkDecision: ((decision: ProxyDecision) => void) | undefined;
  readonly stdio: PipeStdio | TerminalStdio;
}

function invalid(field: string, problem: string): SallyportError {
  return new SallyportError('SPAWN_INVALID', `${field} ${problem}`, { field });
}

function checkString(field: string, value: string): number {
  if (typeof value !== 'string') throw invalid(field, `must be a string, not ${typeof value}`);
  if (value.includes('\0')) throw invalid(field, 'must not contain a NUL character');
  return Buffer.byteLength(value) + 1;
}

/** Checks that a size fits the kernel. Throws SPAWN_INVALID. */
export function checkTerminalSize(size: TerminalSize): void {
  for (const field of ['rows', 'cols'] as const) {
    const value = size[field];
    if (!Number.isInteger(value) || value < 1 || value > TERMINAL_SIDE_MAX) {
      throw invalid(field, `must be a whole number from 1 to ${TERMINAL_SIDE_MAX}, not ${value}`);
    }
  }
}

function checkLimits(limits: SpawnLimits): void {
  for (const [field, value] of Object.entries(limits)) {
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 0) {
      throw invalid(`limits.${field}`, `must be a whole number of at least 0, not ${value}`);
    }
  }
}

/** Checks a request and returns what of it a level sees. Throws SPAWN_INVALID, or SPAWN_FAILED with E2BIG. */
export function checkRequest(request: SpawnRequest): Command {
  const [program, ...args] = request.argv;
  if (program === undefined) throw invalid('argv', 'must not be empty');
  const pointer = 8;
  let total = 0;
  let longest = 0;
  const charge = (bytes: number): void => {
    total += bytes + pointer;
    if (bytes > longest) longest = bytes;
  };
  request.argv.forEach((value, index) => {
    charge(checkString(`argv[${index}]`, value));
  });
  if (request.arg0 !== undefined) charge(checkString('arg0', request.arg0));
  const env = new Map<string, string>();
  for (const [name, value] of Object.entries(request.env)) {
    const shown = `env[${JSON.stringify(name)}]`;
    if (name === '' || name.includes('=')) throw invalid(shown, 'must have a name without "="');
    charge(checkString(shown, name) + checkString(shown, value));
    env.set(name, value);
  }
  checkString('cwd', request.cwd);
  if (!isAbsolute(request.cwd)) throw invalid('cwd', `must be an absolute path, not ${JSON.stringify(request.cwd)}`);
  if (longest > EXEC_STRING_BYTES || total > EXEC_TOTAL_BYTES)
    throw spawnFailed(JSON.stringify(program.slice(0, 80)), 'E2BIG');
  if (request.stdio.kind === 'terminal') checkTerminalSize(request.stdio);
  else {
    const count = request.stdio.extraPipes ?? 0;
    if (!Number.isInteger(count) || count < 0 || count > EXTRA_PIPES_MAX) {
      throw invalid('stdio.extraPipes', `must be a whole number from 0 to ${EXTRA_PIPES_MAX}, not ${count}`);
    }
  }
  const limits = request.limits ?? {};
  checkLimits(limits);
  const { arg0, cwd, stdio, policy, onNetworkDecision } = request;
  return { argv: [program, ...args], arg0, env, cwd, limits, policy, onNetworkDecision, stdio };
}
