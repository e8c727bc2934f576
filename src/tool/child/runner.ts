// The far side: a process that waits, is told once what to run, runs it, and is ended.
import { Buffer } from 'node:buffer';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { describeThrown } from './describe-thrown.js';
import { findTool } from './find-tool.js';
import { listenForAbort, readMessage, readSecret } from './job-channel.js';
import {
  type ChildErrorCode,
  type ChildJob,
  type ChildPhase,
  type FoundBy,
  type FromChild,
  LENGTH_BYTES,
  RESULT_HANDLE,
  SECRET_BYTES,
} from './protocol.js';
import { NotSerializableError, serialize } from './serialize.js';

// Taken aside before any of the tool's code exists.
const quote = JSON.stringify;
const parse = JSON.parse;
const { from: bufferFrom } = Buffer;
const { readFileSync, writeSync } = fs;
const { defineProperty, setPrototypeOf } = Object;
const { asyncIterator } = Symbol;
const { apply } = Reflect;

function writeAll(bytes: Uint8Array, length: number): void {
  for (let sent = 0; sent < length; ) sent += writeSync(RESULT_HANDLE, bytes, sent, length - sent);
}

/**
 * Sends frames. The secret lies in one array of its own that no method and no getter of a prototype is ever called on: they
 * may be the tool's by now, and would be handed it.
 */
function createReporter(secret: Uint8Array): (json: string) => void {
  const headBytes = SECRET_BYTES + LENGTH_BYTES;
  const head = new Uint8Array(headBytes);
  for (let index = 0; index < SECRET_BYTES; index += 1) {
    head[index] = secret[index] ?? 0;
    secret[index] = 0;
  }
  // What `writeSync` asks it for.
  defineProperty(head, 'byteLength', { value: headBytes });
  setPrototypeOf(head, null);
  return (json) => {
    const body = bufferFrom(json);
    const { length } = body;
    for (let index = 0; index < LENGTH_BYTES; index += 1) {
      head[SECRET_BYTES + index] = (length >>> (8 * (LENGTH_BYTES - 1 - index))) & 0xff;
    }
    writeAll(head, headBytes);
    writeAll(body, length);
  };
}

function declaredTools(packageFolder: string): string[] {
  try {
    const manifest: { tpmjs?: { tools?: unknown } } = parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
    const tools = manifest.tpmjs?.tools;
    if (!Array.isArray(tools)) return [];
    return tools.flatMap((tool: unknown) => {
      if (typeof tool === 'string') return [tool];
      if (typeof tool !== 'object' || tool === null) return [];
      return ['name', 'exportName', 'export'].flatMap((field) => {
        const value: unknown = Reflect.get(tool, field);
        return typeof value === 'string' ? [value] : [];
      });
    });
  } catch {
    return [];
  }
}

/** The shape of what a package exports, to compare two ways of loading it. */
function shapeOf(pkg: object): string {
  const describe = (value: unknown, depth: number): unknown => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return typeof value;
    const tool = typeof Reflect.get(value, 'execute') === 'function' ? 'tool' : 'plain';
    const name = typeof value === 'function' ? value.name : '';
    if (depth === 0) return [typeof value, name, tool];
    const keys = Object.keys(value).sort();
    return [typeof value, name, tool, keys.map((key) => [key, describe(Reflect.get(value, key), depth - 1)])];
  };
  const keys = Object.keys(pkg)
    .filter((key) => key !== 'module.exports')
    .sort();
  return quote(keys.map((key) => [key, describe(Reflect.get(pkg, key), 1)]));
}

class Run {
  readonly #job: ChildJob;
  readonly #report: (json: string) => void;
  #signal: AbortSignal | undefined;
  #done = false;

  constructor(job: ChildJob, report: (json: string) => void) {
    this.#job = job;
    this.#report = report;
  }

  /** The signal that a tool is handed. Most never look at it, so nobody listens for the wish to abort until one does. */
  get #abortSignal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      void listenForAbort((reason) => controller.abort(new Error(reason)));
    }
    return this.#signal;
  }

  crash(error: unknown): void {
    if (!this.#done) this.#send({ type: 'crash', message: describeThrown(error).message });
  }

  async start(): Promise<void> {
    const job = this.#job;
    for (const [name, value] of Object.entries(job.env)) process.env[name] = value;
    let pkg: object;
    try {
      const loaded: { pkg: object } = await import(job.entry);
      pkg = loaded.pkg;
    } catch (error) {
      this.#fail('TOOL_EXECUTION_ERROR', 'import', error, 'The package threw while it was imported: ');
      return;
    }
    this.#send({ type: 'loaded' });
    if (job.mode === 'inspect') {
      this.#inspect(pkg);
      return;
    }
    const found = await findTool(pkg, job.name, declaredTools(job.packageFolder));
    if (!found.ok) {
      this.#finish(
        quote({ type: 'error', code: found.code, phase: 'find', message: found.message } satisfies FromChild),
      );
      return;
    }
    if (job.mode === 'describe') await this.#describe(found);
    else await this.#execute(found.tool);
  }

  #inspect(pkg: object): void {
    try {
      this.#finish(quote({ type: 'inspected', shape: shapeOf(pkg) } satisfies FromChild));
    } catch (error) {
      this.#fail('TOOL_EXECUTION_ERROR', 'import', error, '');
    }
  }

  async #execute(tool: object): Promise<void> {
    const job = this.#job;
    let output: unknown;
    try {
      const execute: unknown = Reflect.get(tool, 'execute');
      if (typeof execute !== 'function') throw new TypeError('execute is no function any more');
      const signal = (): AbortSignal => this.#abortSignal;
      const options = {
        toolCallId: job.toolCallId,
        messages: [],
        get abortSignal() {
          return signal();
        },
      };
      output = await apply(execute, tool, [job.params ?? {}, options]);
      if (isAsyncIterable(output)) output = await this.#follow(output);
    } catch (error) {
      if (error instanceof NotSerializableError) this.#fail('TOOL_EXECUTION_ERROR', 'output', error, '');
      else this.#fail('TOOL_EXECUTION_ERROR', 'execute', error, 'Tool threw an error: ');
      return;
    }
    try {
      this.#finish(`{"type":"result","output":${this.#serialize(output)}}`);
    } catch (error) {
      const prefix = error instanceof NotSerializableError ? '' : 'the output is not serializable: ';
      this.#fail('TOOL_EXECUTION_ERROR', 'output', error, prefix);
    }
  }

  async #follow(yields: AsyncIterable<unknown>): Promise<unknown> {
    let last: unknown;
    for await (const value of yields) {
      last = value;
      this.#raw(`{"type":"preliminary","output":${this.#serialize(value)}}`);
    }
    return last;
  }

  async #describe(found: { readonly tool: object; readonly by: FoundBy }): Promise<void> {
    const job = this.#job;
    try {
      const { inputSchemaOf, paramsFit, schemaOf } = await import('./describe-tool.js');
      const description: unknown = Reflect.get(found.tool, 'description');
      let schema: unknown;
      let inputSchema: unknown;
      try {
        schema = schemaOf(found.tool);
        inputSchema = await inputSchemaOf(schema, job.packageFolder);
      } catch {
        // A schema without a JSON form is no reason to refuse the tool.
      }
      // Whether parameters fit a schema that throws is asked once more, for the reason.
      const params =
        job.params === undefined ? undefined : await paramsFit(schema ?? schemaOf(found.tool), job.params, inputSchema);
      const tool = {
        foundBy: found.by,
        ...(typeof description === 'string' ? { description } : {}),
        ...(inputSchema === undefined ? {} : { inputSchema }),
        ...(params === undefined ? {} : { params }),
      };
      this.#finish(`{"type":"described","tool":${this.#serialize(tool)}}`);
    } catch (error) {
      this.#fail('TOOL_INVALID', 'find', error, 'the tool cannot be described: ');
    }
  }

  #serialize(value: unknown): string {
    return serialize(value, { maxBytes: this.#job.maxOutputBytes, maxDepth: this.#job.maxOutputDepth });
  }

  #fail(code: ChildErrorCode, phase: ChildPhase, error: unknown, prefix: string): void {
    const { name, message } = describeThrown(error);
    const text: FromChild = {
      type: 'error',
      code,
      phase,
      message: `${prefix}${message}`,
      ...(name === undefined ? {} : { errorName: name }),
    };
    this.#finish(quote(text));
  }

  #send(message: FromChild): void {
    this.#raw(quote(message));
  }

  #raw(json: string): void {
    if (!this.#done) this.#report(json);
  }

  #finish(json: string): void {
    this.#raw(json);
    this.#done = true;
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return typeof Reflect.get(value, asyncIterator) === 'function';
}

/** Has connections go through the relay, in a room that has one. */
async function joinRelay(): Promise<void> {
  if (process.env['HTTP_PROXY'] === undefined) return;
  const { useRelay } = await import('./relay.js');
  useRelay();
}

async function main(): Promise<void> {
  // The loader of modules, and the way to the network, are up before there is anything to hurry for.
  await import('./warm.js');
  await joinRelay();
  const secret = readSecret();
  const message = secret === undefined ? undefined : readMessage();
  if (secret === undefined || message?.type !== 'job') process.exit(0);
  const run = new Run(message.job, createReporter(secret));
  // A monitor sees what ends the process, and changes nothing about it.
  process.on('uncaughtExceptionMonitor', (error) => run.crash(error));
  await run.start();
}

void main();
