import { chmodSync } from 'node:fs';
import Database from 'libsql';

/**
 * Says whose the async executions of a cache folder are: two servers that both took up what the last one left would fail
 * what the other one runs. The lock is one of the kernel on a file of its own, and so ends with its process, however that ends.
 */
export class StoreLock {
  readonly #file: string;
  #db: Database.Database | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  get held(): boolean {
    return this.#db !== undefined;
  }

  /** Takes it, unless somebody else has it. Says whether it is held now. */
  take(): boolean {
    if (this.#db !== undefined) return true;
    const db = new Database(this.#file);
    try {
      chmodSync(this.#file, 0o600);
      db.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      db.close();
      if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return false;
      throw error;
    }
    this.#db = db;
    return true;
  }

  release(): void {
    const db = this.#db;
    this.#db = undefined;
    if (db === undefined) return;
    // A transaction that is left open would keep the lock beyond the end of its connection.
    db.exec('ROLLBACK');
    db.close();
  }
}
