import { fileURLToPath } from 'node:url';
import { describeFlaws, type FlawTable, type RunningTarget } from '../harness.js';
import { startFlawed } from '../start.js';

const PROGRAM = new URL('./program.mjs', import.meta.url);
const startListening = (flaw: string | undefined): Promise<RunningTarget> => startFlawed(PROGRAM, flaw);
const onStdio = (flaw = 'none'): RunningTarget => ({
  target: { kind: 'command', argv: [process.execPath, fileURLToPath(PROGRAM), '--flaw', flaw, '--stdio'] },
});

const COMMON: Pick<FlawTable, 'suite' | 'limitMs' | 'jobs'> = { suite: 'exec-server', limitMs: 8_000, jobs: 3 };
const TRIES_ALL = 'it tries every refusal of the text, this one included';

describeFlaws({
  ...COMMON,
  start: startListening,
  together: true,
  settings: { dialect: 'first' },
  flaws: [
    {
      name: 'early-requests-work',
      caughtBy: ['exec-server.handshake.before-initialized'],
      also: {
        'exec-server.handshake.initialized-first': 'the notification is taken out of the order it would complain about',
        'exec-server.handshake.client-name': 'the refused initialize counts as done',
      },
    },
    { name: 'any-notification-is-fine', caughtBy: ['exec-server.handshake.unknown-notification'] },
    {
      name: 'empty-argv-runs',
      caughtBy: ['exec-server.start.empty-argv'],
      also: { 'exec-server.errors.which-code': TRIES_ALL },
    },
    { name: 'cwd-is-ignored', caughtBy: ['exec-server.start.cwd', 'exec-server.start.cwd-missing'] },
    { name: 'env-is-inherited', caughtBy: ['exec-server.start.env-exact'] },
    { name: 'arg0-is-ignored', caughtBy: ['exec-server.start.arg0'] },
    {
      name: 'duplicates-are-accepted',
      caughtBy: ['exec-server.start.duplicate-id'],
      also: { 'exec-server.errors.which-code': TRIES_ALL },
    },
    { name: 'stderr-is-stdout', caughtBy: ['exec-server.output.streams'] },
    { name: 'output-is-text', caughtBy: ['exec-server.output.bytes'] },
    { name: 'exit-is-told-twice', caughtBy: ['exec-server.exit.final'] },
    {
      name: 'exit-overtakes-output',
      caughtBy: ['exec-server.exit.after-output'],
      also: {
        'exec-server.output.complete': 'what is late is out of order, too',
        'exec-server.output.terminal-complete': 'what comes after the exit counts as lost',
      },
    },
    {
      name: 'exit-is-told-first',
      caughtBy: ['exec-server.exit.after-output'],
      also: Object.fromEntries(
        ['start.env-exact', 'start.many', 'output.terminal-complete', 'write.in-order', 'write.paste'].map((name) => [
          `exec-server.${name}`,
          'what is recommended may build on what is recommended',
        ]),
      ),
    },
    { name: 'output-before-the-answer', caughtBy: ['exec-server.output.after-answer'] },
    {
      name: 'writes-to-nobody-work',
      caughtBy: ['exec-server.write.unknown'],
      also: {
        'exec-server.errors.which-code': TRIES_ALL,
        'exec-server.end.private': 'the process of another connection is nobody, too',
      },
    },
    {
      name: 'writes-are-text',
      caughtBy: ['exec-server.write.bytes'],
      also: { 'exec-server.write.bad-base64': 'text that is no base64 is read as some' },
    },
    {
      name: 'after-seq-is-inclusive',
      caughtBy: ['exec-server.read.after-seq'],
      also: {
        'exec-server.read.max-bytes': 'it reads on from where the last answer ended',
        'exec-server.read.oldest-dropped': 'it reads on from where the last answer ended',
      },
    },
    {
      name: 'reads-never-wait',
      caughtBy: ['exec-server.read.wait-for-output', 'exec-server.read.wait-for-exit'],
    },
    { name: 'reads-hold-up-others', caughtBy: ['exec-server.read.wait-blocks-nobody'] },
    { name: 'newest-output-is-dropped', caughtBy: ['exec-server.read.oldest-dropped'] },
    { name: 'terminate-only-asks', caughtBy: ['exec-server.terminate.stubborn'] },
    { name: 'terminate-forgets-children', caughtBy: ['exec-server.terminate.all-of-it'] },
    { name: 'processes-outlive-the-connection', caughtBy: ['exec-server.end.disconnect'] },
    {
      name: 'nothing-is-ended',
      caughtBy: ['running', 'stubborn', 'all-of-it', 'keeps-output']
        .map((name) => `exec-server.terminate.${name}`)
        .concat('exec-server.end.disconnect'),
      also: { 'exec-server.wire.example': 'it ends the process of the text' },
    },
    {
      name: 'codes-of-its-own',
      caughtBy: ['exec-server.errors.codes', 'exec-server.errors.malformed-params', 'exec-server.errors.which-code'],
    },
  ],
});

describeFlaws({
  ...COMMON,
  start: startListening,
  together: true,
  settings: { dialect: 'later' },
  flaws: [
    { name: 'plain-paths-are-taken', caughtBy: ['exec-server.later.file-uris'] },
    { name: 'stdin-stays-open', caughtBy: ['exec-server.start.pipes', 'exec-server.write.pipes'] },
    { name: 'repeated-writes-are-written', caughtBy: ['exec-server.later.write-once'] },
    { name: 'exits-have-no-number', caughtBy: ['exec-server.later.seq'] },
    { name: 'closed-means-exited', caughtBy: ['exec-server.later.closed'] },
    { name: 'sessions-end-with-the-connection', caughtBy: ['exec-server.later.resume'] },
    { name: 'frames-are-binary', caughtBy: ['exec-server.wire.text-frames'] },
    { name: 'every-page-may-connect', caughtBy: ['exec-server.wire.web-pages'] },
    { name: 'ids-become-numbers', caughtBy: ['exec-server.wire.ids'] },
    { name: 'jsonrpc-is-sent', caughtBy: ['exec-server.wire.no-jsonrpc'] },
    { name: 'unknown-fields-are-refused', caughtBy: ['exec-server.wire.unknown-fields'] },
    { name: 'malformed-ends-the-connection', caughtBy: ['exec-server.wire.malformed'] },
    { name: 'ids-are-shared', caughtBy: ['exec-server.end.private'] },
    { name: 'exits-lack-sandbox-denied', caughtBy: ['exec-server.later.sandbox-denied'] },
    {
      name: 'rivals-hear-unknown-session',
      caughtBy: ['exec-server.later.resume-attached'],
      also: { 'exec-server.later.resume': 'it tries again only as long as the session counts as attached' },
    },
    { name: 'policies-are-ignored', caughtBy: ['exec-server.later.env-policy'] },
    { name: 'missing-files-are-internal-errors', caughtBy: ['exec-server.files.not-found'] },
    { name: 'nothing-is-removed', caughtBy: ['exec-server.files.copy-remove'] },
    { name: 'walks-are-never-cut', caughtBy: ['exec-server.files.walk'] },
    { name: 'pieces-count-from-0', caughtBy: ['exec-server.http.stream'] },
  ],
});

// On standard input and output every check costs a process, so that only what is different there is tried.
describeFlaws({
  ...COMMON,
  start: onStdio,
  settings: { dialect: 'first' },
  only: ['exec-server.wire.*lines', 'exec-server.end.input', 'exec-server.handshake.initialize'],
  flaws: [
    {
      name: 'one-line-per-piece',
      caughtBy: ['exec-server.wire.lines'],
      also: {
        'exec-server.wire.blank-lines': 'its blank lines come in one piece',
        'exec-server.end.input': 'the end of the handshake and the next request may come in one piece',
      },
    },
    { name: 'blank-lines-are-malformed', caughtBy: ['exec-server.wire.blank-lines'] },
    { name: 'stays-when-its-input-ends', caughtBy: ['exec-server.end.input'] },
  ],
});
