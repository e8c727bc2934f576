import { type ErrorCode, type ErrorFacts, isSallyportError, SallyportError } from '../../errors/index.js';
import type { ExitStatus } from '../../sandbox/index.js';
import { type CloseReason, printable } from '../../wire/index.js';
import type { RuntimeFailure } from '../runtime/runtime.js';

/** Why a guest ended, before its exit is known. */
export interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly facts: ErrorFacts;
  readonly cause?: Error;
}

/** What is known once it is gone. */
export interface Remains {
  readonly status: ExitStatus;
  readonly stderr: string;
  readonly failure: RuntimeFailure | undefined;
  /** Whether the host killed it. */
  readonly killed: boolean;
  /** Frames that it sent. */
  readonly frames: number;
}

const SHOWN_STDERR_CHARS = 300;
/** Control characters that text has: everything else below a space, and 0, is no text. */
const TEXT_CONTROLS = new Set([9, 10, 13, 27]);

/** Says in the terms of this room what a closed transport means; nothing when the guest simply went away. */
export function faultOfClose(reason: CloseReason): Fault | undefined {
  const { error } = reason;
  if (!isSallyportError(error)) return undefined;
  const facts = { ...error.facts, violation: error.code };
  switch (error.code) {
    case 'WIRE_FRAME_TRUNCATED':
      return undefined;
    case 'WIRE_FRAME_VERSION': {
      const byte = Number(error.facts['version']);
      if (byte >= 0x20 || TEXT_CONTROLS.has(byte)) {
        const message = `the guest wrote to its standard output what is no frame: it starts with ${JSON.stringify(String.fromCharCode(byte))}`;
        return { code: 'WASM_OUTPUT_NOT_PROTOCOL', message, facts, cause: error };
      }
      return {
        code: 'WASM_FRAME_VERSION',
        message: `the guest sent a frame of version ${byte} instead of 1`,
        facts,
        cause: error,
      };
    }
    default:
      return faultOf(error);
  }
}

/** Takes over a violation, with what the wire found as an undecodable frame. */
export function faultOf(error: SallyportError): Fault {
  if (error.code.startsWith('WASM_'))
    return { code: error.code, message: error.message, facts: error.facts, cause: error };
  const facts = { ...error.facts, violation: error.code };
  return {
    code: 'WASM_FRAME_INVALID',
    message: `the guest sent a frame that cannot be decoded: ${error.message}`,
    facts,
    cause: error,
  };
}

/** Makes the one error of an ended guest: the cause, the exit, and the end of standard error. */
export function endingError(fault: Fault | undefined, remains: Remains): SallyportError {
  const { code, message, facts, cause } = fault ?? faultOfExit(remains);
  const { exitCode, signal } = remains.status;
  const stderr = remains.stderr === '' ? '' : `; its standard error ends with: ${lastLines(remains.stderr)}`;
  const exit = fault === undefined ? '' : ` (${describeExit(remains)})`;
  return new SallyportError(
    code,
    `${message}${exit}${stderr}`,
    { ...facts, exitCode, signal, killed: remains.killed, stderr: remains.stderr },
    cause === undefined ? undefined : { cause },
  );
}

function faultOfExit(remains: Remains): Fault {
  const { failure, frames } = remains;
  if (failure !== undefined) {
    const reason = printable(failure.message, SHOWN_STDERR_CHARS);
    const facts = { stage: failure.stage, reason };
    if (failure.stage === 'run') return { code: 'WASM_TRAPPED', message: `the guest trapped: ${reason}`, facts };
    return {
      code: 'WASM_START_FAILED',
      message: `the guest cannot be started, it fails to ${failure.stage}: ${reason}`,
      facts,
    };
  }
  const when = frames === 0 ? ' before it sent a frame' : '';
  return {
    code: 'WASM_EXITED',
    message: `the guest ended${when}: ${describeExit(remains)}`,
    facts: { beforeFirstFrame: frames === 0 },
  };
}

function describeExit({ status, killed }: Remains): string {
  if (killed) return 'it was killed by the host';
  return status.signal === null ? `exit code ${status.exitCode}` : `signal ${status.signal}`;
}

function lastLines(text: string): string {
  return JSON.stringify(text.slice(-SHOWN_STDERR_CHARS));
}
