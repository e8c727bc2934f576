import { resolve } from 'node:path';
import type { SpawnedProcess } from '../../sandbox/index.js';
import { printable } from '../../wire/index.js';
import type { CheckContext } from '../context.js';
import { END_GRACE_MS, MAX_STDERR_CHARS } from '../limits.js';
import type { Channel, Ending } from './channel.js';
import type { Target } from './target.js';

/** Starts the command and talks to its standard input and output. It is ended, with all that it started, with the check. */
export async function openCommand(
  context: CheckContext,
  target: Extract<Target, { kind: 'command' }>,
): Promise<Channel> {
  const { transcript, spawner } = context;
  const child = await spawner.spawn({
    argv: target.argv,
    env: { ...(target.env ?? ownEnvironment()), ...context.strays.variable },
    cwd: resolve(target.cwd ?? '.'),
    stdio: { kind: 'pipes', stdin: 'pipe' },
    level: 'process',
  });
  transcript.add('note', `started: ${target.argv.join(' ')}`);
  const stderr = tailOf(child);
  const ended = endingOf(child, stderr).then((ending) => {
    transcript.add('note', ending.text);
    return ending;
  });
  context.defer(() => child.terminate({ graceMs: END_GRACE_MS }));
  context.defer(() => child.input?.end());
  return {
    carrier: 'stream',
    // A target that went away is heard of through its end.
    send: (data) => void child.input?.write(Buffer.from(data)).catch(() => {}),
    onData: (handler) => output(child, 'stdout')?.onData(handler),
    onEnd: (handler) => void ended.then(handler),
    end: () => void child.input?.end(),
  };
}

function output(child: SpawnedProcess, name: string) {
  return child.outputs.find((stream) => stream.name === name);
}

/** Keeps the end of what the target says to people. */
function tailOf(child: SpawnedProcess): () => string {
  let tail = '';
  output(child, 'stderr')?.onData((chunk) => {
    tail = (tail + chunk.toString()).slice(-MAX_STDERR_CHARS);
  });
  return () => tail;
}

async function endingOf(child: SpawnedProcess, stderr: () => string): Promise<Ending> {
  const { exitCode, signal } = await child.exited;
  await child.drained;
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
  const said = stderr().trim();
  return {
    exitCode,
    crashed: exitCode !== 0,
    text: `the target ${how}${said === '' ? '' : `; standard error ends with: ${printable(said, MAX_STDERR_CHARS)}`}`,
  };
}

function ownEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}
