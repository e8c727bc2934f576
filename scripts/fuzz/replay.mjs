// Cases from files, once more.
import { revive } from './case-file.mjs';
import { Random } from './random.mjs';
import { closeTarget, openTarget } from './target.mjs';

/** Runs them, target by target, and prints a line for each. Returns the exit code. */
export async function replay(cases, load) {
  let failed = 0;
  for (const name of new Set(cases.map(({ target }) => target))) {
    const target = await load(name);
    const opened = await openTarget(target);
    for (const { file, case: saved, caseSeed } of cases.filter((each) => each.target === name)) {
      try {
        const { outcome } = await opened.check(revive(saved));
        // Made again from its seed, a case may also know what must come out.
        if (caseSeed !== undefined && target.saved !== undefined) {
          await opened.check(target.generate(new Random(caseSeed)));
        }
        console.log(`ok   ${file}: ${outcome}`);
      } catch (error) {
        failed += 1;
        console.log(`FAIL ${file}: ${error?.stack}`);
      }
    }
    await closeTarget(opened);
  }
  return failed === 0 ? 0 : 1;
}
