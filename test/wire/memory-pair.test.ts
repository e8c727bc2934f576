import { memoryPair } from '../../src/wire/memory-pair.js';
import { type Message, transportContract } from './transport-contract.js';

transportContract('an in-memory pair', async () => {
  const [left, right] = memoryPair<Message>();
  return { left, right, dispose: () => left.terminate() };
});
