import { isSallyportError, SallyportError } from '../../errors/index.js';
import type { Transport } from '../../wire/index.js';
import { ExecError } from '../exec-error.js';
import { pathFor } from '../fields.js';
import type { StartParams } from '../handler.js';
import type { Dialect, WriteStatus } from '../messages.js';
import { answer, eventOf, readChunks } from './answers.js';
import { HANDSHAKE_TIMEOUT_MS, RESUME_PAUSE_MAX_MS, RESUME_PAUSE_MS, RESUME_TIMEOUT_MS } from './limits.js';
import type { ExecPeer, PeerEvents } from './peer.js';
import { remoteFiles } from './remote-files.js';
import { Rpc } from './rpc.js';

export interface RemotePeerOptions {
  readonly clientName: string;
  readonly handshakeTimeoutMs?: number | undefined;
  /** How long a lost session is tried to be resumed; 0 for never. */
  readonly resumeTimeoutMs?: number | undefined;
}

const WRITE_STATUSES: readonly WriteStatus[] = ['accepted', 'unknownProcess', 'stdinClosed', 'starting'];

type Open = () => Promise<Transport<unknown, unknown>>;

/**
 * A server at the other end of a transport.
 *
 *     connecting ──▶ open ──transport lost──▶ resuming ──▶ open
 *                      └──close()──▶ closed ◀──┘ (time is up, session unknown, or no way to connect again)
 *
 * Requests that do nothing twice are sent again after a resume; the others fail with PROCESS_CONNECTION_LOST.
 */
export async function remotePeer(
  first: Transport<unknown, unknown>,
  reconnect: Open | undefined,
  options: RemotePeerOptions,
  events: PeerEvents,
): Promise<ExecPeer> {
  let dialect: Dialect = 'later';
  let sessionId: string | undefined;
  let transport = first;
  let leaving = false;
  const rpc = new Rpc((method, params) => {
    const event = eventOf(method, params, dialect);
    return event === undefined ? undefined : events.onEvent(event);
  });

  const handshake = async (): Promise<void> => {
    const timeoutMs = options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS;
    let timer: NodeJS.Timeout | undefined;
    const failed = new Promise<never>((_resolve, reject) => {
      const fail = (reason: string): void => reject(new SallyportError('PROCESS_HANDSHAKE', `no handshake: ${reason}`));
      timer = setTimeout(() => fail(`the server did not answer within ${timeoutMs} ms`), timeoutMs);
      transport.onClose(({ message }) => fail(message));
    });
    failed.catch(() => {});
    const params = { clientName: options.clientName, resumeSessionId: sessionId ?? null };
    try {
      const result = await Promise.race([rpc.request('initialize', params), failed]);
      // A server of the first dialect knows no sessions and answers with nothing.
      sessionId = answer('initialize', result, 'later', (fields) => fields.optionalString('sessionId'));
      dialect = sessionId === undefined ? 'first' : 'later';
    } finally {
      clearTimeout(timer);
    }
    rpc.notify('initialized', {});
  };

  let over = false;
  const give = (reason: Error | undefined): void => {
    if (over) return;
    over = true;
    rpc.fail(reason ?? new SallyportError('PROCESS_CONNECTION_LOST', 'the client is closed'));
    events.onClosed(reason);
  };

  const watch = (): void => {
    const watched = transport;
    watched.onClose(({ message }) => {
      if (transport !== watched) return;
      rpc.detach();
      if (leaving) return give(undefined);
      void resume(message);
    });
  };

  const resume = async (lost: string): Promise<void> => {
    const deadline = performance.now() + (options.resumeTimeoutMs ?? RESUME_TIMEOUT_MS);
    let problem = lost;
    for (let pause = RESUME_PAUSE_MS; reconnect !== undefined && sessionId !== undefined; pause *= 2) {
      if (leaving || performance.now() >= deadline) break;
      try {
        transport = await reconnect();
        // Whoever closed meanwhile could only close the connection that was lost.
        if (leaving) return transport.terminate();
        rpc.attach(transport);
        await handshake();
        watch();
        rpc.repeat();
        events.onResumed();
        return;
      } catch (error) {
        rpc.detach();
        transport.terminate();
        problem = error instanceof Error ? error.message : String(error);
        // The server may not have noticed yet that the old connection is gone; anything else it refuses is final.
        if (error instanceof ExecError && error.kind !== 'sessionAttached') break;
        if (!(error instanceof ExecError) && !isSallyportError(error)) break;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(pause, RESUME_PAUSE_MAX_MS)));
    }
    give(new SallyportError('PROCESS_CONNECTION_LOST', `the connection was lost: ${problem}`));
  };

  rpc.attach(transport);
  try {
    await handshake();
  } catch (error) {
    transport.terminate();
    throw error;
  }
  watch();

  const path = (native: string): string => pathFor(dialect, native);
  const empty = (): void => {};
  return {
    get dialect() {
      return dialect;
    },
    get sessionId() {
      return sessionId;
    },
    fs: remoteFiles(rpc, () => dialect),
    async start(params) {
      await rpc.request('process/start', startMessage(params, path), 'once');
    },
    begin: empty,
    async read(processId, afterSeq, maxBytes, waitMs) {
      const params = { processId, afterSeq, maxBytes: maxBytes ?? null, waitMs: waitMs ?? null };
      const result = await rpc.request('process/read', params, 'repeatable');
      return answer('process/read', result, dialect, (fields) => ({
        chunks: readChunks(fields),
        nextSeq: fields.integer('nextSeq'),
        exited: fields.boolean('exited'),
        exitCode: fields.optionalSigned('exitCode') ?? null,
        closed: fields.booleanOr('closed', 'false'),
        firstSeq: fields.optionalInteger('firstSeq'),
      }));
    },
    async timedOut(processId) {
      try {
        const result = await rpc.request('process/wait', { processId, waitMs: 0 }, 'repeatable');
        return answer('process/wait', result, dialect, (fields) => fields.booleanOr('timedOut', 'false'));
      } catch (error) {
        // Other servers know neither this question nor such an end.
        if (error instanceof ExecError) return false;
        throw error;
      }
    },
    async write(processId, bytes, writeId) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
      const result = await rpc.request('process/write', { processId, chunk, writeId }, 'repeatable');
      // The first dialect has no other answer than a refusal.
      if (dialect === 'first') return 'accepted';
      return answer('process/write', result, dialect, (fields) => fields.oneOf('status', WRITE_STATUSES));
    },
    closeStdin: (processId) => rpc.request('process/closeStdin', { processId }, 'repeatable').then(empty),
    resize: (processId, size) => rpc.request('process/resize', { processId, ...size }, 'repeatable').then(empty),
    signal: (processId, signal) => rpc.request('process/signal', { processId, signal }, 'once').then(empty),
    async terminate(processId, graceMs) {
      const params = { processId, ...(graceMs > 0 ? { graceMs } : {}) };
      const result = await rpc.request('process/terminate', params, 'repeatable');
      return answer('process/terminate', result, dialect, (fields) => fields.boolean('running'));
    },
    async list() {
      const result = await rpc.request('process/list', {}, 'repeatable');
      return answer('process/list', result, dialect, (fields) =>
        fields.objects('processes').map((entry) => ({
          processId: entry.string('processId'),
          pid: entry.integer('pid'),
          argv: entry.strings('argv'),
          tty: entry.boolean('tty'),
          running: entry.boolean('running'),
          exitCode: entry.optionalSigned('exitCode') ?? null,
          closed: entry.boolean('closed'),
        })),
      );
    },
    async environmentInfo() {
      const result = await rpc.request('environment/info', null, 'repeatable');
      return answer('environment/info', result, dialect, (fields) => {
        const shell = fields.optionalObject('shell');
        const capabilities = fields.optionalObject('capabilities');
        return {
          shell: { name: shell?.string('name') ?? '', path: shell?.string('path') ?? '' },
          cwd: fields.place('cwd'),
          capabilities: capabilities?.booleans() ?? {},
        };
      });
    },
    async httpRequest(request) {
      const { method, url, headers, body, timeoutMs, redirectPolicy, requestId, streaming } = request;
      const params = {
        method,
        url,
        headers,
        ...(body === undefined ? {} : { bodyBase64: body.toString('base64') }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        redirectPolicy,
        requestId,
        streamResponse: streaming === 'stream',
      };
      const result = await rpc.request('http/request', params);
      return answer('http/request', result, dialect, (fields) => ({
        status: fields.integer('status'),
        headers: fields
          .objects('headers')
          .map((header) => ({ name: header.string('name'), value: header.string('value') })),
        body: fields.bytes('bodyBase64'),
      }));
    },
    close() {
      leaving = true;
      return new Promise((resolve) => {
        transport.onClose(() => {
          // While the session is being resumed, nobody else says that it is over.
          give(undefined);
          resolve();
        });
        transport.close('the client is done');
      });
    },
  };
}

function startMessage(params: StartParams, path: (native: string) => string): unknown {
  const { processId, argv, cwd, env, tty, arg0, pipeStdin, envPolicy, size, timeoutMs } = params;
  return {
    processId,
    argv,
    cwd: path(cwd),
    env,
    tty,
    arg0: arg0 ?? null,
    ...(pipeStdin ? { pipeStdin } : {}),
    ...(envPolicy === undefined ? {} : { envPolicy }),
    ...(size === undefined ? {} : { size }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}
