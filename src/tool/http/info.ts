import type { ToolExecutor } from '../executor.js';
import { type HealthResponse, type InfoResponse, PROTOCOL_VERSION } from '../messages.js';

/** Answers GET /health. */
export function health(version: string): HealthResponse {
  return {
    status: 'ok',
    protocolVersion: PROTOCOL_VERSION,
    implementationVersion: version,
    runtime: 'node',
    timestamp: new Date().toISOString(),
  };
}

/** Answers GET /info. `isolation` is what the children of this executor are started with. */
export function info(executor: ToolExecutor, name: string, version: string, region: string | undefined): InfoResponse {
  const { limits, level } = executor;
  return {
    name,
    version,
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {
      isolation: level === 'container' || level === 'vm' ? level : 'process',
      confinedBy: executor.confinedBy,
      executionModes: ['sync', 'stream', 'async'],
      maxExecutionTimeMs: limits.maxExecutionTimeMs,
      maxRequestBodyBytes: limits.maxRequestBodyBytes,
      supportsStreaming: true,
      supportsCallbacks: true,
      supportsCaching: true,
      supportsValidation: true,
      supportsBatch: true,
      supportsIdempotency: true,
      limits: {
        maxTotalTimeMs: limits.maxTotalTimeMs,
        installTimeoutMs: limits.installTimeoutMs,
        maxOutputBytes: limits.maxOutputBytes,
        maxLogBytes: limits.maxLogBytes,
        maxConcurrentExecutions: limits.maxExecutions,
        maxConcurrentInstalls: limits.maxInstalls,
        maxQueued: limits.maxQueued,
        maxBatchItems: limits.maxBatchItems,
        keepEventsMs: limits.keepEventsMs,
      },
    },
    runtime: {
      platform: process.platform,
      nodeVersion: process.versions.node,
      ...(region === undefined ? {} : { region }),
    },
  };
}
