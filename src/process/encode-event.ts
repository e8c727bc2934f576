import { EncodedJson } from '../wire/index.js';
import type { SessionEvent } from './events.js';
import type { Dialect } from './messages.js';

const NEWLINE = 0x0a;

/** Makes the notification of an event, as a value. */
export function notificationOf(event: SessionEvent, dialect: Dialect): unknown {
  const later = dialect === 'later';
  switch (event.type) {
    case 'output': {
      const { processId, seq, stream, bytes } = event;
      const chunk = bytes.toString('base64');
      return { method: 'process/output', params: { processId, ...(later ? { seq } : {}), stream, chunk } };
    }
    case 'exited': {
      const { processId, seq, exitCode } = event;
      const timedOut = event.timedOut ? { timedOut: true } : {};
      const more = later ? { sandboxDenied: false } : {};
      return {
        method: 'process/exited',
        params: { processId, ...(later ? { seq } : {}), exitCode, ...more, ...timedOut },
      };
    }
    case 'closed':
      return { method: 'process/closed', params: { processId: event.processId, seq: event.seq } };
    case 'bodyDelta': {
      const { requestId, seq, bytes, done, error } = event;
      const deltaBase64 = bytes.toString('base64');
      return { method: 'http/request/bodyDelta', params: { requestId, seq, deltaBase64, done, error } };
    }
  }
}

/**
 * Writes the notification of output straight into its line: base64 once, copied once. All of it is ASCII, because what
 * is not is escaped in the name.
 */
export function encodeOutput(event: Extract<SessionEvent, { type: 'output' }>, dialect: Dialect): EncodedJson {
  const seq = dialect === 'later' ? `,"seq":${event.seq}` : '';
  const head = `{"method":"process/output","params":{"processId":${asciiJson(event.processId)}${seq},"stream":"${event.stream}","chunk":"`;
  const chunk = event.bytes.toString('base64');
  const line = Buffer.allocUnsafe(head.length + chunk.length + 4);
  line.write(head, 0, 'latin1');
  line.write(chunk, head.length, 'latin1');
  line.write('"}}', head.length + chunk.length, 'latin1');
  line[line.length - 1] = NEWLINE;
  return new EncodedJson(line);
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
