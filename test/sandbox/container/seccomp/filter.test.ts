import { describe, expect, test } from 'vitest';
import { containerLevel } from '../../../../src/sandbox/container/container-level.js';
import { GUEST_POLICY } from '../../../../src/sandbox/container/policies.js';
import { assemble, type Instruction } from '../../../../src/sandbox/container/seccomp/assembler.js';
import { seccompProgram } from '../../../../src/sandbox/container/seccomp/filter.js';
import { MACHINES, type Machine } from '../../../../src/sandbox/container/seccomp/machines.js';
import { altered, here, run, testRefusalWithoutRooms, without } from '../rooms.js';

const ALLOW = 'allow';

/** What the kernel would do: a number of an error, `allow` or `kill`. */
function verdict(program: readonly Instruction[], arch: number, number: number, args: readonly number[] = []) {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((value, index) => {
    data.writeUInt32LE(value >>> 0, 16 + 8 * index);
    // What is above the low half must not matter where the kernel does not look at it.
    data.writeUInt32LE(0xdead, 20 + 8 * index);
  });
  let word = 0;
  for (let at = 0; at < program.length; at += 1) {
    const { code, operand, whenTrue, whenFalse } = program[at]!;
    if (code === 0x20) word = data.readUInt32LE(operand);
    else if (code === 0x54) word = (word & operand) >>> 0;
    else if (code === 0x06) {
      if (operand === 0x7fff0000) return ALLOW;
      return operand === 0x80000000 ? 'kill' : operand & 0xffff;
    } else {
      const holds = code === 0x15 ? word === operand : code === 0x35 ? word >= operand : (word & operand) >>> 0 !== 0;
      at += holds ? whenTrue : whenFalse;
    }
  }
  throw new Error('the program has no end');
}

describe.each([...MACHINES])('for %s', (_, machine: Machine) => {
  const closed = seccompProgram(machine, 'unix');
  const open = seccompProgram(machine, 'internet');
  const ask = (number: number, args?: readonly number[]) => verdict(closed, machine.audit, number, args);

  test('refuses each listed call, whatever its arguments', () => {
    for (const number of Object.values(machine.refused)) {
      expect(ask(number)).toBe(1);
      expect(ask(number, [0xffffffff, 0xffffffff, 0xffffffff])).toBe(1);
    }
    expect(new Set(Object.values(machine.refused)).size).toBe(Object.values(machine.refused).length);
  });

  test('refuses new namespaces, and only those, and sends clone3 back to clone', () => {
    for (const flag of [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(ask(machine.clone, [flag | 17])).toBe(1);
      expect(ask(machine.unshare, [flag])).toBe(1);
    }
    expect(ask(machine.clone, [0x3d0f00])).toBe(ALLOW);
    expect(ask(machine.unshare, [0x400])).toBe(ALLOW);
    expect(ask(machine.clone3)).toBe(38);
  });

  test('refuses tricks with terminals also when the upper half of the number is set', () => {
    for (const request of [0x5412, 0x541c, 0x5423]) expect(ask(machine.ioctl, [0, request])).toBe(1);
    expect(ask(machine.ioctl, [0, 0x5413])).toBe(ALLOW);
  });

  test('opens sockets only of the families that were granted', () => {
    const socket = (program: readonly Instruction[], ...args: number[]) =>
      verdict(program, machine.audit, machine.socket, args);
    expect(socket(closed, 1, 1, 0)).toBe(ALLOW);
    for (const family of [2, 10]) {
      expect(socket(closed, family, 1, 0)).toBe(97);
      expect(socket(open, family, 0x80801, 0)).toBe(ALLOW);
      expect(socket(open, family, 0x80803, 0)).toBe(1);
    }
    expect(socket(open, 16, 3, 0)).toBe(ALLOW);
    expect(socket(open, 16, 3, 9)).toBe(97);
    // Virtual machines, kernel cryptography, raw packets, Bluetooth.
    for (const family of [40, 38, 17, 31]) expect(socket(open, family, 1, 0)).toBe(97);
  });

  test('ends a process that calls in the convention of another machine', () => {
    expect(verdict(closed, 0x40000003, 20)).toBe('kill');
    if (machine.foreignFrom !== undefined) expect(ask(machine.foreignFrom + 101)).toBe(38);
  });

  test('allows what programs live on', () => {
    for (const number of [0, 1, 3, 5, 9, 231]) {
      if (!Object.values(machine.refused).includes(number)) expect(ask(number)).toBe(ALLOW);
    }
    expect(ask(machine.personality, [0])).toBe(ALLOW);
    expect(ask(machine.personality, [0xffffffff])).toBe(ALLOW);
    expect(ask(machine.personality, [0x40000])).toBe(1);
    expect(assemble(closed).length).toBe(closed.length * 8);
  });
});

testRefusalWithoutRooms();

describe.runIf(here.available)('in a room', () => {
  const machine = MACHINES.get(process.arch)!;
  const level = containerLevel({ policy: GUEST_POLICY });
  const calls: [string, number, number[]][] = [
    ...Object.entries(machine.refused).map(([name, number]): [string, number, number[]] => [name, number, []]),
    ['unshare user', machine.unshare, [0x10000000]],
    ['clone user', machine.clone, [0x10000000 | 17]],
    ['TIOCSTI', machine.ioctl, [0, 0x5412]],
    ['personality', machine.personality, [0x40000]],
  ];
  // Each call in a process of its own: some would change the caller if they worked.
  const script = calls
    .map(
      ([name, number, args]) =>
        `if (!fork) { my $r = syscall(${[number, ...args, 0, 0, 0, 0, 0].slice(0, 6).join(', ')}); syswrite STDOUT, sprintf("%s=%d\\n", q(${name}), $r == -1 ? $!+0 : -1); exec '/bin/true' } wait;`,
    )
    .join('\n');
  const results = async (which: Parameters<typeof run>[0]) => {
    const { text, errors } = await run(which, '', { argv: ['perl', '-e', script], limits: { timeoutMs: 15_000 } });
    expect(errors).toBe('');
    return new Map(
      text
        .trim()
        .split('\n')
        .map((line): [string, number] => {
          const [name = '', errno = ''] = line.split('=');
          return [name, Number(errno)];
        }),
    );
  };

  test('every one of these calls is refused', async () => {
    const answers = await results(level);
    expect([...answers].filter(([, errno]) => errno !== 1)).toEqual([]);
    expect(answers.size).toBe(calls.length);
  });

  test('without the filter many of them are not', async () => {
    const answers = await results(altered(level, without('--seccomp', 1)));
    const open = [...answers].flatMap(([name, errno]) => (errno === 1 ? [] : [name]));
    expect(open).toEqual(
      expect.arrayContaining([
        'ptrace',
        'process_vm_readv',
        'unshare user',
        'TIOCSTI',
        'personality',
        'name_to_handle_at',
      ]),
    );
  });
});
