import type { Specification } from '../specification.js';
import { sectionsOf } from './sections.js';

const CLIENT = 'it is about the client of the original';
const RUST = 'it is about the Rust crate of the original, not about the protocol';

const section = sectionsOf('exec-server');

/** The normative sentences of the exec-server text, which describes the first dialect. */
export const EXEC_SERVER: Specification = {
  id: 'exec-server',
  title: 'exec-server README',
  sentences: [
    ...section(
      'Transport',
      [
        'transport.supports',
        'The standalone binary supports stdio:// (default), ws://IP:PORT',
        'how a program is told its transport is its command line; the suite runs over either',
      ],
      ['transport.stdio', 'one newline-delimited JSON message per line'],
      ['transport.websocket', 'one JSON-RPC message per websocket text frame'],
      ['transport.envelope', 'use the shared … envelope types'],
    ),
    ...section(
      'Lifecycle',
      ['lifecycle.sequence', 'Each connection follows this sequence'],
      ['lifecycle.methods', 'Start and manage processes with'],
      ['lifecycle.notifications', 'Read streaming notifications from'],
      ['lifecycle.rejects-early', 'exec methods before completing … the server rejects them'],
      ['lifecycle.close-terminates', 'If a connection closes, the server terminates any remaining'],
    ),
    ...section(
      'initialize',
      ['initialize.request', 'Initial handshake request … clientName'],
      ['initialize.response', 'Response: {}'],
    ),
    ...section(
      'initialized',
      ['initialized.until', 'Exec methods are rejected until this arrives'],
      ['initialized.params-ignored', 'Params are currently ignored'],
      ['initialized.other-notifications', 'any other client notification method is a protocol error'],
    ),
    ...section(
      'process/start',
      ['start.request', 'Starts a new managed process'],
      ['start.argv', 'argv: command vector'],
      ['start.argv-non-empty', 'It must be non-empty'],
      ['start.cwd', 'absolute working directory used for the child process'],
      ['start.env', 'environment variables passed to the child process'],
      ['start.tty-true', 'when true, spawn a PTY-backed interactive process'],
      ['start.tty-false', 'when false, spawn a pipe-backed process with closed stdin'],
      ['start.arg0', 'optional argv0 override'],
      ['start.response', 'Response: {"processId": …}'],
      ['start.unique-id', 'chosen by the client and must be unique for the connection'],
      ['start.pty-writes', 'PTY-backed processes accept later writes'],
      ['start.pipe-stdin', 'launched with stdin closed and reject writes'],
      ['start.output-async', 'Output is streamed asynchronously'],
      ['start.exit-async', 'Exit is reported asynchronously'],
    ),
    ...section(
      'process/write',
      ['write.raw', 'Writes raw bytes to a running PTY-backed process stdin'],
      ['write.request', 'Request params: {"processId": …, "chunk": …}'],
      ['write.base64', 'chunk is base64-encoded raw bytes'],
      ['write.response', 'Response: {"accepted": true}'],
      ['write.unknown', 'Writes to an unknown processId are rejected'],
      ['write.non-pty', 'Writes to a non-PTY process are rejected'],
    ),
    ...section(
      'process/read',
      ['read.by-number', 'Reads retained output … by sequence number'],
      ['read.request', 'Request params: processId, afterSeq, maxBytes, waitMs'],
      ['read.response', 'Response: chunks, nextSeq, exited, exitCode'],
      ['read.retained', 'Output is retained in bounded server memory'],
      ['read.after-seq', 'afterSeq is exclusive: 0 reads from the beginning'],
      ['read.wait', 'waitMs waits briefly for new output or exit'],
      ['read.dropped', 'exceeds the per-process cap, oldest chunks are dropped'],
    ),
    ...section(
      'process/terminate',
      ['terminate.ends', 'Terminates a running managed process'],
      ['terminate.request', 'Request params: {"processId": …}'],
      ['terminate.response', 'Response: {"running": true}'],
      ['terminate.unknown', 'already unknown or already removed'],
    ),
    ...section(
      'process/output',
      ['output.running', 'Streaming output chunk from a running process'],
      ['output.params', 'Params: processId, stream, chunk'],
      ['output.stream', '"stdout", "stderr", or "pty" for PTY-backed processes'],
      ['output.chunk', 'chunk: base64-encoded output bytes'],
    ),
    ...section(
      'process/exited',
      ['exited.final', 'Final process exit notification'],
      ['exited.params', 'Params: processId, exitCode'],
    ),
    ...section(
      'Errors',
      ['errors.codes', 'returns JSON-RPC errors with these codes'],
      ['errors.unknown-method', 'Typical error cases: unknown method'],
      ['errors.malformed-params', 'Typical error cases: malformed params'],
      ['errors.empty-argv', 'Typical error cases: empty argv'],
      ['errors.duplicate-id', 'Typical error cases: duplicate processId'],
      ['errors.write-unknown', 'Typical error cases: writes to unknown processes'],
      ['errors.write-non-pty', 'Typical error cases: writes to non-PTY processes'],
    ),
    ...section('Rust surface', ['rust.exports', 'The crate exports', RUST]),
    ...section('Binary', ['binary.stdio', 'Run over stdio'], ['binary.websocket', 'Run as a websocket server']),
    ...section(
      'Client',
      ['client.connect', 'Connect the client to an existing server transport', CLIENT],
      ['client.handshake-timeout', 'clients both enforce an initialize-handshake timeout', CLIENT],
      ['client.connect-timeout', 'websocket clients also enforce a connect timeout', CLIENT],
      ['client.events', 'event_receiver() yields ExecServerEvent', CLIENT],
      ['client.lifetime', 'process lifetime is tracked by server notifications', CLIENT],
      ['client.spawning', 'Spawning a local child process is deliberately separate', RUST],
    ),
    ...section('Example session', ['example', 'Initialize, start, write to, terminate']),
  ],
};
