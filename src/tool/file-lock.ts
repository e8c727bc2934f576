import { chmodSync } from 'node:fs';
import Database from 'libsql';

/** How a file is locked: by any number together, or by one alone. */
export type LockMode = 'shared' | 'exclusive';

const BEGIN: Readonly<Record<LockMode, string>> = {
  // A transaction takes its lock with the first read.
  shared: 'BEGIN; SELECT 1 FROM sqlite_master',
  exclusive: 'BEGIN EXCLUSIVE',
};

/**
 * Locks a file, which is made where there is none, unless somebody else has it for `waitMs`: then there is no lock. It is a lock
 * of the kernel, and so ends with its process, however that ends. The wait holds everything up. Throws when the file cannot be
 * used.
 */
export function lockFile(file: string, mode: LockMode, waitMs = 0): Disposable | undefined {
  const db = new Database(file);
  try {
    chmodSync(file, 0o600);
    db.exec(`PRAGMA busy_timeout = ${waitMs}`);
    db.exec(BEGIN[mode]);
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    db.close();
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return undefined;
    throw error;
  }
  return {
    [Symbol.dispose]: () => {
      // A transaction that is left open would keep the lock beyond the end of its connection.
      db.exec('ROLLBACK');
      db.close();
    },
  };
}
