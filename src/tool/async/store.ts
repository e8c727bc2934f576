import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import type { KeyUse } from '../idempotency.js';

/** An async execution as it is kept. Variables of a request are never part of it. */
export interface StoredExecution {
  readonly id: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** The request as JSON, without `env`; empty once it has ended. */
  readonly request: string;
  /** Whose it is, where callers are told apart. */
  readonly owner: string | undefined;
  /** Whether the request had variables, which only the memory of the server knows. */
  readonly hadEnv: boolean;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** The answer as JSON. */
  readonly result: string | undefined;
}

export interface StoredCallback {
  readonly executionId: string;
  readonly url: string;
  readonly secret: string;
  readonly status: 'waiting' | 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly nextAt: number;
  readonly lastError: string | undefined;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS executions (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, request TEXT NOT NULL, had_env INTEGER NOT NULL, created_at INTEGER NOT NULL,
    started_at INTEGER, finished_at INTEGER, result TEXT, idempotency_key TEXT UNIQUE, body_hash TEXT, owner TEXT
  );
  CREATE INDEX IF NOT EXISTS executions_status ON executions (status, created_at);
  CREATE INDEX IF NOT EXISTS executions_finished ON executions (finished_at);
  CREATE TABLE IF NOT EXISTS callbacks (
    execution_id TEXT PRIMARY KEY REFERENCES executions (id) ON DELETE CASCADE, url TEXT NOT NULL, secret TEXT NOT NULL,
    status TEXT NOT NULL, attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, last_error TEXT
  );
  CREATE INDEX IF NOT EXISTS callbacks_next ON callbacks (status, next_at);
`;

const OWES_NOTHING = "id NOT IN (SELECT execution_id FROM callbacks WHERE status IN ('waiting', 'pending'))";

interface ExecutionRow {
  id: string;
  status: StoredExecution['status'];
  request: string;
  had_env: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  result: string | null;
  body_hash: string | null;
  owner: string | null;
}

interface CallbackRow {
  execution_id: string;
  url: string;
  secret: string;
  status: StoredCallback['status'];
  attempts: number;
  next_at: number;
  last_error: string | null;
}

const fromRow = (row: ExecutionRow): StoredExecution => ({
  id: row.id,
  status: row.status,
  request: row.request,
  owner: row.owner ?? undefined,
  hadEnv: row.had_env === 1,
  createdAt: row.created_at,
  startedAt: row.started_at ?? undefined,
  finishedAt: row.finished_at ?? undefined,
  result: row.result ?? undefined,
});

const fromCallbackRow = (row: CallbackRow): StoredCallback => ({
  executionId: row.execution_id,
  url: row.url,
  secret: row.secret,
  status: row.status,
  attempts: row.attempts,
  nextAt: row.next_at,
  lastError: row.last_error ?? undefined,
});

/** What a row costs beside its result. */
const ROW_BYTES = 512;
/** How much of what may be kept is left when there was too much: less than all, so that not every answer has to make room. */
const KEPT_SHARE = 0.9;

/** Async executions and their webhooks, in one SQLite file that only its owner can read. */
export class AsyncStore {
  readonly #db: Database.Database;
  #bytes: number;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true });
    this.#db = new Database(file);
    chmodSync(file, 0o600);
    this.#db.exec('PRAGMA journal_mode = WAL');
    this.#db.exec('PRAGMA synchronous = NORMAL');
    this.#db.exec('PRAGMA foreign_keys = ON');
    this.#db.exec('PRAGMA busy_timeout = 2000');
    this.#db.exec(SCHEMA);
    this.#addOwner();
    this.#bytes = this.#count();
  }

  /** Bytes of the answers that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  add(
    execution: StoredExecution,
    callback: StoredCallback | undefined,
    key: Pick<KeyUse, 'id' | 'bodyHash'> | undefined,
  ): void {
    this.#together(() => this.#insert(execution, callback, key));
  }

  #insert(
    execution: StoredExecution,
    callback: StoredCallback | undefined,
    key: Pick<KeyUse, 'id' | 'bodyHash'> | undefined,
  ): void {
    this.#db
      .prepare(
        'INSERT INTO executions (id, status, request, had_env, created_at, idempotency_key, body_hash, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(
        execution.id,
        execution.status,
        execution.request,
        execution.hadEnv ? 1 : 0,
        execution.createdAt,
        key?.id ?? null,
        key?.bodyHash ?? null,
        execution.owner ?? null,
      );
    if (callback === undefined) return;
    this.#db
      .prepare('INSERT INTO callbacks (execution_id, url, secret, status, attempts, next_at) VALUES (?, ?, ?, ?, 0, 0)')
      .run(callback.executionId, callback.url, callback.secret, callback.status);
  }

  get(id: string): StoredExecution | undefined {
    const row: ExecutionRow | undefined = this.#db.prepare('SELECT * FROM executions WHERE id = ?').get(id) as
      | ExecutionRow
      | undefined;
    return row === undefined ? undefined : fromRow(row);
  }

  /** Finds the execution of a key, by the key's id. */
  byKey(key: string): { readonly execution: StoredExecution; readonly bodyHash: string } | undefined {
    const row = this.#db.prepare('SELECT * FROM executions WHERE idempotency_key = ?').get(key) as
      | ExecutionRow
      | undefined;
    return row === undefined ? undefined : { execution: fromRow(row), bodyHash: row.body_hash ?? '' };
  }

  withStatus(status: 'queued' | 'running'): StoredExecution[] {
    const rows = this.#db
      .prepare('SELECT * FROM executions WHERE status = ? ORDER BY created_at, rowid')
      .all(status) as ExecutionRow[];
    return rows.map(fromRow);
  }

  setRunning(id: string, at: number): void {
    this.#db.prepare("UPDATE executions SET status = 'running', started_at = ? WHERE id = ?").run(at, id);
  }

  /** Keeps the answer in place of the request, and makes its webhook due, in one step. */
  setFinished(id: string, status: 'succeeded' | 'failed' | 'cancelled', result: string, at: number): void {
    this.#together(() => {
      this.#db
        .prepare("UPDATE executions SET status = ?, result = ?, finished_at = ?, request = '' WHERE id = ?")
        .run(status, result, at, id);
      this.#db
        .prepare("UPDATE callbacks SET status = 'pending', next_at = 0 WHERE execution_id = ? AND status = 'waiting'")
        .run(id);
    });
    this.#bytes += ROW_BYTES + Buffer.byteLength(result);
  }

  callbackOf(id: string): StoredCallback | undefined {
    const row = this.#db.prepare('SELECT * FROM callbacks WHERE execution_id = ?').get(id) as CallbackRow | undefined;
    return row === undefined ? undefined : fromCallbackRow(row);
  }

  /** What is to be sent at a time. Later than `latest` nothing can be due: such a date was made when the clock was wrong. */
  dueCallbacks(now: number, latest: number, limit: number): StoredCallback[] {
    const rows = this.#db
      .prepare(
        "SELECT * FROM callbacks WHERE status = 'pending' AND (next_at <= ? OR next_at > ?) ORDER BY next_at LIMIT ?",
      )
      .all(now, latest, limit) as CallbackRow[];
    return rows.map(fromCallbackRow);
  }

  nextCallbackAt(): number | undefined {
    const row = this.#db.prepare("SELECT min(next_at) AS at FROM callbacks WHERE status = 'pending'").get() as {
      at: number | null;
    };
    return row.at ?? undefined;
  }

  setCallback(
    id: string,
    status: StoredCallback['status'],
    attempts: number,
    nextAt: number,
    lastError: string | undefined,
  ): void {
    this.#db
      .prepare('UPDATE callbacks SET status = ?, attempts = ?, next_at = ?, last_error = ? WHERE execution_id = ?')
      .run(status, attempts, nextAt, lastError ?? null, id);
  }

  /**
   * Forgets what finished longer ago than `keepMs`, and the oldest of the rest when it is too much; never what owes somebody a
   * webhook. What finished in the future finished now.
   */
  prune(now: number, keepMs: number, maxBytes: number): void {
    this.#together(() => {
      this.#db.prepare('UPDATE executions SET finished_at = ? WHERE finished_at > ?').run(now, now);
      this.#db.prepare(`DELETE FROM executions WHERE finished_at < ? AND ${OWES_NOTHING}`).run(now - keepMs);
    });
    this.#bytes = this.#count();
    if (this.#bytes <= maxBytes) return;
    this.#db
      .prepare(
        `DELETE FROM executions WHERE id IN (
          SELECT id FROM (
            SELECT id, sum(${ROW_BYTES} + octet_length(result)) OVER (ORDER BY finished_at, rowid) AS freed, ${ROW_BYTES} + octet_length(result) AS own
            FROM executions WHERE finished_at IS NOT NULL AND ${OWES_NOTHING}
          ) WHERE freed - own < ?
        )`,
      )
      .run(this.#bytes - maxBytes * KEPT_SHARE);
    this.#bytes = this.#count();
  }

  close(): void {
    this.#db.close();
  }

  #count(): number {
    const row = this.#db
      .prepare(`SELECT sum(${ROW_BYTES} + octet_length(result)) AS n FROM executions WHERE finished_at IS NOT NULL`)
      .get() as { n: number | null };
    return row.n ?? 0;
  }

  /** Files that were made before executions had owners lack the column. */
  #addOwner(): void {
    const columns = this.#db.prepare('PRAGMA table_info(executions)').all() as { name: string }[];
    if (!columns.some(({ name }) => name === 'owner')) this.#db.exec('ALTER TABLE executions ADD COLUMN owner TEXT');
  }

  /** All of it or nothing. */
  #together(write: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      write();
      this.#db.exec('COMMIT');
    } catch (error) {
      // Some failures, a full disk among them, have rolled back already.
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}
