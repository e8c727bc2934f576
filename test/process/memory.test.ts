import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { laterStart } from './raw-client.js';

const MIB = 1024 * 1024;
const PROGRAM = fileURLToPath(new URL('fixtures/embedding-program.mjs', import.meta.url));

function memory(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

async function embedded(): Promise<{ readonly program: ChildProcess; readonly socket: WebSocket }> {
  const program = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void program.kill('SIGKILL'));
  const url = await new Promise<string>((resolve) =>
    program.stdout?.once('data', (line) => resolve(String(line).trim())),
  );
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once('open', resolve));
  return { program, socket };
}

describe('a program that embeds a server', () => {
  it.each([
    ['lines', 'exec yes', 8 * MIB],
    // Each byte is a piece of its own.
    ['single bytes', 'while :; do printf x; done', 100],
  ])(
    'stays within 64 MiB of what it had, while eight commands write %s',
    async (_name, script, least) => {
      const { program, socket } = await embedded();
      const send = (message: unknown): void => socket.send(JSON.stringify(message));
      let bytes = 0;
      let answers = 0;
      socket.on('message', (data) => {
        const text = String(data);
        if (text.startsWith('{"method":"process/output"')) bytes += text.length;
        else answers += 1;
      });
      send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
      send({ method: 'initialized' });
      await expect.poll(() => answers).toBe(1);
      const idle = memory(program.pid);
      for (let index = 0; index < 8; index += 1) {
        send({ id: 10 + index, method: 'process/start', params: laterStart(`y${index}`, script) });
      }
      let peak = 0;
      for (let round = 0; round < 50; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        peak = Math.max(peak, memory(program.pid));
      }
      expect(bytes).toBeGreaterThan(least);
      expect(peak - idle).toBeLessThan(64 * MIB);
    },
    40_000,
  );
});
