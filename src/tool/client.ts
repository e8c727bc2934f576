import { SallyportError } from '../errors/index.js';
import { printable } from '../wire/index.js';
import type { ToolEvent } from './event-log.js';
import {
  type AsyncAccepted,
  type BatchResponse,
  type ExecuteAsyncInput,
  type ExecuteBatchInput,
  type ExecuteToolInput,
  type ExecuteToolResponse,
  type ExecutionStatus,
  type HealthResponse,
  type InfoResponse,
  type LoadAndDescribeResponse,
  PROTOCOL_VERSION,
  type ValidateToolInput,
  type ValidateToolResponse,
} from './messages.js';

export interface ToolClientOptions {
  readonly apiKey?: string;
  /** Another `fetch`, for proxies and tests. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface ToolClientCall {
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
  /** `no-cache`, `only-if-cached` or `max-age=<seconds>`. */
  readonly cacheControl?: string;
}

const BODY_CHARACTERS = 300;

/** Talks to any executor of the protocol. */
export class ToolClient {
  readonly #url: string;
  readonly #options: ToolClientOptions;

  constructor(url: string, options: ToolClientOptions = {}) {
    this.#url = url.replace(/\/+$/, '');
    this.#options = options;
  }

  health(call: ToolClientCall = {}): Promise<HealthResponse> {
    return this.#json('GET', '/health', undefined, call);
  }

  info(call: ToolClientCall = {}): Promise<InfoResponse> {
    return this.#json('GET', '/info', undefined, call);
  }

  /** Runs a tool. A tool that failed is an answer; a server that refuses throws TOOL_SERVER with its code as a fact. */
  execute(request: ExecuteToolInput, call: ToolClientCall = {}): Promise<ExecuteToolResponse> {
    return this.#json('POST', '/execute-tool', request, call);
  }

  /** Runs a tool and yields its events as they happen; the last is `result`. */
  async *stream(request: ExecuteToolInput, call: ToolClientCall = {}): AsyncGenerator<ToolEvent, void> {
    yield* this.#events('POST', '/execute-tool', request, call);
  }

  executeAsync(request: ExecuteAsyncInput, call: ToolClientCall = {}): Promise<AsyncAccepted> {
    return this.#json('POST', '/execute-async', request, call);
  }

  status(executionId: string, call: ToolClientCall = {}): Promise<ExecutionStatus> {
    return this.#json('GET', `/executions/${encodeURIComponent(executionId)}`, undefined, call);
  }

  cancel(executionId: string, call: ToolClientCall = {}): Promise<ExecutionStatus> {
    return this.#json('DELETE', `/executions/${encodeURIComponent(executionId)}`, undefined, call);
  }

  /** Yields the events of an execution, after the one that was seen last. */
  async *events(executionId: string, lastEventId = 0, call: ToolClientCall = {}): AsyncGenerator<ToolEvent, void> {
    yield* this.#events('GET', `/executions/${encodeURIComponent(executionId)}/events`, undefined, call, lastEventId);
  }

  validate(request: ValidateToolInput, call: ToolClientCall = {}): Promise<ValidateToolResponse> {
    return this.#json('POST', '/validate-tool', request, call);
  }

  describe(
    request: Pick<ExecuteToolInput, 'packageName' | 'version' | 'name' | 'env'>,
    call: ToolClientCall = {},
  ): Promise<LoadAndDescribeResponse> {
    return this.#json('POST', '/load-and-describe', request, call);
  }

  batch(request: ExecuteBatchInput, call: ToolClientCall = {}): Promise<BatchResponse> {
    return this.#json('POST', '/execute-batch', request, call);
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    call: ToolClientCall,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    const { apiKey, fetch = globalThis.fetch } = this.#options;
    const url = `${this.#url}${path}`;
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        headers: {
          'X-TPMJS-Protocol-Version': PROTOCOL_VERSION,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...(apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }),
          ...(call.idempotencyKey === undefined ? {} : { 'Idempotency-Key': call.idempotencyKey }),
          ...(call.cacheControl === undefined ? {} : { 'X-TPMJS-Cache-Control': call.cacheControl }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
    } catch (error) {
      if (call.signal?.aborted) throw error;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new SallyportError('TOOL_SERVER', `${url} cannot be reached: ${cause}`, { url }, { cause: error });
    }
    if (!response.ok) throw await refused(url, response);
    return response;
  }

  async #json<Answer>(method: string, path: string, body: unknown, call: ToolClientCall): Promise<Answer> {
    const response = await this.#send(method, path, body, call, { Accept: 'application/json' });
    // The protocol fixes the shape; a server that breaks it is found out by whoever reads the field.
    return (await response.json()) as Answer;
  }

  async *#events(
    method: string,
    path: string,
    body: unknown,
    call: ToolClientCall,
    after = 0,
  ): AsyncGenerator<ToolEvent, void> {
    const headers = { Accept: 'text/event-stream', ...(after > 0 ? { 'Last-Event-ID': String(after) } : {}) };
    const response = await this.#send(method, path, body, call, headers);
    if (response.body === null) return;
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== undefined) yield event;
      }
    }
  }
}

function eventOf(block: string): ToolEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).trimStart());
  }
  const data = fields.get('data');
  const name = fields.get('event');
  if (data === undefined || name === undefined) return undefined;
  return { id: Number(fields.get('id')), event: name as ToolEvent['event'], data: JSON.parse(data) };
}

async function refused(url: string, response: Response): Promise<SallyportError> {
  const text = await response.text().catch(() => '');
  let code = '';
  let message = text.slice(0, BODY_CHARACTERS);
  try {
    const body: { error?: { code?: unknown; message?: unknown } } = JSON.parse(text);
    code = String(body.error?.code ?? '');
    message = String(body.error?.message ?? message);
  } catch {
    // Not an executor, or something in front of it.
  }
  return new SallyportError('TOOL_SERVER', printable(`${url} answered ${response.status}: ${message}`, 500), {
    url,
    status: response.status,
    code,
  });
}
