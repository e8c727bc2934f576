import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import type { ToolEvent } from '../tool/index.js';
import { printable } from '../wire/index.js';
import { CliError, EXIT } from './exit.js';
import { collectVariable, timeLimit } from './options.js';
import { shownOn } from './shown.js';
import { defaultToolCache } from './tool-cache.js';
import { type ToolIsolationFlags, withIsolationOptions } from './tool-isolation-options.js';

interface ToolOptions extends ToolIsolationFlags {
  readonly env: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly json?: true;
  readonly cacheDir?: string;
  readonly registry?: string;
}

/** Splits `name@version`, where a scoped name has an `@` of its own. */
function splitPackage(spec: string): { readonly packageName: string; readonly version?: string } {
  const at = spec.indexOf('@', 1);
  return at === -1 ? { packageName: spec } : { packageName: spec.slice(0, at), version: spec.slice(at + 1) };
}

async function readParams(argument: string | undefined): Promise<unknown> {
  if (argument === undefined) return {};
  let source = argument;
  if (argument === '-') source = await text(process.stdin);
  else if (argument.startsWith('@')) {
    try {
      source = readFileSync(argument.slice(1), 'utf8');
    } catch (error) {
      throw new CliError(`cannot read ${argument.slice(1)}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new CliError(`the parameters are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** One line of progress that is written over, on a terminal; nothing elsewhere. */
function progressLine(): { show(line: string): void; clear(): void } {
  if (process.stderr.isTTY !== true) return { show: () => {}, clear: () => {} };
  return {
    show: (line) => process.stderr.write(`\r\x1b[K${line}`),
    clear: () => process.stderr.write('\r\x1b[K'),
  };
}

function progressOf({ event, data }: ToolEvent): string | undefined {
  if (event !== 'phase' || typeof data !== 'object' || data === null) return undefined;
  const name: unknown = Reflect.get(data, 'name');
  const started = Reflect.get(data, 'state') === 'started';
  if (name === 'resolve') return started ? 'resolving' : 'loading';
  if (name === 'install' && started) {
    const packages: unknown = Reflect.get(data, 'packages');
    return typeof packages === 'number' ? `installing ${packages} packages` : 'installing';
  }
  if (name === 'install') return 'loading';
  return name === 'load' ? 'running' : undefined;
}

async function runTool(spec: string, name: string, argument: string | undefined, options: ToolOptions): Promise<void> {
  const params = await readParams(argument);
  // Loaded here, so that other commands do not wait for it.
  const [{ createToolExecutor }, { toolIsolation }] = await Promise.all([
    import('../tool/index.js'),
    import('./tool-isolation.js'),
  ]);
  const cacheDir = options.cacheDir ?? defaultToolCache();
  const { spawner, level, reason, network } = await toolIsolation(options, cacheDir);
  await using _children = spawner;
  await using executor = createToolExecutor({
    cacheDir,
    spawner,
    level,
    ...(options.registry === undefined ? {} : { registry: options.registry }),
    // One call and done: nobody comes back for a second child or a faster tree.
    limits: { warmChildren: 0 },
    // Those in the cache folder are the server's.
    asyncExecutions: 'none',
    policy: { bundle: 'never', ...(network === undefined ? {} : { network }) },
  });
  const progress = progressLine();
  progress.show(`isolation: ${level} (${printable(reason)})`);
  const request = {
    ...splitPackage(spec),
    name,
    params,
    env: options.env,
    ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
  };
  const execution = executor.stream(request);
  const interrupt = (): void => execution.cancel('interrupted');
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  execution.events.follow(0, (event) => {
    const line = progressOf(event);
    if (line !== undefined) progress.show(line);
    else if (
      event.event === 'log' &&
      options.json === undefined &&
      typeof event.data === 'object' &&
      event.data !== null
    ) {
      progress.clear();
      // Whatever a tool prints goes to standard error: standard output is its result.
      process.stderr.write(shown(String(Reflect.get(event.data, 'text'))));
    }
  });
  const response = await execution.done;
  process.removeListener('SIGINT', interrupt);
  process.removeListener('SIGTERM', interrupt);
  progress.clear();
  if (options.json) print(JSON.stringify(response, undefined, 2));
  else if (response.success) {
    const { output } = response;
    print(typeof output === 'string' ? output : JSON.stringify(output, undefined, 2));
  } else {
    process.stderr.write(`sallyport: ${printable(response.error.message, 2_000)} (${response.error.code})\n`);
  }
  if (!response.success) process.exitCode = response.error.code === 'INVALID_REQUEST' ? EXIT.usage : EXIT.failure;
}

const print = (text: string): void => void process.stdout.write(`${shownOn(process.stdout, text)}\n`);

// Text of a tool may hold sequences that a terminal obeys; line breaks and tabs are all it needs.
const shown = (message: string): string => message.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]+/g, ' ');

/** Builds `sallyport tool`. */
export function toolCommand(): Command {
  const command = new Command('tool')
    .description('Run a tool of an npm package and print its result.')
    .argument('<package[@version]>', 'npm package, with a version, range or tag')
    .argument('<export>', 'name of the tool')
    .argument('[params]', 'parameters as JSON, @file, or - for standard input')
    .option('--env <K=V>', 'a variable for the tool; may be given several times', collectVariable, {})
    .option('--timeout <duration>', 'limit for import and execution, such as 30s or 500ms', timeLimit)
    .option('--json', 'print the whole answer as JSON')
    .option('--cache-dir <folder>', 'where packages are kept')
    .option('--registry <url>', 'registry to install from; npm configuration decides otherwise');
  return withIsolationOptions(command)
    .addHelpText(
      'after',
      `
Install scripts never run. Exit code 0 means that the tool returned a result.

Example:
  $ sallyport tool @tpmjs/tools-template-render templateRenderTool '{"template":"Hi {{name}}","data":{"name":"Bo"}}'
`,
    )
    .action(runTool);
}
