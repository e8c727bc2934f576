const waiting: (() => void)[] = [];
let taken = false;

function next(): void {
  const first = waiting.shift();
  taken = first !== undefined;
  if (first === undefined) return;
  first();
  setImmediate(next);
}

/**
 * Resolves in a turn of the event loop in which no other process is started. To start one holds up everything else for
 * milliseconds, tens of them on a busy machine; many in the same turn would hold it up for as long as they take together.
 */
export async function spawnTurn(): Promise<void> {
  if (taken) {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    return;
  }
  taken = true;
  setImmediate(next);
}
