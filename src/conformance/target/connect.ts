import { isSallyportError } from '../../errors/index.js';
import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import type { Codec } from './codec.js';
import { openCommand } from './command-channel.js';
import { Peer } from './peer.js';
import { openSocket } from './websocket-channel.js';

/** Starts the target's command, or connects to its WebSocket. Each call is a process or connection of its own. */
export async function connect<Message>(context: CheckContext, codec: Codec<Message>): Promise<Peer<Message>> {
  const { target } = context;
  try {
    const channel = target.kind === 'command' ? await openCommand(context, target) : await openSocket(context, target);
    return new Peer(context, channel, codec);
  } catch (error) {
    if (!isSallyportError(error)) throw error;
    throw new CheckFailed({ expected: 'a target that can be reached', cameBack: error.message });
  }
}
