import { Command } from 'commander';
import type { Finding, MachineReport } from '../sandbox/index.js';
import { EXIT } from './exit.js';

const NODE_MINIMUM = [20, 19] as const;

/** One line of the report: what was found, whether Sallyport needs it to run children at all, and how to get it. */
interface Check extends Finding {
  readonly name: string;
  readonly required: boolean;
  readonly remedy: string;
}

function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ok = major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1]);
  return { ok, detail: version };
}

function checks(machine: MachineReport): Check[] {
  const check = (name: string, need: 'required' | 'optional', finding: Finding, remedy: string): Check => ({
    name,
    required: need === 'required',
    ...finding,
    remedy,
  });
  const wasm = 'only needed for this runtime; put it on PATH';
  return [
    check(
      'Node.js',
      'required',
      nodeFinding(process.versions.node),
      `install Node.js ${NODE_MINIMUM.join('.')} or later`,
    ),
    check('level process', 'required', machine.processLevel, 'run on Linux or macOS with /bin/sh'),
    check(
      'level container',
      'optional',
      machine.containerLevel,
      'apt-get install bubblewrap; inside a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined',
    ),
    check(
      'container limits',
      'optional',
      machine.limits,
      'without control groups that can be written, memory is limited for each process only; see cgroups below',
    ),
    check('terminal', 'required', machine.terminal, 'install without --omit=optional, and util-linux for `setsid`'),
    check(
      'bubblewrap',
      'optional',
      machine.bubblewrap,
      'apt-get install bubblewrap; inside a container, allow user namespaces',
    ),
    check('user namespaces', 'optional', machine.userNamespaces, 'sysctl -w user.max_user_namespaces=15000'),
    check(
      'cgroups',
      'optional',
      machine.cgroups,
      'run under a systemd unit with Delegate=yes, or mount cgroups writable into the container',
    ),
    check('prlimit', 'optional', machine.prlimit, 'apt-get install util-linux'),
    check('wasmtime', 'optional', machine.wasmtime, wasm),
    check('wazero', 'optional', machine.wazero, wasm),
  ];
}

function mark(check: Check): string {
  const fancy = process.stdout.isTTY === true;
  if (check.ok) return fancy ? '✓' : 'ok  ';
  if (check.required) return fancy ? '✗' : 'FAIL';
  return fancy ? '–' : 'warn';
}

// What programs print may hold control characters, which have no business in this terminal.
const shown = (text: string): string => text.replace(/[\x00-\x1f\x7f-\x9f]+/g, ' ');

function table(list: readonly Check[]): string {
  const width = Math.max(...list.map((check) => check.name.length));
  return list
    .flatMap((check) => {
      const line = `${mark(check)} ${check.name.padEnd(width)}  ${shown(check.detail)}`;
      return check.ok ? [line] : [line, `${' '.repeat(mark(check).length + 1 + width)}  -> ${check.remedy}`];
    })
    .join('\n');
}

/** Builds `sallyport doctor`. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description('Say what this machine can confine, and how to get more.')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nExit code 0 means that all that is required is here, 1 that something is missing.\n\nExample:\n  $ sallyport doctor --json | jq .ok\n',
    )
    .action(async (options: { readonly json?: true }) => {
      const list = checks(await (await import('../sandbox/index.js')).probeMachine());
      const ok = list.every((check) => check.ok || !check.required);
      const report = options.json ? JSON.stringify({ ok, checks: list }, undefined, 2) : table(list);
      process.stdout.write(`${report}\n`);
      if (!options.json)
        process.stdout.write(ok ? '\nAll that is required is here.\n' : '\nSomething required is missing.\n');
      process.exitCode = ok ? EXIT.ok : EXIT.failure;
    });
}
