// What an exec-server has to make of one message of a client, written down a second time.
import { judgeJson } from '../judge-json.mjs';

const MAX_ID_CHARS = 1_024;
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isId = (id) => (typeof id === 'string' ? id.length <= MAX_ID_CHARS : Number.isSafeInteger(id));

/** `nothing`, `malformed`, `request`, `notification` or `response`. */
export function judgeClientMessage(bytes, wireKind) {
  if (wireKind === 'lines' && /^[ \t\r]*$/.test(bytes.toString('latin1'))) return { kind: 'nothing' };
  const judged = judgeJson(bytes);
  if (judged === undefined || !isObject(judged.value)) return { kind: 'malformed' };
  const message = judged.value;
  const has = (name) => Object.hasOwn(message, name);
  // A name that only the prototype has is none.
  const method = has('method') ? message.method : undefined;
  if (method !== undefined) {
    if (typeof method !== 'string') return { kind: 'malformed' };
    if (!has('id')) return { kind: 'notification', message };
    return isId(message.id) ? { kind: 'request', message } : { kind: 'malformed' };
  }
  if (!isId(message.id)) return { kind: 'malformed' };
  return isObject(message.error) || has('result') ? { kind: 'response' } : { kind: 'malformed' };
}

/** What `initialize` has to lead to: a dialect, `refused`, or `unsure`. */
export function judgeInitialize(params) {
  if (params === undefined || params === null) return 'refused';
  if (!isObject(params) || typeof params.clientName !== 'string') return 'refused';
  const { maxChunkBytes = null, resumeSessionId = null } = params;
  if (maxChunkBytes !== null && !(Number.isSafeInteger(maxChunkBytes) && maxChunkBytes >= 0)) return 'refused';
  if (resumeSessionId !== null) return typeof resumeSessionId === 'string' ? 'unsure' : 'refused';
  return Object.hasOwn(params, 'resumeSessionId') ? 'later' : 'first';
}
