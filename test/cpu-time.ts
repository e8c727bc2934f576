/** Milliseconds of processor time that this process has spent: what else the machine does is not in them. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
