// Evaluates one program for the flawed runner, in a context or worker of its own. It speaks JSON texts with the runner, so
// that no object of one realm meets another. The value of this script is a function.
({ post, parse, flaws }) => {
  const has = (name) => flaws.includes(name);
  const say = (message) => post(JSON.stringify(message));
  const AsyncFunction = (async () => {}).constructor;

  class Refused extends Error {}

  /** Copies a value that may cross, and throws for any other. */
  function safe(value, within = []) {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') {
      if (Number.isFinite(value) || has('nan-is-null')) return value;
      throw new Refused('a number that is not finite');
    }
    if (typeof value === 'bigint' && has('bigint-is-text')) return String(value);
    if (typeof value === 'function' && has('functions-are-null')) return null;
    if (typeof value !== 'object' || within.includes(value)) throw new Refused(`a ${typeof value} cannot cross`);
    const inner = [...within, value];
    if (Array.isArray(value)) return value.map((item) => safe(item, inner));
    if (!has('any-object') && Object.getPrototypeOf(value) !== Object.prototype) throw new Refused('no plain object');
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(entries.map(([name, item]) => [name, safe(item, inner)]));
  }

  const pending = new Map();
  const trusted = new WeakMap();
  let calls = 0;

  function call(providerName, { safeName, originalName }, args) {
    const body = has('all-arguments') && args.length > 1 ? args : args[0];
    const message = { type: 'tool_call', providerName, safeToolName: has('original-names') ? originalName : safeName };
    if (body !== undefined) message.input = has('unchecked-input') ? loose(body) : safe(body);
    else if (has('null-input')) message.input = null;
    calls += 1;
    const key = calls;
    return new Promise((resolve, reject) => {
      pending.set(key, { resolve, reject });
      say({ ...message, key });
    });
  }

  function loose(value) {
    try {
      return JSON.parse(JSON.stringify(value));
    } catch {
      return String(value);
    }
  }

  /** Calls only when somebody waits for it. */
  class Lazy extends Promise {
    static get [Symbol.species]() {
      return Promise;
    }
  }

  function proxy(name, tool) {
    const now = async (...args) => call(name, tool, args);
    if (has('no-promises'))
      return (...args) => Object.assign(Object.create({ constructor: Object }), thenable(now, args));
    if (!has('lazy-calls')) return now;
    return (...args) => Object.assign(new Lazy(() => {}), thenable(now, args));
  }

  // biome-ignore lint/suspicious/noThenProperty: a thenable in place of a promise is what these flaws are about.
  const thenable = (start, args) => ({ ['then']: (...handlers) => start(...args).then(...handlers) });

  function settle({ key, ok, result, error }) {
    const waiting = pending.get(key);
    pending.delete(key);
    if (ok) return waiting?.resolve(result);
    const failure = new Error(error.message);
    if (!has('error-without-code')) failure.code = error.code;
    trusted.set(failure, error);
    waiting?.reject(failure);
  }

  function word(value) {
    if (typeof value === 'string') return value;
    if (value === undefined) return has('undefined-is-empty') ? '' : 'undefined';
    if (has('logs-as-text')) return String(value);
    try {
      return JSON.stringify(value) ?? String(value);
    } catch (error) {
      if (has('logs-throw')) throw error;
      return String(value);
    }
  }

  /** The program as the body of a function that returns the value of its last expression. */
  function bodyOf(code) {
    const last = parse(code);
    return last === undefined ? code : `${code.slice(0, last.start)}return (${code.slice(last.start, last.end)});`;
  }

  function textOf(error) {
    try {
      return String(error?.message ?? error);
    } catch {
      return 'something was thrown';
    }
  }

  function failureOf(error) {
    const message = textOf(error);
    if (has('trusts-code') && error instanceof Error && error.code) return { code: error.code, message };
    const known = error instanceof Object && !has('forgets-trust') ? trusted.get(error) : undefined;
    if (known) return known;
    if (has('timeout-by-text') && message.includes('timed out')) return { code: 'timeout', message };
    if (has('memory-by-text') && message.includes('memory')) return { code: 'memory_limit', message };
    if (has('own-codes') && error?.name === 'SyntaxError') return { code: 'syntax_error', message };
    return { code: error instanceof Refused ? 'serialization_error' : 'runtime_error', message };
  }

  async function execute({ code, providers }) {
    for (const { name, tools } of providers) {
      const named = Object.entries(tools).map(([key, tool]) => [
        has('record-keys') ? key : tool.safeName,
        proxy(name, tool),
      ]);
      globalThis[name] = Object.fromEntries(named);
    }
    const write = (...args) => say({ type: 'log', line: args.map(word).join(has('comma-joined') ? ', ' : ' ') });
    globalThis.console = { log: write, info: write, error: write, warn: has('no-warn') ? () => {} : write };
    try {
      const result = await new AsyncFunction(bodyOf(code))();
      say({ type: 'done', outcome: result === undefined ? { ok: true } : { ok: true, result: safe(result) } });
    } catch (error) {
      say({ type: 'done', outcome: { ok: false, error: failureOf(error) } });
    }
  }

  return (text) => {
    const message = JSON.parse(text);
    if (message.type === 'execute') execute(message);
    else if (message.type === 'tool_result') settle(message);
    else for (const { reject } of pending.values()) reject(new Error('cancelled'));
  };
};
