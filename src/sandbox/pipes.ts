import { Duplex } from 'node:stream';
import { sealStdio } from './inherited-handles.js';
import { PipeInput } from './input.js';
import { type ExtraPipe, environmentOf, type Launched, LazyPipe, startChild } from './launch.js';
import type { Invocation } from './level.js';
import { StreamOutput } from './output.js';
import type { PipeStdio } from './request.js';

/** Starts a child whose standard handles are pipes. `registered` hears of the pid before anything else can happen. */
export async function launchWithPipes(
  invocation: Invocation,
  stdio: PipeStdio,
  queueBytes: number,
  registered: (pid: number) => void,
): Promise<Launched> {
  const extra = Array.from({ length: stdio.extraPipes ?? 0 }, () => 'pipe' as const);
  const started = startChild(
    invocation.file,
    invocation.args,
    {
      argv0: invocation.argv0,
      env: environmentOf(invocation),
      cwd: invocation.cwd,
      detached: true,
      stdio: sealStdio([
        stdio.stdin === 'pipe' ? 'pipe' : 'ignore',
        'pipe',
        'pipe',
        ...extra,
        ...(invocation.handles ?? []),
      ]),
    },
    registered,
  );
  const { child, pid } = await started;
  const outputs = [child.stdout, child.stderr].flatMap((stream, index) =>
    stream === null ? [] : [new StreamOutput(index === 0 ? 'stdout' : 'stderr', stream)],
  );
  const extraPipes: ExtraPipe[] = [];
  for (let handle = 3; handle < 3 + extra.length; handle += 1) {
    const stream = child.stdio[handle];
    if (stream instanceof Duplex) extraPipes.push(new LazyPipe(stream, handle, queueBytes));
  }
  return {
    child,
    pid,
    outputs,
    input: child.stdin === null ? undefined : new PipeInput(child.stdin, queueBytes),
    extraPipes,
    resize: undefined,
    onExit: () => {},
    destroy: () => {
      child.stdin?.destroy();
      for (const output of outputs) output.destroy();
      for (const pipe of extraPipes) pipe.socket.destroy();
    },
  };
}
