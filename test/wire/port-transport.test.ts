import { MessageChannel, Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { portTransport } from '../../src/wire/port-transport.js';
import { type Message, transportContract } from './transport-contract.js';

transportContract('a MessagePort', async () => {
  const { port1, port2 } = new MessageChannel();
  return {
    left: portTransport<Message, Message>(port1),
    right: portTransport<Message, Message>(port2),
    dispose: () => {
      port1.close();
      port2.close();
    },
  };
});

describe('a port whose worker dies', () => {
  it('closes with the exit code of the worker', async () => {
    const worker = new Worker('setTimeout(() => process.exit(3), 10)', { eval: true });
    const transport = portTransport<Message, Message>(worker);
    const reason = await new Promise<{ kind: string; message: string }>((resolve) => transport.onClose(resolve));
    expect(reason).toMatchObject({ kind: 'peer-closed', message: 'the worker exited with code 3' });
  });

  it('closes with the error that the worker did not catch', async () => {
    const worker = new Worker('throw new Error("broken on purpose")', { eval: true });
    const transport = portTransport<Message, Message>(worker);
    const reason = await new Promise<{ kind: string; message: string }>((resolve) => transport.onClose(resolve));
    expect(reason).toMatchObject({ kind: 'error', message: 'broken on purpose' });
  });
});
