/** Memory of all processes of one confined execution together: several Node processes, or one large build. */
export const DEFAULT_MEMORY_BYTES = 1024 * 1024 * 1024;

/** Processes and threads of one execution: a Node process alone has eleven, a parallel build a few dozen. */
export const DEFAULT_PROCESSES = 256;

/** The largest single file: whatever is larger is a mistake or an attack. */
export const DEFAULT_FILE_SIZE_BYTES = 1024 * 1024 * 1024;

/** Open files of one process; what most systems grant by default. */
export const DEFAULT_OPEN_FILES = 1_024;

/** The private `/tmp`, and again the private `/home`. It is memory, so it also counts against the memory limit. */
export const DEFAULT_TMP_BYTES = 256 * 1024 * 1024;

/** Shared memory in `/dev/shm`: browsers and databases want 64 MiB, as container runtimes give them. */
export const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;

/** Processes of ours inside an execution, which the limit of the command must not pay for: bubblewrap twice, and the relay. */
export const OWN_PROCESSES = 3;

/** Seconds between the polite signal of the processor limit and the one that cannot be ignored. */
export const CPU_GRACE_SECONDS = 1;

/** Bubblewrap takes 9,000 arguments in all, three for each variable, and refuses the rest only when it runs. */
export const BUBBLEWRAP_ARGUMENTS_MAX = 8_990;

/** Below these, limits would hit bubblewrap while it copies small files into the room and holds its grants open. */
export const SHELL_LIMITS_MIN = { fileSizeBytes: 1024 * 1024, openFiles: 256 } as const;

/** How well the two clocks of the kernel agree: the one that limits counts in ticks, the one that is read does not. */
export const CPU_ACCURACY = 0.75;

/** How often and how long a control group is tried to be removed: the kernel empties it a moment after the last exit. */
export const GROUP_REMOVAL_TRIES = 200;
export const GROUP_REMOVAL_PAUSE_MS = 5;

/** Paths of one kind in a policy. Each is a mount, and mounts are what a start costs. */
export const POLICY_PATHS_MAX = 64;

/** Entries of an allow-list. */
export const POLICY_HOSTS_MAX = 256;

/** The user and group that a confined program sees itself as. Outside it is whoever runs Sallyport. */
export const INNER_ID = 1_000;

/** Where the relay to the proxy listens inside; the network there is private, so no one else can have the port. */
export const RELAY_PORT = 3_128;

/** The head of a request to the proxy: what servers commonly accept. */
export const PROXY_HEAD_BYTES = 32 * 1024;

/** How long a client may take to say what it wants. */
export const PROXY_HEAD_MS = 10_000;

/** How long resolving a name, and connecting to an address, may take. */
export const PROXY_RESOLVE_MS = 5_000;
export const PROXY_CONNECT_MS = 10_000;

/** A connection on which nothing moves for this long is closed: longer than any server waits for a slow answer. */
export const PROXY_IDLE_MS = 10 * 60_000;

/** Connections of one execution at a time: a browser opens six to a host, a package manager about fifty in all. */
export const PROXY_CONNECTIONS_MAX = 128;
