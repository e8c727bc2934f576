import type { ExecuteToolResponse, ExecutionStatus } from './messages.js';

interface Known {
  readonly id: string;
  readonly status: ExecutionStatus['status'];
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  readonly response: ExecuteToolResponse | undefined;
}

const iso = (at: number): string => new Date(at).toISOString();

/** What whoever asks for an execution is told. */
export function executionStatus({ id, status, createdAt, startedAt, finishedAt, response }: Known): ExecutionStatus {
  return {
    success: true,
    executionId: id,
    status,
    createdAt: iso(createdAt),
    ...(startedAt === undefined ? {} : { startedAt: iso(startedAt) }),
    ...(finishedAt === undefined ? {} : { finishedAt: iso(finishedAt) }),
    ...(response === undefined ? {} : { result: response }),
  };
}
