import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';
import { MAX_BODY_BYTES } from '../limits.js';

export interface HttpCall {
  readonly method: string;
  /** Relative to the target's address. */
  readonly path: string;
  /** Beside those of the body and of the key, or instead of them; one that is undefined is not sent at all. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as it is; a value that is neither text nor bytes as JSON, with its content type. */
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON, or undefined when it is none. */
  readonly json: unknown;
  readonly tookMs: number;
}

/** Sends one request to the target's address and reads the whole answer. Both are in the transcript. */
export async function callHttp(context: CheckContext, call: HttpCall): Promise<HttpAnswer> {
  const { target, transcript, deadline } = context;
  if (target.kind !== 'url') throw new NotApplicable('the target has no address');
  const url = new URL(`${target.url.replace(/\/$/, '')}${call.path}`);
  const { bytes, headers } = bodyOf(call.body);
  const sent = given({ ...headers, ...(target.token === undefined ? {} : bearer(target.token)), ...call.headers });
  const shown = `${call.method} ${call.path} ${JSON.stringify(hideToken(sent))} ${bytes.toString()}`;
  transcript.add('suite', shown.trimEnd());
  const began = performance.now();
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(url, { method: call.method, headers: sent, agent: false, signal: deadline.signal });
    // A check may leave a request unanswered; it must not outlive the check.
    context.defer(() => void request.destroy());
    request.on('response', (response) => {
      read(response).then((text) => {
        const status = response.statusCode ?? 0;
        resolve({ status, headers: response.headers, text, json: jsonOf(text), tookMs: performance.now() - began });
      }, reject);
    });
    request.on('error', reject);
    request.end(bytes);
  });
  const expected = `an answer to ${call.method} ${call.path}`;
  const late = (): Error => new CheckFailed({ expected, cameBack: `nothing within ${deadline.limitMs} ms` });
  try {
    const found = await deadline.wait(answer, late);
    transcript.add('target', `${found.status} ${JSON.stringify(found.headers)} ${found.text}`);
    return found;
  } catch (error) {
    if (error instanceof CheckFailed) throw error;
    throw new CheckFailed({ expected, cameBack: error instanceof Error ? error.message : String(error) });
  }
}

function bodyOf(body: unknown): { readonly bytes: Buffer; readonly headers: Record<string, string> } {
  if (body === undefined) return { bytes: Buffer.alloc(0), headers: {} };
  if (typeof body === 'string' || body instanceof Uint8Array) return withLength(Buffer.from(body), {});
  return withLength(Buffer.from(JSON.stringify(body)), { 'content-type': 'application/json' });
}

function withLength(bytes: Buffer, headers: Record<string, string>) {
  return { bytes, headers: { ...headers, 'content-length': String(bytes.length) } };
}

function given(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** A transcript may be shown to others; a key may not. */
function hideToken(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name.toLowerCase() === 'authorization' ? 'Bearer …' : value]),
  );
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`a body of more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
