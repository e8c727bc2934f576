import { createServer } from 'node:http';
import type { Check } from '../check.js';
import { NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { bytesOf, type ExecClient } from './client.js';
import { type ExecSession, inLater } from './session.js';

const group = 'HTTP';
const level = 'RECOMMENDED';
const cites: readonly string[] = [];
const reason =
  'the text is older than http/request; clients of the later dialect reach the network of the target with it';

/** Serves one page on this machine until the check is over. */
async function page(context: CheckContext): Promise<string> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.writeHead(201, { 'x-page': 'yes' });
      response.end(`${request.method} ${request.headers['x-own']} ${Buffer.concat(parts)}`);
    });
  });
  context.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${isObject(address) ? address['port'] : 0}/`;
}

/** Sends a request to the page. Says that it cannot be asked when the target may not or cannot get there. */
async function ask(client: ExecClient, context: CheckContext, more: JsonObject): Promise<JsonObject> {
  const url = await page(context);
  const headers = [{ name: 'x-own', value: 'mine' }];
  const base = { method: 'POST', url, headers, bodyBase64: 'aGk=', timeoutMs: 5_000, redirectPolicy: 'follow' };
  const answer = await client.call('http/request', { ...base, requestId: 'r', ...more });
  const { result, error } = answer;
  if (isObject(error)) throw new NotApplicable(`the target does not reach a page of this machine: ${error['message']}`);
  expectThat(isObject(result), 'a result of http/request', answer);
  expectEqual(result['status'], 201, 'the status');
  const sent = Array.isArray(result['headers']) ? result['headers'].filter(isObject) : [];
  const own = sent.find(({ name }) => String(name).toLowerCase() === 'x-page');
  expectEqual(own?.['value'], 'yes', 'the header x-page of the answer');
  return result;
}

/** What `http/request` does. */
export const HTTP_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.http.request',
    title: 'http/request sends method, headers and body, and answers status, headers and body',
    level,
    reason,
    group,
    cites,
    run: inLater(async (client, { context }) => {
      const { bodyBase64 } = await ask(client, context, { streamResponse: false });
      expectEqual(bytesOf(bodyBase64).toString(), 'POST mine hi', 'the body');
    }),
  },
  {
    id: 'exec-server.http.stream',
    title: 'With streamResponse the body follows in numbered pieces, and the last one says done',
    level,
    reason,
    group,
    cites,
    run: inLater(async (client, { context }) => {
      await ask(client, context, { streamResponse: true });
      const isPiece = ({ method, params }: JsonObject): boolean =>
        method === 'http/request/bodyDelta' && isObject(params) && params['requestId'] === 'r';
      await client.until('the last piece of the body', (message) => {
        const { params } = message;
        return isPiece(message) && isObject(params) && params['done'] === true;
      });
      const pieces = client.log.filter(isPiece).flatMap(({ params }) => (isObject(params) ? [params] : []));
      expectEqual(
        pieces.map(({ seq }) => seq),
        pieces.map((_, index) => index + 1),
        'the numbers of the pieces',
      );
      const body = Buffer.concat(pieces.map(({ deltaBase64 }) => bytesOf(deltaBase64))).toString();
      expectEqual(body, 'POST mine hi', 'the body');
      expectEqual(pieces.at(-1)?.['error'], null, 'the error of the last piece');
    }),
  },
];
