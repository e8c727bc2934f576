import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext, RunContext } from '../context.js';
import { expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { callHttp, type HttpAnswer, type HttpCall } from '../target/http.js';
import { TOOLS } from './registry/packages.js';
import { Registry } from './registry/registry.js';

/** What a request says; `packageName` is the package of tools unless given. */
export type ToolRequest = Readonly<Record<string, unknown>>;

/** A client of one executor. */
export class ExecutorSession {
  readonly context: CheckContext;
  readonly #registry: Registry | undefined;

  constructor(context: CheckContext, registry: Registry | undefined) {
    this.context = context;
    this.#registry = registry;
  }

  call(call: HttpCall): Promise<HttpAnswer> {
    return callHttp(this.context, call);
  }

  get(path: string): Promise<HttpAnswer> {
    return this.call({ method: 'GET', path });
  }

  /** Asks as a browser does before the request itself: without the key. */
  preflight(path: string): Promise<HttpAnswer> {
    const headers = { origin: 'http://127.0.0.1', 'access-control-request-method': 'POST', authorization: undefined };
    return this.call({ method: 'OPTIONS', path, headers });
  }

  /** Sends any body to `/execute-tool`. */
  post(body: unknown, headers: HttpCall['headers'] = {}): Promise<HttpAnswer> {
    return this.call({ method: 'POST', path: '/execute-tool', body, headers });
  }

  /** The suite's registry. Without one the check does not apply. */
  registry(): Registry {
    if (this.#registry === undefined) throw new NotApplicable('it needs the packages of the suite: --registry-port');
    return this.#registry;
  }

  /** What a check asks for: of the packages of the suite, or of the public registry where the target cannot use them. */
  choose<T>(ofTheSuite: T, ofThePublic: T): T {
    return this.#registry === undefined ? ofThePublic : ofTheSuite;
  }

  /** Runs a tool of the suite. */
  tool(name: string, request: ToolRequest = {}): Promise<HttpAnswer> {
    this.registry();
    return this.post({ packageName: TOOLS, name, ...request });
  }

  /** What a tool of the suite returned. */
  async output(name: string, request: ToolRequest = {}): Promise<unknown> {
    return outputOf(await this.tool(name, request));
  }

  /** What `/info` says, or nothing where there is no such endpoint. */
  async info(): Promise<JsonObject> {
    const { status, json } = await this.get('/info');
    if (status === 404) throw new NotApplicable('there is no /info');
    return objectOf(json, 'the body of /info');
  }

  async capabilities(): Promise<JsonObject> {
    return objectOf((await this.info())['capabilities'], 'capabilities');
  }

  /** For checks of what only an executor can do that gives tools a process of their own, and that could wedge any other. */
  async requireIsolation(): Promise<void> {
    this.registry();
    const { isolation } = await this.capabilities();
    if (isolation === undefined || isolation === 'none') {
      throw new NotApplicable('the executor does not say that it isolates tools');
    }
  }
}

/** The output of a successful answer. Fails for any other. */
export function outputOf({ status, json, text }: HttpAnswer): unknown {
  const body = objectOf(json, 'the body');
  expectThat(status === 200 && body['success'] === true, '200 with success: true', `${status} ${text}`);
  return body['output'];
}

export interface StructuredError {
  readonly code: string;
  readonly message: string;
}

/** The error of a body that has the structure of errors. Fails for any other. */
export function errorOf({ json, text, status }: HttpAnswer): StructuredError {
  const body = objectOf(json, 'the body');
  const { error } = body;
  const { code, message } = isObject(error) ? error : {};
  if (body['success'] === false && typeof code === 'string' && typeof message === 'string' && message !== '') {
    return { code, message };
  }
  const expected = 'success: false, and an error with code and message';
  throw new CheckFailed({ expected, cameBack: `${status} ${text}` });
}

/** Expects an answer of 200 that says that the execution failed with this code. */
export function expectFailure(answer: HttpAnswer, code: string): StructuredError {
  const error = errorOf(answer);
  expectThat(answer.status === 200, 'status 200', `${answer.status} ${answer.text}`);
  expectThat(error.code === code, `the code ${code}`, answer.text);
  return error;
}

/** Expects a status and a structured error. */
export function expectRefusal(answer: HttpAnswer, status: number): StructuredError {
  expectThat(answer.status === status, `status ${status}`, `${answer.status} ${answer.text}`);
  return errorOf(answer);
}

/** A JSON object, or a failure. */
export function objectOf(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new CheckFailed({ expected: `${what} to be a JSON object`, cameBack: JSON.stringify(value) ?? 'nothing' });
}

/** Frees the port of the suite's registry. */
export async function closeRegistry({ settings }: RunContext): Promise<void> {
  const port = settings.get('registry-port');
  if (port !== undefined) await Registry.close(Number(port));
}

/** Connects to an executor, with the suite's registry where the target may use it. */
export async function openExecutor(context: CheckContext): Promise<ExecutorSession> {
  const port = context.settings.get('registry-port');
  if (port === undefined) return new ExecutorSession(context, undefined);
  const registry = await Registry.use(Number(port));
  context.defer(() => registry.release());
  return new ExecutorSession(context, registry);
}
