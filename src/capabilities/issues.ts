import { formatPath } from '../wire/index.js';
import { MAX_REPORTED_ISSUES } from './limits.js';

/** One thing that is wrong with a value: where, and why. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>;
  readonly message: string;
}

/** Writes issues in words a model can act on: `input.city: expected string, got number; input.days: is required`. */
export function formatIssues(root: string, issues: readonly Issue[]): string {
  const lines = new Set(issues.map((issue) => `${formatPath(root, issue.path)}: ${issue.message}`));
  const shown = [...lines].slice(0, MAX_REPORTED_ISSUES);
  const hidden = lines.size - shown.length;
  return shown.join('; ') + (hidden > 0 ? `; and ${hidden} more` : '');
}
