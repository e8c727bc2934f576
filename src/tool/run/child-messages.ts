import { z } from 'zod';
import { CHILD_ERROR_CODES, CHILD_PHASES, type ChildJob, FOUND_BY, type FromChild } from '../child/protocol.js';

const ToolDescription = z.object({
  foundBy: z.enum(FOUND_BY),
  description: z.string().exactOptional(),
  inputSchema: z.unknown().exactOptional(),
  params: z.object({ fit: z.boolean(), problems: z.array(z.string()) }).exactOptional(),
});

const ANSWERS = {
  execute: ['preliminary', 'result'],
  describe: ['described'],
  inspect: ['inspected'],
} as const satisfies Record<ChildJob['mode'], readonly FromChild['type'][]>;

const Message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded') }),
  z.object({ type: z.literal('preliminary'), output: z.unknown() }),
  z.object({ type: z.literal('result'), output: z.unknown() }),
  z.object({ type: z.literal('described'), tool: ToolDescription }),
  z.object({ type: z.literal('inspected'), shape: z.string() }),
  z.object({
    type: z.literal('error'),
    code: z.enum(CHILD_ERROR_CODES),
    phase: z.enum(CHILD_PHASES),
    message: z.string(),
    errorName: z.string().exactOptional(),
  }),
  z.object({ type: z.literal('crash'), message: z.string() }),
]);

/**
 * Reads what a child says. The tool shares its process, so every word may be the tool's: nothing passes but what a tool may
 * say of itself, in answer to what it was asked. Throws for anything else.
 */
export function readFromChild(value: unknown, mode: ChildJob['mode']): FromChild {
  const message: FromChild = Message.parse(value);
  const { type } = message;
  const always = type === 'loaded' || type === 'error' || type === 'crash';
  const answers: readonly FromChild['type'][] = ANSWERS[mode];
  if (!always && !answers.includes(type)) throw new TypeError(`${type} is no answer to ${mode}`);
  return message;
}
