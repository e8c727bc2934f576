// The runner's side of the protocol as a state machine to check against: what may come when, and what is owed.
import { isDeepStrictEqual } from 'node:util';
import { EXECUTE_ERROR_CODES } from '../../../dist/guest/index.js';
import { hold } from '../oracles.mjs';
import { judgeHostMessage } from './judge.mjs';
import { PROGRAMS, PROVIDERS } from './programs.mjs';

const CODES = new Set(EXECUTE_ERROR_CODES);
const TOOLS = new Set(
  PROVIDERS.flatMap(({ name, tools }) => Object.values(tools).map((tool) => `${name}.${tool.safeName}`)),
);
const KNOWN = new Map(PROGRAMS.map((program) => [program.code, program]));
/** A program with less than this may run out of time on a busy machine, whatever it does. */
const AMPLE_MS = 5_000;
const isText = (value) => typeof value === 'string';

/**
 *     asked ──started──▶ active ──tool_call*──▶ done
 *       └──done (refused, or cancelled before it started)
 */
export class RunnerModel {
  /** How we left, once we did. */
  left;
  #kind;
  #executions = [];
  #active;
  #calls = new Map();
  #counts = new Map();
  #violated = false;
  #noisy = false;

  constructor(wireKind) {
    this.#kind = wireKind;
  }

  known(name) {
    const [, index] = /^call(\d)$/.exec(name) ?? [];
    return index === undefined ? undefined : [...this.#calls.keys()][Number(index)];
  }

  count(type) {
    return this.#counts.get(type) ?? 0;
  }

  noise(bytes, { units }) {
    // Bytes below the framing of a WebSocket may be a frame by chance, so anything may follow.
    if (this.#kind === 'socket') this.#noisy = true;
    else for (const unit of units(bytes)) this.sent(unit, {});
  }

  sent(bytes) {
    // Nothing that follows a violation is looked at.
    if (this.#violated) return;
    const { kind, message } = judgeHostMessage(bytes, this.#kind);
    if (kind === 'close') this.#violated = true;
    if (kind === 'run' || kind === 'refuse' || kind === 'either') {
      this.#executions.push({ id: message.id, verdict: kind, message, state: 'asked', calls: [] });
    }
    if (kind === 'cancel') {
      for (const execution of this.#executions) {
        if (execution.id === message.id && execution.state !== 'done') execution.cancelled = true;
      }
    }
    if (kind === 'tool_result') {
      const call = this.#calls.get(message.callId);
      // Only the first answer counts, and only while somebody waits for it.
      if (call !== undefined && call.answer === undefined && call.execution.state !== 'done') call.answer = message;
    }
  }

  received(message) {
    hold(typeof message === 'object' && message !== null, `a message is ${JSON.stringify(message)}`);
    this.#counts.set(message.type, this.count(message.type) + 1);
    switch (message.type) {
      case 'started':
        return this.#started(message);
      case 'tool_call':
        return this.#toolCall(message);
      case 'done':
        this.#counts.set('call or done', this.count('call or done') + 1);
        return this.#done(message);
      case 'log':
        hold(this.#active?.message.options?.streamLogs === true, 'a log that nobody asked for');
        return hold(isText(message.line), 'a log without a line');
      default:
        return hold(false, `a runner sent ${JSON.stringify(message).slice(0, 200)}`);
    }
  }

  /** What must still come. */
  owed() {
    if (this.left === 'destroy' || this.#noisy) return undefined;
    if (this.#violated || this.left === 'end') return 'the end of the connection';
    return this.#unanswered();
  }

  /** What ends a session that does not end by itself. */
  rescue() {
    const open = this.#executions.filter(({ state }) => state !== 'done');
    return open.map(({ id }) => ({ send: { type: 'cancel', id } }));
  }

  owedAtClose(wireKind) {
    // The end of standard input is not the end of the session: what was asked is answered. A WebSocket closes both ways.
    return this.left === 'end' && wireKind === 'lines' && !this.#violated ? this.#unanswered() : undefined;
  }

  mayClose() {
    return this.#violated || this.left !== undefined || this.#noisy;
  }

  #unanswered() {
    const left = this.#executions.filter(({ state }) => state !== 'done');
    return left.length === 0
      ? undefined
      : `done of ${left.map(({ id }) => JSON.stringify(id).slice(0, 40)).join(', ')}`;
  }

  #started({ id }) {
    hold(this.#active === undefined, `started ${id} while ${this.#active?.id} is active`);
    const execution = this.#executions.find(
      (one) => one.id === id && one.state === 'asked' && one.verdict !== 'refuse',
    );
    hold(execution !== undefined, `started an execution that was not asked for: ${JSON.stringify(id).slice(0, 100)}`);
    execution.state = 'active';
    this.#active = execution;
  }

  #toolCall({ callId, providerName, safeToolName, input }) {
    const execution = this.#active;
    this.#counts.set('call or done', this.count('call or done') + 1);
    hold(execution !== undefined, 'a tool_call while nothing is active');
    hold(isText(callId) && !this.#calls.has(callId), `callId ${callId} is used again`);
    if (execution.verdict === 'run') {
      hold(
        TOOLS.has(`${providerName}.${safeToolName}`),
        `a call of ${providerName}.${safeToolName}, which is not there`,
      );
    }
    const program = KNOWN.get(execution.message.code);
    const alone = this.#executions.filter(({ id }) => id === execution.id).length === 1;
    if (program !== undefined && alone) {
      hold(execution.calls.length < (program.calls ?? 0), 'a call that the program does not make');
      hold(isDeepStrictEqual(input, { n: execution.calls.length }), `the input of a call is ${JSON.stringify(input)}`);
    }
    const call = { execution, answer: undefined };
    this.#calls.set(callId, call);
    execution.calls.push(call);
  }

  #done(message) {
    const { id, ok, durationMs, logs, error } = message;
    hold(typeof durationMs === 'number' && durationMs >= 0, `durationMs is ${durationMs}`);
    hold(Array.isArray(logs) && logs.every(isText), 'logs are not strings');
    hold(ok === true || ok === false, `ok is ${ok}`);
    if (ok) hold(error === undefined, 'an error although ok');
    else {
      hold(!Object.hasOwn(message, 'result'), 'a result although not ok');
      hold(CODES.has(error?.code) && isText(error.message), `the error is ${JSON.stringify(error)}`);
    }
    const execution = this.#executionOf(message);
    hold(execution !== undefined, `done for what was not asked, or is done: ${JSON.stringify(id).slice(0, 100)}`);
    this.#checkLogs(execution, logs);
    this.#checkOutcome(execution, message);
    if (execution === this.#active) this.#active = undefined;
    execution.state = 'done';
  }

  /** The same id may be asked for again while it runs: then the answer says which one it is for. */
  #executionOf({ id, ok, error }) {
    const open = this.#executions.filter((one) => one.id === id && one.state !== 'done');
    const asked = open.filter(({ state }) => state === 'asked');
    const waiting = asked[0];
    if (ok) return open.find((one) => one === this.#active);
    // A refusal may overtake the start of one that was asked for before.
    const refused = asked.find(({ verdict }) => verdict !== 'run');
    if (error.code === 'validation_error' && refused !== undefined) return refused;
    if (error.code === 'internal_error' && /another execution is active/.test(error.message)) return asked.at(-1);
    return open.find((one) => one === this.#active) ?? waiting;
  }

  #checkLogs({ message, verdict, id }, logs) {
    // Of two with one id nobody can tell which one an answer is for.
    if (verdict !== 'run' || this.#executions.filter((one) => one.id === id).length > 1) return;
    const { maxLogLines = 100, maxLogChars = 64_000 } = message.options ?? {};
    hold(logs.length <= maxLogLines, `${logs.length} lines of logs, ${maxLogLines} are allowed`);
    hold(logs.join('').length <= maxLogChars, `more than ${maxLogChars} characters of logs`);
  }

  #checkOutcome(execution, { ok, result, error, logs }) {
    const { verdict, message, state, cancelled, calls } = execution;
    if (verdict === 'refuse')
      return hold(error?.code === 'validation_error', `a bad execute ended as ${error?.code ?? 'ok'}`);
    if (error?.code === 'internal_error' && state === 'asked') {
      const others = this.#executions.some((one) => one !== execution);
      return hold(others, `refused although nothing else was asked for: ${error.message}`);
    }
    const program = KNOWN.get(message.code);
    // Of two with one id nobody can tell which one an answer is for.
    const alone = this.#executions.filter(({ id }) => id === message.id).length === 1;
    if (program === undefined || verdict !== 'run' || !alone) return undefined;
    hold(error?.code !== 'internal_error', `a program ended as internal_error: ${error?.message}`);
    const { timeoutMs = AMPLE_MS, memoryLimitBytes = 2 ** 26 } = message.options ?? {};
    const unanswered = calls.some(({ answer }) => answer === undefined);
    const mayTimeOut = cancelled || timeoutMs < AMPLE_MS || unanswered || this.left !== undefined;
    if (error?.code === 'timeout' && mayTimeOut) return undefined;
    if (error?.code === 'memory_limit' && memoryLimitBytes < 2 ** 24) return undefined;
    // Without providers the tools are not there.
    if (message.providers === undefined && /\b(tools|other)\b/.test(message.code)) return undefined;
    if (program.error !== undefined) {
      return hold(
        program.error.includes(error?.code),
        `${program.code}: ${error?.code ?? 'ok'} instead of ${program.error}`,
      );
    }
    const { maxLogLines, maxLogChars } = message.options ?? {};
    if (program.logs !== undefined && ok && maxLogLines === undefined && maxLogChars === undefined) {
      hold(isDeepStrictEqual(logs, program.logs), `the logs are ${JSON.stringify(logs)}`);
    }
    return checkAnswers(
      program,
      calls.map(({ answer }) => answer),
      { ok, result, error },
    );
  }
}

/** The outcome of a program follows from what its tools answered. */
function checkAnswers(program, answers, { ok, result, error }) {
  const shown = `${program.code}: ${JSON.stringify({ ok, result, error }).slice(0, 300)}`;
  if (program.answers === undefined) return hold(ok && isDeepStrictEqual(result, program.result), shown);
  const failed = answers.filter((answer) => answer?.ok === false);
  if (failed.length > 0 && program.answers !== 'caught') {
    // A trusted failure that nobody catches ends the program with its code and message.
    const fits = failed.some(({ error: given }) => {
      const code = CODES.has(given.code) ? given.code : 'tool_error';
      return error?.code === code && error.message === given.message;
    });
    return hold(fits, shown);
  }
  const values = answers.map((answer) => (answer?.ok ? answer.result : [codeOf(answer), answer?.error.message]));
  if (program.answers === 'all') {
    // An answer without a result is undefined, which an array cannot carry.
    if (values.includes(undefined)) return hold(error?.code === 'serialization_error', shown);
    return hold(ok && isDeepStrictEqual(result, values), shown);
  }
  return hold(ok && isDeepStrictEqual(result, values[0]), shown);
}

const codeOf = (answer) => (CODES.has(answer?.error.code) ? answer.error.code : 'tool_error');
