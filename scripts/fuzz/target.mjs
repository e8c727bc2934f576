// Opens a target, whatever its kind.

/** Those that need nothing beside themselves have `check` only; others start servers in `open`. */
export async function openTarget(target) {
  const opened = target.open === undefined ? { check: target.check } : await target.open();
  return { lanes: target.lanes ?? 1, ...opened };
}

/** Ends what was opened, and returns what it has to say. */
export async function closeTarget(opened) {
  return opened?.close?.();
}
