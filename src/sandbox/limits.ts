/** How long a polite signal may take before SIGKILL follows: long enough for a shell's traps, short enough to wait for. */
export const DEFAULT_KILL_GRACE_MS = 2_000;

/** How many times ending a tree looks again for processes that were forked while it was being killed. */
export const KILL_ROUNDS = 50;

/** The pause between two such looks; the kernel needs about a millisecond to tear a process down. */
export const KILL_ROUND_PAUSE_MS = 5;

/** How long after an exit the process table is searched for what the leader left behind. Exits in between share one search. */
export const SWEEP_DELAY_MS = 1_000;

/** How many looks a process gets to stand still after it was told to: microseconds each, and it takes a few at most. */
export const HOLD_LOOKS = 200;

/** How long after its start a supervisor is asked for the first process of its namespace; it takes a few milliseconds to make it. */
export const LEARN_DELAY_MS = 30;

/** Bytes that may wait for a child that does not read its input: a large paste fits, a flood does not. */
export const DEFAULT_INPUT_QUEUE_BYTES = 8 * 1024 * 1024;

/** What a write that waits takes up besides its bytes, about: it may have none. */
export const INPUT_WRITE_BYTES = 256;

/** Most that is read from a pipe for a child that has exited: what it wrote itself is no more, the rest is others'. A pipe holds at most 1 MiB. */
export const DRAIN_BYTES = 1024 * 1024;

/** The longest time that a timer knows: 25 days. With a longer one it would fire at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** Most that is taken from a terminal after its last writer left. The kernel holds 64 KiB; the rest is margin. */
export const TERMINAL_DRAIN_BYTES = 1024 * 1024;

/** One read from a terminal while it is drained. */
export const TERMINAL_READ_BYTES = 64 * 1024;

/** Bytes typed into a terminal before everybody else gets a turn. The kernel rarely takes more than 64 KiB at once. */
export const TERMINAL_TURN_BYTES = 256 * 1024;

/** Turns of the event loop in which a terminal that just took something is tried again. A child that reads makes room in 100 us. */
export const TERMINAL_PROMPT_RETRIES = 8;

/** The first wait for a terminal that is still full after that; timers know nothing shorter. */
export const TERMINAL_RETRY_MIN_MS = 1;

/** The longest wait for a full terminal: 60 tries a second are no load, and nobody sees the delay. */
export const TERMINAL_RETRY_MAX_MS = 16;

/** Rows and columns are unsigned 16-bit numbers in the kernel, and zero confuses every program. */
export const TERMINAL_SIDE_MAX = 65_535;

/** Linux refuses a single argument or variable of this many bytes, the closing NUL included (32 pages). */
export const EXEC_STRING_BYTES = 128 * 1024;

/** Linux grants arguments and environment a quarter of the stack limit, which is 8 MiB unless somebody changed it. */
export const EXEC_TOTAL_BYTES = 2 * 1024 * 1024;

/** Where programs are looked for when the given environment has no PATH. */
export const DEFAULT_SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Where the tools that Sallyport itself runs are looked for when it was started without a PATH. */
export const SYSTEM_SEARCH_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Extra pipes of one child. Each costs two handles. */
export const EXTRA_PIPES_MAX = 16;

/** The least time between two starts of a guardian that ended by itself, so that a broken one cannot spin. */
export const GUARDIAN_MIN_LIFE_MS = 200;

/** How long one question to the machine may take before the answer is "no". */
export const PROBE_TIMEOUT_MS = 5_000;
