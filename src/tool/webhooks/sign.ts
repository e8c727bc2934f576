import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes a secret for callers that brought none. */
export function makeSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The bytes of a secret: base64 behind `whsec_`, as Standard Webhooks write it, or the text itself. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
}

/** The headers that let a receiver check who sent a webhook, and that it is no replay. */
export function signedHeaders(
  id: string,
  timestampSeconds: number,
  body: string,
  secret: string,
): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampSeconds), 'webhook-signature': `v1,${signature}` };
}
