import {
  allow,
  assemble,
  type Instruction,
  keepBits,
  killProcess,
  loadArchitecture,
  loadArgument,
  loadNumber,
  refuse,
  unlessEqual,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
} from './assembler.js';
import type { Machine } from './machines.js';

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** Every flag of clone and unshare that makes a namespace: time, mount, cgroup, uts, ipc, user, pid, net. */
const NEW_NAMESPACE = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000;

/** Typing into a terminal, pasting and more on a console, and changing the line discipline, which loads kernel modules. */
const TERMINAL_TRICKS = [0x5412, 0x541c, 0x5423] as const;

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
/** SOCK_STREAM and the like; the flags for non-blocking and close-on-exec are above it. */
const SOCKET_TYPE = 0xf;
const SOCK_RAW = 3;

const PERSONALITY_LINUX = 0;
const PERSONALITY_ASK = 0xffffffff;

/** Which families of sockets a program may open: only those to its neighbours, or also those of its (own) network. */
export type SocketFamilies = 'unix' | 'internet';

function socketRules(families: SocketFamilies): Instruction[] {
  const internet = [loadArgument(1), keepBits(SOCKET_TYPE), ...whenEqual(SOCK_RAW, [refuse(EPERM)]), allow()];
  const open = families === 'internet' ? [AF_INET, AF_INET6].flatMap((family) => whenEqual(family, internet)) : [];
  return [
    loadArgument(0),
    ...whenEqual(AF_UNIX, [allow()]),
    ...open,
    // Programs list their interfaces and addresses with it.
    ...whenEqual(AF_NETLINK, [loadArgument(2), ...whenEqual(NETLINK_ROUTE, [allow()]), refuse(EAFNOSUPPORT)]),
    // Some of the others, such as AF_VSOCK, know no namespaces.
    refuse(EAFNOSUPPORT),
  ];
}

/**
 * Makes the filter: what programs never need is refused with an errno, so that whoever merely tries falls back; the rest
 * is allowed, because namespaces and missing capabilities confine it. A call in the convention of another machine would
 * have other numbers, so it ends the process.
 */
export function seccompProgram(machine: Machine, families: SocketFamilies): Instruction[] {
  const { clone, clone3, ioctl, personality, socket, unshare, foreignFrom } = machine;
  const newNamespace = [loadArgument(0), ...whenAnyBit(NEW_NAMESPACE, [refuse(EPERM)]), allow()];
  return [
    loadArchitecture(),
    ...unlessEqual(machine.audit, [killProcess()]),
    loadNumber(),
    ...(foreignFrom === undefined ? [] : whenAtLeast(foreignFrom, [refuse(ENOSYS)])),
    // Its flags are behind a pointer, where no filter can look; every C library falls back to clone.
    ...whenEqual(clone3, [refuse(ENOSYS)]),
    ...whenEqual(clone, newNamespace),
    ...whenEqual(unshare, newNamespace),
    ...whenEqual(ioctl, [
      loadArgument(1),
      ...TERMINAL_TRICKS.flatMap((request) => whenEqual(request, [refuse(EPERM)])),
      allow(),
    ]),
    ...whenEqual(personality, [
      loadArgument(0),
      ...whenEqual(PERSONALITY_LINUX, [allow()]),
      ...whenEqual(PERSONALITY_ASK, [allow()]),
      refuse(EPERM),
    ]),
    ...whenEqual(socket, socketRules(families)),
    ...Object.values(machine.refused).flatMap((number) => whenEqual(number, [refuse(EPERM)])),
    allow(),
  ];
}

/** The filter in the form that the kernel takes. */
export function seccompFilter(machine: Machine, families: SocketFamilies): Buffer {
  return assemble(seccompProgram(machine, families));
}
