import type { Fields } from './fields.js';
import type { ExecHandler } from './handler.js';
import type { Dialect } from './messages.js';
import { ENVIRONMENT_ROUTES } from './routes/environment.js';
import { FS_ROUTES } from './routes/fs.js';
import { HTTP_ROUTES } from './routes/http.js';
import { PROCESS_ROUTES } from './routes/process.js';
import type { Session } from './session.js';

/** What a route gets to work with. */
export interface RouteContext {
  readonly handler: ExecHandler;
  readonly session: Session;
  readonly dialect: Dialect;
  /** Aborted when the connection goes away. */
  readonly signal: AbortSignal;
}

/** What is sent back, and what happens once it has been. */
export interface Reply {
  readonly result: unknown;
  readonly afterwards?: () => void;
  /** Happens when the answer has left, or cannot any more. */
  readonly left?: () => void;
}

/** A request whose parameters fit. */
export type Prepared = (context: RouteContext) => Reply | Promise<Reply>;

/** Reads the parameters of a request, and returns what carries it out. Refuses parameters that do not fit. */
export type Route = (fields: Fields, limits: ExecHandler['limits']) => Prepared;

const FIRST = new Map<string, Route>(Object.entries(PROCESS_ROUTES('first')));
const LATER = new Map<string, Route>(
  Object.entries({ ...PROCESS_ROUTES('later'), ...ENVIRONMENT_ROUTES, ...FS_ROUTES, ...HTTP_ROUTES }),
);

/** Finds the route of a method. */
export function routeOf(method: string, dialect: Dialect): Route | undefined {
  return (dialect === 'first' ? FIRST : LATER).get(method);
}
