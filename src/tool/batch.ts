import type { z } from 'zod';
import { referencesIn, wire } from './batch-wiring.js';
import { failure, failureFields, failureOf, type ToolFailure, ToolFailureError } from './failure.js';
import type { ToolLimits } from './limits.js';
import {
  BatchItem,
  type BatchResponse,
  type ExecuteBatchRequest,
  ExecuteToolRequest,
  type ExecuteToolResponse,
} from './messages.js';
import { parseRequest } from './request.js';

type ItemResult = BatchResponse['results'][number];
type RunItem = (
  request: ExecuteToolRequest,
  index: number,
) => Promise<{ readonly response: ExecuteToolResponse; readonly bytes: number }>;

interface Item {
  readonly index: number;
  readonly id: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly needs: readonly string[];
  readonly problem: ToolFailure | undefined;
}

function refused(item: Item, failed: ToolFailure): ItemResult {
  return {
    success: false,
    ...failureFields(failed),
    executionTimeMs: 0,
    executionId: '',
    ...(item.id === undefined ? {} : { id: item.id }),
  };
}

/** The failure of an item that ran, and whose result does not fit into the answer any more. */
function tooMuch(maxBytes: number, { executionId }: ExecuteToolResponse): ToolFailureError {
  return failure(
    'TOOL_EXECUTION_ERROR',
    `the results of this batch have more than ${maxBytes} bytes: the result of this item is left out, ask for it by its executionId or on its own`,
    { phase: 'output', limit: 'maxBatchResultBytes', executionId },
  );
}

/** Reads the items. What is wrong with one becomes that item's result. */
function readItems(request: z.output<typeof ExecuteBatchRequest>): Item[] {
  const seen = new Set<string>();
  return request.items.map((body, index) => {
    try {
      const item = parseRequest(BatchItem, body);
      const { id, dependsOn = [], ...rest } = item;
      if (id !== undefined && seen.has(id))
        throw failure('INVALID_REQUEST', `items.${index}.id: ${JSON.stringify(id)} is taken by an earlier item`, {
          field: `items.${index}.id`,
        });
      if (id !== undefined) seen.add(id);
      const needs = request.mode === 'dag' ? [...new Set([...dependsOn, ...referencesIn(rest['params'])])] : [];
      return { index, id, body: rest, needs, problem: undefined };
    } catch (error) {
      return { index, id: undefined, body: {}, needs: [], problem: failureOf(error) };
    }
  });
}

/** Finds items that wait for one another, or for items that are not there. */
function unreachable(items: readonly Item[]): Map<number, ToolFailure> {
  const byId = new Map(items.flatMap((item) => (item.id === undefined ? [] : [[item.id, item] as const])));
  const bad = new Map<number, ToolFailure>();
  for (const item of items) {
    const missing = item.needs.find((id) => !byId.has(id));
    if (missing !== undefined) {
      bad.set(item.index, {
        code: 'INVALID_REQUEST',
        message: `items.${item.index}: there is no item ${JSON.stringify(missing)}`,
        details: { field: `items.${item.index}.dependsOn` },
      });
    }
  }
  // Items whose needs are all met, again and again, until none is left: the rest goes in circles.
  const settled = new Set(
    items.filter((item) => bad.has(item.index) || item.problem !== undefined).flatMap((item) => item.id ?? []),
  );
  let open = items.filter((item) => !bad.has(item.index) && item.problem === undefined);
  for (;;) {
    const ready = open.filter((item) => item.needs.every((id) => settled.has(id)));
    if (ready.length === 0) break;
    for (const item of ready) if (item.id !== undefined) settled.add(item.id);
    open = open.filter((item) => !ready.includes(item));
  }
  for (const item of open) {
    bad.set(item.index, {
      code: 'INVALID_REQUEST',
      message: `items.${item.index}: its dependencies go in a circle`,
      details: { field: `items.${item.index}.dependsOn` },
    });
  }
  return bad;
}

/** Runs a batch. Results come in the order of the items, and one bad item never fails the rest. */
export async function runBatch(
  request: z.output<typeof ExecuteBatchRequest>,
  limits: ToolLimits,
  run: RunItem,
): Promise<ItemResult[]> {
  if (request.items.length > limits.maxBatchItems) {
    throw failure('INVALID_REQUEST', `items: at most ${limits.maxBatchItems}; there are ${request.items.length}`, {
      field: 'items',
    });
  }
  const items = readItems(request);
  const bad = unreachable(items);
  const results = new Array<ItemResult | undefined>(items.length);
  const outputs = new Map<string, unknown>();
  const finished = new Set<string>();
  let stopped = false;
  let resultBytes = 0;

  const perform = async (item: Item): Promise<void> => {
    const failed =
      item.problem ??
      bad.get(item.index) ??
      (stopped
        ? {
            code: 'DEPENDENCY_FAILED' as const,
            message: 'not run: an earlier item failed, and the batch stops on errors',
          }
        : undefined);
    let result: ItemResult;
    try {
      if (failed !== undefined) throw new ToolFailureError(failed);
      const broken = item.needs.find((id) => !outputs.has(id));
      if (broken !== undefined)
        throw failure('DEPENDENCY_FAILED', `not run: item ${JSON.stringify(broken)} failed`, { dependsOn: broken });
      const body =
        request.mode === 'dag'
          ? { ...item.body, params: wire(item.body['params'], outputs, limits.maxWiredBytes) }
          : item.body;
      const { response, bytes } = await run(parseRequest(ExecuteToolRequest, body), item.index);
      if (resultBytes + bytes > limits.maxBatchResultBytes) throw tooMuch(limits.maxBatchResultBytes, response);
      resultBytes += bytes;
      result = item.id === undefined ? response : { ...response, id: item.id };
    } catch (error) {
      result = refused(item, failureOf(error));
    }
    if (!result.success && request.stopOnError) stopped = true;
    if (item.id !== undefined) {
      finished.add(item.id);
      if (result.success) outputs.set(item.id, result.output);
    }
    results[item.index] = result;
  };

  const width =
    request.mode === 'sequential'
      ? 1
      : Math.min(request.concurrency ?? limits.maxBatchConcurrency, limits.maxBatchConcurrency);
  const waiting = [...items];
  const running = new Set<Promise<void>>();
  while (waiting.length > 0 || running.size > 0) {
    const at =
      running.size < width
        ? waiting.findIndex((item) => bad.has(item.index) || item.needs.every((id) => finished.has(id)))
        : -1;
    const [item] = at === -1 ? [] : waiting.splice(at, 1);
    if (item === undefined) {
      await Promise.race(running);
      continue;
    }
    const work: Promise<void> = perform(item).finally(() => running.delete(work));
    running.add(work);
  }
  return results.flatMap((result) => result ?? []);
}
