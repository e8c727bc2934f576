import type { TerminalSize } from '../../sandbox/index.js';
import type { EnvPolicy } from '../env-policy.js';
import { ExecError } from '../exec-error.js';
import type { Fields } from '../fields.js';
import { DEFAULT_SIZE } from '../handler.js';
import type { ReadResult } from '../managed-process.js';
import type { Dialect, ReadResponse } from '../messages.js';
import type { Route } from '../routing.js';
import { sandboxRequest } from '../sandbox-request.js';

const EMPTY = { result: {} };

/** The methods that both dialects have, each the way its dialect has it. */
export function PROCESS_ROUTES(dialect: Dialect): Readonly<Record<string, Route>> {
  return {
    'process/start': dialect === 'first' ? startFirst : startLater,
    'process/read': read,
    'process/write': dialect === 'first' ? writeFirst : writeLater,
    'process/terminate': terminate,
    'process/closeStdin': closeStdin,
    'process/resize': resize,
    'process/list': list,
    'process/wait': wait,
    ...(dialect === 'first' ? {} : { 'process/signal': signal }),
  };
}

function commonStart(fields: Fields, idLength: number) {
  return {
    processId: fields.id('processId', idLength),
    argv: fields.strings('argv'),
    cwd: fields.path('cwd'),
    env: fields.record('env'),
    tty: fields.boolean('tty'),
    arg0: fields.optionalString('arg0'),
    size: optionalSize(fields.optionalObject('size') ?? fields),
    timeoutMs: fields.optionalInteger('timeoutMs'),
  };
}

const startFirst: Route = (fields, limits) => {
  const params = commonStart(fields, limits.idLength);
  return async ({ handler, session }) => {
    const process = await handler.start(session, params);
    return { result: { processId: process.processId }, afterwards: () => process.begin() };
  };
};

const startLater: Route = (fields, limits) => {
  const params = {
    ...commonStart(fields, limits.idLength),
    pipeStdin: fields.booleanOr('pipeStdin', 'false'),
    envPolicy: envPolicy(fields.optionalObject('envPolicy')),
    sandbox: sandboxRequest(fields.optionalObject('sandbox'), limits.sandboxRules),
  };
  return async ({ handler, session }) => {
    const process = await handler.start(session, params);
    const result = { processId: process.processId, sandboxType: handler.sandboxType };
    return { result, afterwards: () => process.begin() };
  };
};

function envPolicy(fields: Fields | undefined): EnvPolicy | undefined {
  if (fields === undefined) return undefined;
  return {
    inherit: fields.oneOf('inherit', ['core', 'all', 'none']),
    ignoreDefaultExcludes: fields.booleanOr('ignoreDefaultExcludes', 'false'),
    exclude: fields.optionalStrings('exclude'),
    set: fields.has('set') ? fields.record('set') : {},
    includeOnly: fields.optionalStrings('includeOnly'),
  };
}

function optionalSize(fields: Fields): TerminalSize | undefined {
  const [rows, cols] = [fields.optionalInteger('rows'), fields.optionalInteger('cols')];
  return rows === undefined && cols === undefined
    ? undefined
    : { rows: rows ?? DEFAULT_SIZE.rows, cols: cols ?? DEFAULT_SIZE.cols };
}

const read: Route = (fields, limits) => {
  const params = {
    processId: fields.id('processId', limits.idLength),
    afterSeq: fields.optionalInteger('afterSeq'),
    maxBytes: fields.optionalInteger('maxBytes'),
    waitMs: fields.optionalInteger('waitMs'),
  };
  return async ({ handler, session, dialect, signal: gone }) => ({
    result: readResponse(await handler.read(session, params, gone), dialect),
  });
};

/** Writes a read the way its dialect has it. */
function readResponse(read: ReadResult, dialect: Dialect): ReadResponse {
  const { nextSeq, exited, exitCode, closed, firstSeq } = read;
  return {
    chunks: read.chunks.map(({ seq, stream, bytes }) => ({ seq, stream, chunk: bytes.toString('base64') })),
    nextSeq,
    exited,
    exitCode,
    ...(dialect === 'first' ? {} : { closed, failure: null, sandboxDenied: false }),
    ...(firstSeq === undefined ? {} : { truncated: true as const, firstSeq }),
  };
}

const writeFirst: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const bytes = fields.bytes('chunk');
  return async ({ handler, session }) => {
    await handler.settled(session, processId);
    const status = await handler.write(session, processId, bytes, undefined);
    if (status === 'accepted') return { result: { accepted: true } };
    const problem =
      status === 'stdinClosed' ? `stdin is closed for process ${processId}` : `unknown process id ${processId}`;
    throw new ExecError('invalidRequest', problem);
  };
};

const writeLater: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const bytes = fields.bytes('chunk');
  const writeId = fields.id('writeId', limits.idLength);
  return async ({ handler, session }) => ({
    result: { status: await handler.write(session, processId, bytes, writeId) },
  });
};

const terminate: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const graceMs = fields.optionalInteger('graceMs') ?? 0;
  return async ({ handler, session }) => ({
    result: { running: await handler.terminate(session, processId, graceMs) },
  });
};

const signal: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const name = fields.string('signal');
  return async ({ handler, session }) => {
    await handler.signal(session, processId, name);
    return EMPTY;
  };
};

const closeStdin: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  return async ({ handler, session }) => {
    await handler.closeStdin(session, processId);
    return EMPTY;
  };
};

const resize: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const size = { rows: fields.integer('rows'), cols: fields.integer('cols') };
  return async ({ handler, session }) => {
    await handler.resize(session, processId, size);
    return EMPTY;
  };
};

const list: Route =
  () =>
  ({ handler, session }) => ({ result: { processes: handler.list(session) } });

const wait: Route = (fields, limits) => {
  const processId = fields.id('processId', limits.idLength);
  const waitMs = fields.optionalInteger('waitMs');
  return async ({ handler, session, signal: gone }) => ({
    result: await handler.wait(session, processId, waitMs, gone),
  });
};
