/** What a filter must know of a processor architecture. */
export interface Machine {
  /** The kernel's name for it in `struct seccomp_data`. */
  readonly audit: number;
  readonly clone: number;
  readonly clone3: number;
  readonly ioctl: number;
  readonly personality: number;
  readonly socket: number;
  readonly unshare: number;
  /** From here on the numbers are of another calling convention of the same machine (x32), which would slip past the rest. */
  readonly foreignFrom: number | undefined;
  /** Calls that are refused whatever their arguments, by name. */
  readonly refused: Readonly<Record<string, number>>;
}

/** Calls that came after the kernel gave all architectures the same numbers. */
const SHARED = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  open_tree_attr: 467,
} as const;

const X86_64: Machine = {
  audit: 0xc000003e,
  clone: 56,
  clone3: 435,
  ioctl: 16,
  personality: 135,
  socket: 41,
  unshare: 272,
  foreignFrom: 0x40000000,
  refused: {
    ptrace: 101,
    syslog: 103,
    uselib: 134,
    ustat: 136,
    sysfs: 139,
    vhangup: 153,
    modify_ldt: 154,
    pivot_root: 155,
    _sysctl: 156,
    adjtimex: 159,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    sethostname: 170,
    setdomainname: 171,
    iopl: 172,
    ioperm: 173,
    create_module: 174,
    init_module: 175,
    delete_module: 176,
    get_kernel_syms: 177,
    query_module: 178,
    quotactl: 179,
    nfsservctl: 180,
    lookup_dcookie: 212,
    clock_settime: 227,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    migrate_pages: 256,
    move_pages: 279,
    perf_event_open: 298,
    fanotify_init: 300,
    fanotify_mark: 301,
    name_to_handle_at: 303,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323,
    ...SHARED,
  },
};

const AARCH64: Machine = {
  audit: 0xc00000b7,
  clone: 220,
  clone3: 435,
  ioctl: 29,
  personality: 92,
  socket: 198,
  unshare: 97,
  foreignFrom: undefined,
  refused: {
    lookup_dcookie: 18,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    nfsservctl: 42,
    chroot: 51,
    vhangup: 58,
    quotactl: 60,
    acct: 89,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    sethostname: 161,
    setdomainname: 162,
    settimeofday: 170,
    adjtimex: 171,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    swapon: 224,
    swapoff: 225,
    migrate_pages: 238,
    move_pages: 239,
    perf_event_open: 241,
    fanotify_init: 262,
    fanotify_mark: 263,
    name_to_handle_at: 264,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294,
    ...SHARED,
  },
};

/** The machine that a filter can be made for, by the name that Node gives it. */
export const MACHINES: ReadonlyMap<string, Machine> = new Map([
  ['x64', X86_64],
  ['arm64', AARCH64],
]);
