import { spawn } from 'node:child_process';
import { decodeMessagePack } from '../../../dist/wire/msgpack/decode.js';
import { encodeMessagePack } from '../../../dist/wire/msgpack/encode.js';
import { problemOf } from './problem.mjs';
import { Queue } from './queue.mjs';

/** One process, and the session with it. `is` tells which mistake to make. */
export class Guest {
  ended = false;
  #is;
  #child;
  #calls = new Map();
  #streams = new Map();
  #callbacks = new Map();
  #next = 0;
  #last = Promise.resolve();
  #buffer = Buffer.alloc(0);

  constructor([program, ...args], is) {
    this.#is = is;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.on('data', (chunk) => this.#read(chunk));
    this.#child.on('exit', () => this.#fail('the guest has exited'));
  }

  call(name, params, timeoutMs) {
    if (!this.#is('one-call-at-a-time')) return this.#call(name, params, timeoutMs);
    const call = this.#last.then(() => this.#call(name, params, timeoutMs));
    this.#last = call.catch(() => {});
    return call;
  }

  #call(name, params, timeoutMs) {
    if (this.ended) return Promise.reject(new Error('the guest is gone'));
    return new Promise((resolve, reject) => {
      const id = this.#is('same-call-id') ? 'c' : `c${this.#next++}`;
      const timer = setTimeout(() => this.#is('no-timeout') || this.#violation('a timeout'), timeoutMs);
      const callbacks = [];
      const sources = [];
      const given = this.#special(params, callbacks, sources);
      this.#calls.set(id, { resolve, reject, timer, callbacks });
      this.#send({ type: 0, id, functionName: name, ...(given === undefined ? {} : { params: given }) });
      for (const [stream, source] of sources) void this.#forward(stream, source);
    });
  }

  notify(functionName, params) {
    const silent = this.#is('notify-expects') ? {} : { expectsResponse: false };
    this.#send({ type: 0, id: `n${this.#next++}`, functionName, params, ...silent });
  }

  #special(value, callbacks, sources) {
    if (typeof value === 'function') {
      const name = `cb${this.#next++}`;
      this.#callbacks.set(name, value);
      callbacks.push(name);
      return name;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Queue || Symbol.asyncIterator in value) {
      const id = this.#is('same-stream-id') ? `s${sources.length}` : `s${this.#next++}`;
      if (value instanceof Queue) this.#streams.set(id, value);
      else sources.push([id, value]);
      return id;
    }
    if (Array.isArray(value)) return value.map((item) => this.#special(item, callbacks, sources));
    const entries = Object.entries(value).map(([name, item]) => [name, this.#special(item, callbacks, sources)]);
    return Object.fromEntries(entries);
  }

  async #forward(id, source) {
    try {
      for await (const chunk of source) this.#send({ type: 3, id, chunk });
    } catch (error) {
      this.#send({ type: 5, id, error: error.message });
      if (!this.#is('end-after-error')) return;
    }
    this.#send({ type: 4, id });
  }

  #send(message) {
    const payload = Buffer.from(encodeMessagePack(message));
    const header = Buffer.of(1, 0, 0, 0, 0);
    header.writeUInt32BE(payload.length, 1);
    this.#child.stdin.write(Buffer.concat([header, payload]));
  }

  #read(chunk) {
    this.#buffer = this.#is('one-read-one-frame') ? chunk : Buffer.concat([this.#buffer, chunk]);
    while (this.#buffer.length > 0 && !this.ended) {
      if (this.#buffer[0] !== 1 && !this.#is('any-version')) return this.#violation('version');
      if (this.#buffer.length < 5) return;
      const length = this.#buffer.readUInt32BE(1);
      if (length > 16 * 1024 * 1024) return this.#violation('a frame that is too large');
      if (this.#buffer.length < 5 + length) return;
      const payload = this.#buffer.subarray(5, 5 + length);
      this.#buffer = this.#buffer.subarray(5 + length);
      this.#decode(payload);
    }
  }

  #decode(payload) {
    let message;
    try {
      message = decodeMessagePack(payload);
    } catch (error) {
      if (this.#is('skips-garbage')) return;
      return this.#violation(error.message);
    }
    const problem = problemOf(message, this.#is);
    if (problem !== undefined) return this.#violation(problem);
    if (![0, 1, 2, 3, 4, 5].includes(message.type)) return;
    if (message.type === 0) this.#called(message);
    else if (message.type <= 2) this.#answered(message);
    else this.#streamed(message);
  }

  #answered({ type, id, result, error }) {
    const call = this.#calls.get(id);
    if (call === undefined) return this.#is('ignores-strangers') ? undefined : this.#violation('an unknown id');
    this.#calls.delete(id);
    clearTimeout(call.timer);
    for (const name of call.callbacks) this.#callbacks.set(name, 'expired');
    if (type === 1) return call.resolve(result);
    if (this.#is('error-ends-guest')) this.#violation('an error');
    call.reject(new Error(error));
  }

  #streamed({ type, id, chunk, error }) {
    const queue = this.#streams.get(id);
    if (queue === undefined) return this.#is('ignores-strangers') ? undefined : this.#violation('an unknown stream');
    if (type === 3) return queue.push(chunk);
    this.#streams.delete(id);
    queue.end(type === 5 && !this.#is('stream-error-lost') ? new Error(error) : undefined);
  }

  async #called({ id, functionName, params, expectsResponse }) {
    const inherited = this.#is('inherited-functions') ? {}[functionName] : undefined;
    const run = this.#callbacks.get(functionName) ?? inherited;
    if (run === undefined && this.#is('grants-all')) return this.#send({ type: 1, id, result: null });
    if (run === undefined) return this.#violation(`${functionName} was not granted`);
    const silent = expectsResponse === false;
    const answer = (message) => {
      if (!silent || this.#is('answers-forgotten')) this.#send(message);
    };
    if (run === 'expired') return answer({ type: 2, id, error: 'expired' });
    try {
      const result = await (inherited === undefined ? run(params) : String(inherited));
      answer({ type: 1, id, ...(result === undefined ? {} : { result }) });
    } catch (error) {
      answer(this.#is('errors-as-results') ? { type: 1, id } : { type: 2, id, error: error.message });
    }
  }

  #violation(reason) {
    this.#fail(reason);
    this.#child.kill('SIGKILL');
  }

  #fail(reason) {
    if (this.ended) return;
    this.ended = true;
    for (const { reject, timer } of this.#calls.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    if (this.#is('streams-stay-open')) return;
    for (const queue of this.#streams.values()) queue.end(new Error(reason));
  }
}
