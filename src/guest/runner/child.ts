import { Socket } from 'node:net';
import { ndjsonTransport } from '../../wire/index.js';
import { engineModules } from '../engine/modules.js';
import { READY } from '../host/shell.js';
import { ENGINE_STACK_BYTES, MESSAGE_BUDGET } from '../limits.js';
import { RunnerCore } from './runner-core.js';

/** The handle that the parent opened for the protocol. Standard output carries nothing. */
const PROTOCOL_HANDLE = 3;

const pipe = new Socket({ fd: PROTOCOL_HANDLE, readable: true, writable: true });
const transport = ndjsonTransport({
  readable: pipe,
  writable: pipe,
  budget: MESSAGE_BUDGET,
  // What a guest logs before it is killed in the middle of a turn must be out by then.
  flush: 'message',
  // A busy guest keeps the pipe from being written. What it can send in one turn is bounded by the limits of calls, logs and results.
  maxBacklogBytes: Number.POSITIVE_INFINITY,
});
// Without a parent there is nobody to run for.
transport.onClose(() => process.exit(0));
const runner = new RunnerCore(transport, {
  modules: await engineModules(),
  stackBytes: ENGINE_STACK_BYTES,
});
await runner.prewarm();
void transport.send(READY);
