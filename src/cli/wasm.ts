import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Command, Option } from 'commander';
import type { ToolDefinition } from '../capabilities/index.js';
import { isSallyportError } from '../errors/index.js';
import {
  CALL_TIMEOUT_MS,
  createSink,
  type ModuleReport,
  openWasm,
  type RuntimeName,
  validateWasm,
} from '../wasm/index.js';
import { parseJson, printable, type WireValue } from '../wire/index.js';
import { checkIsolation } from './check-isolation.js';
import { CliError, EXIT } from './exit.js';
import { callTimeLimit, collect } from './options.js';

const EXAMPLES = `
Chunks of a stream are printed as one line of JSON each, and the result then goes to standard error. Binary is printed as
{"base64":"…"}, an integer beyond 2^53 as a string.

Examples:
  $ sallyport wasm guest.wasm add '[1, 2]'
  $ sallyport wasm guest.wasm produce '{"count":3,"size":4}' --stream
  $ sallyport wasm guest.wasm order '{"id":"p-42"}' --grant ./host-functions.mjs --timeout 5s --memory 64MB
  $ sallyport wasm inspect guest.wasm
`;

interface CallFlags {
  readonly grant?: string;
  readonly timeout: number;
  readonly memory?: string;
  readonly runtime: RuntimeName;
  readonly isolation: 'process' | 'container';
  readonly stream?: true;
  readonly streamField?: readonly string[];
}

/** Builds `sallyport wasm`. */
export function wasmCommand(): Command {
  const command = new Command('wasm')
    .description('Call a function of a WebAssembly guest, or look at a module.')
    .argument('<module>', 'a WASI command (wasm32-wasip1)')
    .argument('<function>', 'the function to call')
    .argument('[json]', 'its parameters; - reads them from standard input')
    .option('--grant <file>', 'a module whose default export has the functions that the guest may call')
    .addOption(
      new Option('--timeout <time>', 'how long the call may take, such as 500ms or 5s')
        .argParser(callTimeLimit)
        .default(CALL_TIMEOUT_MS, '30s'),
    )
    .option('--memory <size>', 'how much memory the guest may have, such as 64MB', '256MB')
    .addOption(
      new Option('--runtime <name>', 'what runs the guest')
        .choices(['builtin', 'wasmtime', 'wazero'])
        .default('builtin'),
    )
    .addOption(
      new Option('--isolation <level>', 'what confines the guest').choices(['process', 'container']).default('process'),
    )
    .option('--stream', 'receive a stream at the field "stream" of the parameters')
    .option('--stream-field <name>', 'the same at another field; may be given more than once', collect)
    .addHelpText('after', EXAMPLES)
    .action(callFunction);
  command.addCommand(inspectCommand());
  return command;
}

function inspectCommand(): Command {
  return new Command('inspect')
    .description('Say what a module imports, exports and needs, and whether it will run.')
    .argument('<module>', 'a file')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nIt is compiled in a process of its own; nothing of it runs. Exit code 0 means that it will run.\n\nExample:\n  $ sallyport wasm inspect guest.wasm --json | jq .sha256\n',
    )
    .exitOverride()
    .action(async (file: string, flags: { readonly json?: true }) => {
      const report = await validateWasm(file).catch(explain(file));
      process.stdout.write(`${flags.json === true ? JSON.stringify(report, undefined, 2) : describe(file, report)}\n`);
      process.exitCode = report.runs ? EXIT.ok : EXIT.failure;
    });
}

async function callFunction(file: string, name: string, json: string | undefined, flags: CallFlags): Promise<void> {
  const memoryBytes = parseSize(flags.memory ?? '256MB');
  const streams = flags.streamField ?? (flags.stream === true ? ['stream'] : []);
  const params = await readParams(json);
  await checkIsolation(flags.isolation);
  const grant = flags.grant === undefined ? undefined : await loadGrant(flags.grant);
  const client = await openWasm(file, {
    limits: { memoryBytes },
    timeoutMs: flags.timeout,
    runtime: flags.runtime,
    level: flags.isolation,
    ...(grant === undefined ? {} : { grant }),
  }).catch(explain(file));
  try {
    const printing: Promise<void>[] = [];
    const call = client.call[name];
    if (call === undefined) throw new CliError(`${JSON.stringify(name)} cannot be called`);
    const answer = call(withSinks(params, streams, printing));
    const [result] = await Promise.all([answer, ...printing]);
    const shown = toJson(result);
    if (streams.length > 0) process.stderr.write(`result: ${shown}\n`);
    else process.stdout.write(`${shown}\n`);
  } finally {
    await client.dispose();
  }
}

/** Puts a sink at each named field, and prints what arrives there. */
function withSinks(params: unknown, names: readonly string[], printing: Promise<void>[]): unknown {
  if (names.length === 0) return params;
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params))) {
    throw new CliError('--stream needs parameters that are an object');
  }
  const fields = new Map(Object.entries(params ?? {}));
  for (const name of names) {
    const sink = createSink();
    fields.set(name, sink);
    printing.push(print(name, sink, names.length > 1 ? 'tagged' : 'plain'));
  }
  return Object.fromEntries(fields);
}

async function print(name: string, chunks: AsyncIterable<WireValue>, style: 'plain' | 'tagged'): Promise<void> {
  for await (const chunk of chunks) {
    const line = style === 'tagged' ? `{"stream":${JSON.stringify(name)},"chunk":${toJson(chunk)}}` : toJson(chunk);
    // A reader that is slow slows the guest.
    if (!process.stdout.write(`${line}\n`)) await new Promise((done) => process.stdout.once('drain', done));
  }
}

function toJson(value: unknown): string {
  const plain = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return item.toString();
    return item instanceof Uint8Array ? { base64: Buffer.from(item).toString('base64') } : item;
  });
  // What is printed may reach a terminal, where some characters that JSON leaves alone are commands.
  return (plain ?? 'null').replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g, (unit) => printable(unit));
}

/** Names the file when it is at fault, which then is a mistake on the command line. */
function explain(file: string): (error: unknown) => never {
  return (error) => {
    if (isSallyportError(error) && /^WASM_(MODULE|RUNTIME)_/.test(error.code))
      throw new CliError(`${file}: ${error.message} (${error.code})`);
    throw error;
  };
}

async function readParams(json: string | undefined): Promise<unknown> {
  if (json === undefined) return undefined;
  try {
    return parseJson(json === '-' ? await text(process.stdin) : json);
  } catch (error) {
    throw new CliError(`the parameters are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Grant = Record<string, ToolDefinition | ToolDefinition['execute']>;

async function loadGrant(file: string): Promise<Grant> {
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw new CliError(`--grant ${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
  const exported = loaded.default;
  if (!isGrant(exported)) throw new CliError(`--grant ${file} has no default export that is an object of functions`);
  return exported;
}

function isGrant(value: unknown): value is Grant {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every(
    (item: unknown) => typeof item === 'function' || (typeof item === 'object' && item !== null && 'execute' in item),
  );
}

function parseSize(value: string): number {
  const match = /^(\d+)\s*(b|kb|mb|gb|k|m|g)?$/i.exec(value);
  const power = match === null ? 0 : 'bkmg'.indexOf((match[2] ?? 'b').charAt(0).toLowerCase());
  const bytes = match === null ? 0 : Number(match[1]) * 1024 ** power;
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw new CliError(`--memory takes a size such as 64MB, not ${JSON.stringify(value)}`);
}

function describe(file: string, report: ModuleReport): string {
  const list = (items: readonly { readonly name: string; readonly kind: string }[]): string =>
    items.length === 0
      ? 'none'
      : items.map(({ name, kind }) => `${printable(name, 64)}${kind === 'function' ? '' : ` (${kind})`}`).join(', ');
  const bytes = (value: number | undefined): string => (value === undefined ? 'no maximum' : `${value / 1024} KiB`);
  const lines = [
    `file      ${printable(file, 200)}`,
    `kind      ${report.kind === 'core' ? 'core module' : report.kind}, ${report.size} bytes, ${report.functions} functions`,
    `sha256    ${report.sha256}`,
    `imports   ${list(report.imports.map(({ module, name, kind }) => ({ name: `${module}.${name}`, kind })))}`,
    `exports   ${list(report.exports)}`,
    `memory    ${report.memory === undefined ? 'none' : `${bytes(report.memory.initial)} at the start, ${bytes(report.memory.maximum)}`}`,
    `runs      ${report.runs ? 'yes' : 'no'}`,
    ...report.problems.map(({ code, message }) => `          ${message} (${code})`),
  ];
  return lines.join('\n');
}
