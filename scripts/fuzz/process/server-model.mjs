// The server's side of the exec-server protocol as a state machine to check against.
import { isUtf8 } from 'node:buffer';
import { hold } from '../oracles.mjs';
import { judgeClientMessage, judgeInitialize } from './judge.mjs';
import { ProcessModel } from './process-model.mjs';
import { checkResult } from './results.mjs';

const CODES = new Set([-32600, -32601, -32602, -32603, -32004, -32010]);
const NOTIFICATIONS = new Set(['process/output', 'process/exited', 'process/closed']);
const keyOf = (id) => JSON.stringify(id);

/**
 *     new ──initialize──▶ initializing ──initialized──▶ open
 *
 * Requests are looked at in the order of arrival, so what each must meet is known when it is sent.
 */
export class ServerModel {
  left;
  #kind;
  #scratch;
  #state = 'new';
  #dialect;
  /** Requests without an answer, by id: a client may use one twice. */
  #pending = new Map();
  #processes = new Map();
  #asked = new Set();
  /** Processes that somebody wrote to, signalled or ended, perhaps before their start was answered. */
  #touched = new Set();
  #counts = new Map();
  /** Whether two requests had one id, so that nobody knows which one was answered. */
  #ambiguous = false;
  #violated = false;
  #noisy = false;

  constructor(wireKind, scratch) {
    this.#kind = wireKind;
    this.#scratch = scratch;
  }

  known(name) {
    return name === 'scratch' ? this.#scratch : undefined;
  }

  count(kind) {
    return this.#counts.get(kind) ?? 0;
  }

  noise(bytes, { units }) {
    if (this.#kind === 'socket') this.#noisy = true;
    else for (const unit of units(bytes)) this.sent(unit);
  }

  sent(bytes, { binary = false } = {}) {
    if (this.#violated) return;
    // Text that is not UTF-8 is no frame of a WebSocket, whatever the dialect says.
    if (this.#kind === 'socket' && !binary && !isUtf8(bytes)) {
      this.#violated = true;
      return;
    }
    const { kind, message } = judgeClientMessage(bytes, this.#kind);
    if (kind === 'response') this.#violated = true;
    if (kind === 'notification') this.#notified(message);
    if (kind === 'malformed') {
      if (this.#dialect === 'first' || this.#dialect === undefined) this.#violated = true;
      else this.#expect({ id: -1, method: undefined, outcome: this.#dialect === 'unsure' ? 'any' : 'refused' });
    }
    if (kind === 'request') this.#requested(message);
  }

  received(message) {
    hold(typeof message === 'object' && message !== null, `a message is ${JSON.stringify(message)}`);
    if (message.method !== undefined) return this.#heard(message);
    this.#counts.set('response', this.count('response') + 1);
    const { id, error } = message;
    const hasResult = Object.hasOwn(message, 'result');
    hold(
      hasResult !== (error !== undefined),
      `not exactly one of result and error: ${JSON.stringify(message).slice(0, 200)}`,
    );
    if (error !== undefined) {
      hold(CODES.has(error.code) && typeof error.message === 'string', `the error is ${JSON.stringify(error)}`);
    }
    const request = this.#answered(id, error);
    const shown = `${request.method} got ${JSON.stringify(error ?? message.result).slice(0, 300)}`;
    if (request.outcome === 'refused') hold(error !== undefined, `${shown}, and had to be refused`);
    if (request.outcome === 'accepted') hold(error === undefined, `${shown}, and had to be accepted`);
    if (request.code !== undefined && error !== undefined)
      hold(error.code === request.code, `${shown} instead of ${request.code}`);
    if (request.method === 'initialize' && this.#dialect === 'unsure') this.#dialect = hasResult ? 'later' : undefined;
    if (request.outcome === 'any') this.#ambiguous = true;
    if (!hasResult || request.outcome === 'any') return;
    checkResult(request, message.result, this.#dialect);
    if (request.method === 'process/start') this.#started(request);
    if (request.method === 'process/terminate') this.#processes.get(request.params.processId)?.interfered();
  }

  owed() {
    if (this.left === 'destroy' || this.#noisy) return undefined;
    if (this.#violated || this.left === 'end') return 'the end of the connection';
    const waiting = [...this.#pending.values()].flat();
    if (waiting.length > 0) return `the answer to ${waiting[0].method} (${keyOf(waiting[0].id).slice(0, 40)})`;
    for (const [id, process] of this.#processes) if (process.owesEnd) return `the end of process ${id}`;
    return undefined;
  }

  /** The end of a connection ends its processes, and nobody waits for them. */
  owedAtClose() {
    return undefined;
  }

  mayClose() {
    return this.#violated || this.left !== undefined || this.#noisy;
  }

  /** Ends whatever runs or is about to, so that long polls and slow commands end too. */
  rescue() {
    const names = new Set([...this.#processes.keys(), ...this.#asked].filter((name) => typeof name === 'string'));
    return [...names].map((processId, index) => ({
      send: { id: `rescue-${index}`, method: 'process/terminate', params: { processId } },
    }));
  }

  #expect(request) {
    const key = keyOf(request.id);
    this.#pending.set(key, [...(this.#pending.get(key) ?? []), request]);
  }

  /** Answers to one id may come in any order: a refusal is for one that may be refused. */
  #answered(id, error) {
    const key = keyOf(id);
    const waiting = this.#pending.get(key) ?? [];
    hold(waiting.length > 0, `an answer that nobody asked for: ${key?.slice(0, 100)}`);
    const avoid = error === undefined ? 'refused' : 'accepted';
    const at = Math.max(
      0,
      waiting.findIndex(({ outcome }) => outcome !== avoid),
    );
    const [request] = waiting.splice(at, 1);
    if (waiting.length > 0) request.outcome = 'any';
    return request;
  }

  #notified({ method }) {
    if (method !== 'initialized' || this.#state === 'new') {
      // Whether `initialize` went well may not be known yet.
      if (method === 'initialized' && this.#dialect === 'unsure') this.#noisy = true;
      else this.#violated = true;
      return;
    }
    this.#state = 'open';
  }

  #requested({ id, method, params }) {
    if (method === 'initialize') return this.#initialize(id, params);
    const request = { id, method, params, outcome: 'either', code: undefined };
    if (this.#dialect === 'unsure') request.outcome = 'any';
    else if (this.#state !== 'open') request.outcome = 'refused';
    else if (method === 'process/start') {
      request.repeated = this.#asked.has(params?.processId);
      this.#asked.add(params?.processId);
      ProcessModel.judgeStart(request, this.#processes, this.#dialect);
    } else if (/unknown/.test(method))
      Object.assign(request, { outcome: 'refused', code: this.#dialect === 'first' ? -32600 : -32601 });
    if (
      method === 'process/signal' ||
      method === 'process/closeStdin' ||
      method === 'process/write' ||
      method === 'process/terminate'
    ) {
      this.#touched.add(params?.processId);
      this.#processes.get(params?.processId)?.interfered();
    }
    return this.#expect(request);
  }

  #initialize(id, params) {
    const verdict = judgeInitialize(params);
    if (this.#state !== 'new' || verdict === 'refused')
      return this.#expect({ id, method: 'initialize', params, outcome: 'refused' });
    this.#dialect = verdict;
    // A session that is to be resumed is not there, but the answer is what tells.
    if (verdict === 'unsure') this.#noisy = true;
    else this.#state = 'initializing';
    return this.#expect({ id, method: 'initialize', params, outcome: verdict === 'unsure' ? 'either' : 'accepted' });
  }

  #started(request) {
    const { processId } = request.params;
    hold(!this.#processes.get(processId)?.running, `process ${processId} was started twice`);
    const process = new ProcessModel(request, this.#dialect);
    if (this.#touched.has(processId)) process.interfered();
    this.#processes.set(processId, process);
  }

  #heard({ method, params, id }) {
    hold(id === undefined && NOTIFICATIONS.has(method), `a notification is ${method}`);
    const process = this.#processes.get(params?.processId);
    if (process === undefined && this.#ambiguous) return;
    hold(process !== undefined, `${method} of ${JSON.stringify(params?.processId)}, which was not started`);
    process.heard(method, params);
    this.#counts.set(method, this.count(method) + 1);
  }
}
