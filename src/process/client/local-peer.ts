import { setMaxListeners } from 'node:events';
import type { SessionEvent } from '../events.js';
import type { ExecHandler } from '../handler.js';
import type { ManagedProcess } from '../managed-process.js';
import type { ExecPeer, PeerEvents } from './peer.js';

/** A server in this very process: its handler is called directly, without JSON, routing or transport. */
export function localPeer(handler: ExecHandler, events: PeerEvents): ExecPeer {
  const { sessions, limits } = handler;
  const session = sessions.open({ dialect: 'later', principal: '', maxChunkBytes: limits.laterChunkBytes });
  const started = new Map<string, ManagedProcess>();
  const forever = new AbortController();
  setMaxListeners(0, forever.signal);
  session.attach({
    deliver: (event: SessionEvent) => {
      const held = events.onEvent(event);
      if (held === undefined) return 'more';
      void held.then(() => session.ready());
      return 'wait';
    },
  });
  return {
    dialect: 'later',
    sessionId: session.id,
    get fs() {
      return handler.fileSystem;
    },
    async start(params) {
      started.set(params.processId, await handler.start(session, params));
    },
    begin(processId) {
      started.get(processId)?.begin();
      started.delete(processId);
    },
    read: (processId, afterSeq, maxBytes, waitMs) =>
      handler.read(session, { processId, afterSeq, maxBytes, waitMs }, forever.signal),
    async timedOut(processId) {
      return (await handler.wait(session, processId, 0, forever.signal)).timedOut;
    },
    write: (processId, bytes, writeId) =>
      handler.write(session, processId, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), writeId),
    async closeStdin(processId) {
      await handler.closeStdin(session, processId);
    },
    async resize(processId, size) {
      await handler.resize(session, processId, size);
    },
    async signal(processId, signal) {
      await handler.signal(session, processId, signal);
    },
    terminate: (processId, graceMs) => handler.terminate(session, processId, graceMs),
    async list() {
      return handler.list(session);
    },
    async environmentInfo() {
      return handler.environmentInfo();
    },
    async httpRequest(request) {
      const { status, headers, body, begin } = await handler.http.send(session, request);
      // Events of the body must not overtake this answer.
      setImmediate(begin);
      return { status, headers, body };
    },
    async close() {
      forever.abort();
      await sessions.end(session);
      events.onClosed(undefined);
    },
  };
}
