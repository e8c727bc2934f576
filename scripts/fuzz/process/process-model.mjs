// One process, as its client hears of it.
import { isDeepStrictEqual } from 'node:util';
import { hold } from '../oracles.mjs';
import { COMMANDS } from './grammar.mjs';

const MAX_CHUNK_BYTES = 65_536;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 *     first dialect:  output* exited            later dialect:  (output | exited)* closed, numbered from 1 without a gap
 */
export class ProcessModel {
  #dialect;
  #command;
  #tty;
  #exitCode;
  #closed = false;
  #seq = 0;
  #output = { stdout: '', stderr: '', pty: '' };
  #left = false;

  constructor({ params, pristine }, dialect) {
    this.#dialect = dialect;
    this.#tty = params.tty === true;
    this.#command = pristine ? commandOf(params) : undefined;
  }

  /** Says what a start has to lead to, where that is known. */
  static judgeStart(request, processes, dialect) {
    const { params } = request;
    const command = params === null || typeof params !== 'object' ? undefined : commandOf(params);
    const keys = ['processId', 'argv', 'cwd', 'env', 'tty', 'arg0', 'size', 'pipeStdin'];
    const plain = command !== undefined && Object.keys(params).every((key) => keys.includes(key));
    const usual =
      plain &&
      typeof params.processId === 'string' &&
      /^p\d$/.test(params.processId) &&
      typeof params.cwd === 'string' &&
      /^(file:\/\/)?\/tmp\/sallyport-fuzz-\w+$/.test(params.cwd) &&
      params.cwd.startsWith('file:') === (dialect === 'later') &&
      isDeepStrictEqual(Object.keys(params.env ?? {}), ['PATH', 'NAME']) &&
      params.env.NAME === 'value' &&
      typeof params.env.PATH === 'string' &&
      params.env.PATH.includes('/usr/bin:/bin') &&
      typeof params.tty === 'boolean' &&
      (params.arg0 === null || params.arg0 === 'another') &&
      (params.size === undefined || isDeepStrictEqual(params.size, { rows: 24, cols: 100 })) &&
      (params.pipeStdin === undefined || typeof params.pipeStdin === 'boolean');
    if (!usual) return;
    request.pristine = true;
    // An id that was asked for before may be taken, depending on what became of it.
    const taken = processes.has(params.processId) || request.repeated;
    request.outcome = taken ? 'either' : 'accepted';
  }

  get running() {
    return this.#exitCode === undefined;
  }

  /** Commands that end by themselves have to. */
  get owesEnd() {
    const ended = this.#dialect === 'later' ? this.#closed : !this.running;
    return !ended && this.#command !== undefined && !this.#waitsForInput;
  }

  get #waitsForInput() {
    return this.#command?.reads === true && !this.#left;
  }

  /** Somebody wrote to it, signalled it or ended it: its output and end are no longer known. */
  interfered() {
    this.#left = true;
  }

  heard(method, params) {
    hold(!this.#closed, `${method} after the end`);
    if (this.#dialect === 'later') {
      hold(params.seq === this.#seq + 1, `seq ${params.seq} after ${this.#seq}`);
      this.#seq = params.seq;
    } else hold(params.seq === undefined, 'a seq in the first dialect');
    if (method === 'process/output') return this.#heardOutput(params);
    if (method === 'process/closed') {
      hold(this.#dialect === 'later' && !this.running, 'closed before exited');
      this.#closed = true;
      return this.#checkOutput();
    }
    hold(this.running, 'exited twice');
    hold(Number.isSafeInteger(params.exitCode), `the exit code is ${params.exitCode}`);
    this.#exitCode = params.exitCode;
    if (this.#dialect === 'first') {
      this.#closed = true;
      this.#checkOutput();
    }
  }

  #heardOutput({ stream, chunk }) {
    hold(this.#tty ? stream === 'pty' : stream === 'stdout' || stream === 'stderr', `output on ${stream}`);
    hold(typeof chunk === 'string' && chunk.length % 4 === 0 && BASE64.test(chunk), 'a chunk is not base64');
    const bytes = Buffer.from(chunk, 'base64');
    hold(bytes.length > 0 && bytes.length <= MAX_CHUNK_BYTES, `a chunk has ${bytes.length} bytes`);
    this.#output[stream] += bytes.toString('latin1');
  }

  #checkOutput() {
    const command = this.#command;
    if (command === undefined || this.#left || command.reads) return;
    const { stdout, stderr, pty } = this.#output;
    hold(this.#exitCode === command.exitCode, `${command.argv} ended with ${this.#exitCode}`);
    if (this.#tty) {
      const expected = `${command.stdout}${command.stderr ?? ''}`.replaceAll('\n', '\r\n');
      hold(pty === expected, `${command.argv} showed ${JSON.stringify(pty.slice(0, 200))}`);
      return;
    }
    hold(stdout === command.stdout, `${command.argv} wrote ${JSON.stringify(stdout.slice(0, 200))} (${stdout.length})`);
    hold(stderr === (command.stderr ?? ''), `${command.argv} wrote ${JSON.stringify(stderr.slice(0, 200))} on stderr`);
  }
}

function commandOf({ argv }) {
  return COMMANDS.find((command) => isDeepStrictEqual(command.argv, argv));
}
