'use strict';
// WASI preview 1 for a guest that has nothing: standard input, output and error, two clocks, random bytes and an exit. No
// arguments, no environment, no folders. Every other function of preview 1 exists, so that any program links, and refuses.
const fs = require('node:fs');
const { StandardInput } = require('./standard-input.cjs');

const ERRNO = { success: 0, again: 6, badf: 8, fault: 21, inval: 28, io: 29, pipe: 64, spipe: 70, notcapable: 76 };
const IOVEC_BYTES = 8;
const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;
/** More vectors or subscriptions than this are no program's but an attack's. */
const MAX_VECTORS = 4_096;
const FLAG_NONBLOCK = 4;
const RIGHT_READ = 1n << 1n;
const RIGHT_SET_FLAGS = 1n << 3n;
const RIGHT_WRITE = 1n << 6n;
const RIGHT_POLL = 1n << 27n;
/** Clocks tick in milliseconds: fine enough to measure work, too coarse to measure caches. */
const CLOCK_STEP = 1_000_000n;
const EVENT_CLOCK = 0;
const EVENT_READ = 1;
const EVENT_WRITE = 2;
const CLOCK_ABSOLUTE = 1;
/** Longest single sleep: what a timer of 32 bits can hold. */
const MAX_WAIT_MS = 0x7fffffff;

/** What preview 1 has and this guest does not get. Handles 0 to 2 exist, so paths and other handles are all that is refused. */
const REFUSED = [
  'fd_advise',
  'fd_allocate',
  'fd_datasync',
  'fd_fdstat_set_rights',
  'fd_filestat_set_size',
  'fd_filestat_set_times',
  'fd_pread',
  'fd_pwrite',
  'fd_readdir',
  'fd_renumber',
  'fd_sync',
  'path_create_directory',
  'path_filestat_get',
  'path_filestat_set_times',
  'path_link',
  'path_open',
  'path_readlink',
  'path_remove_directory',
  'path_rename',
  'path_symlink',
  'path_unlink_file',
  'proc_raise',
  'sock_accept',
  'sock_recv',
  'sock_send',
  'sock_shutdown',
];

/** Makes the imports of one instance. `bind` hands over its memory, which does not exist before it. */
function createWasi() {
  let memory;
  let bytes = new Uint8Array(0);
  let view = new DataView(bytes.buffer);
  const input = new StandardInput();
  const open = [true, true, true];
  let inputFlags = 0;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));

  /**
   * Growing empties the old buffer, so the views are looked up again wherever the guest may have run in between. Asking the
   * view is far cheaper than asking the memory.
   */
  function refresh() {
    if (bytes.length > 0 || memory === undefined) return;
    bytes = new Uint8Array(memory.buffer);
    view = new DataView(memory.buffer);
  }

  const holds = (at, length) => at + length <= bytes.length;

  /** Whether a list of vectors, and all that they point to, lies within the memory. */
  function vectorsFit(at, count) {
    if (count > MAX_VECTORS || !holds(at, count * IOVEC_BYTES)) return false;
    for (let index = 0; index < count; index += 1) {
      const start = view.getUint32(at + index * IOVEC_BYTES, true);
      if (!holds(start, view.getUint32(at + index * IOVEC_BYTES + 4, true))) return false;
    }
    return true;
  }

  /** Runs a function of preview 1 on fresh views. A pointer outside of the memory is the guest's fault, not ours. */
  function guarded(body) {
    return (...args) => {
      refresh();
      try {
        return body(...args.map((value) => (typeof value === 'number' ? value >>> 0 : value)));
      } catch (error) {
        if (error instanceof RangeError) return ERRNO.fault;
        throw error;
      }
    };
  }

  function coarse(clock) {
    const milliseconds = clock === 0 ? Date.now() : Math.floor(performance.now());
    return BigInt(milliseconds) * CLOCK_STEP;
  }

  function putU32(at, value) {
    view.setUint32(at, value, true);
    return ERRNO.success;
  }

  function putU64(at, value) {
    view.setBigUint64(at, value, true);
    return ERRNO.success;
  }

  function none(countAt, sizeAt) {
    putU32(countAt, 0);
    return putU32(sizeAt, 0);
  }

  const isOpen = (fd) => fd < open.length && open[fd];

  // The two that a busy guest lives in. They check every bound themselves, and make no object per call: the one vector that
  // nearly every program uses is a start and an end in its memory.
  function fdRead(fd, listAt, listCount, resultAt) {
    refresh();
    const at = listAt >>> 0;
    const count = listCount >>> 0;
    const to = resultAt >>> 0;
    if (fd !== 0 || !open[0]) return ERRNO.badf;
    if (!vectorsFit(at, count) || !holds(to, 4)) return ERRNO.fault;
    if ((inputFlags & FLAG_NONBLOCK) !== 0 && !input.ready()) return ERRNO.again;
    let total = 0;
    for (let index = 0; index < count; index += 1) {
      const start = view.getUint32(at + index * IOVEC_BYTES, true);
      const length = view.getUint32(at + index * IOVEC_BYTES + 4, true);
      if (length === 0) continue;
      // Only the first vector may wait: a read that has something returns it.
      if (total > 0 && input.buffered() === 0) break;
      const read = input.read(bytes, start, length);
      total += read;
      if (read < length) break;
    }
    view.setUint32(to, total, true);
    return ERRNO.success;
  }

  function fdWrite(fd, listAt, listCount, resultAt) {
    refresh();
    const at = listAt >>> 0;
    const count = listCount >>> 0;
    const to = resultAt >>> 0;
    if ((fd !== 1 && fd !== 2) || !open[fd]) return ERRNO.badf;
    if (!vectorsFit(at, count) || !holds(to, 4)) return ERRNO.fault;
    let total = 0;
    try {
      if (count === 1) {
        total = view.getUint32(at + 4, true);
        writeAll(fd, bytes, view.getUint32(at, true), total);
      } else {
        const gathered = gather(at, count);
        total = gathered.length;
        writeAll(fd, gathered, 0, total);
      }
    } catch (error) {
      return error.code === 'EPIPE' ? ERRNO.pipe : ERRNO.io;
    }
    view.setUint32(to, total, true);
    return ERRNO.success;
  }

  /** Several vectors leave in one write, so that a frame stays whole on its way. */
  function gather(at, count) {
    const parts = [];
    for (let index = 0; index < count; index += 1) {
      const start = view.getUint32(at + index * IOVEC_BYTES, true);
      parts.push(bytes.subarray(start, start + view.getUint32(at + index * IOVEC_BYTES + 4, true)));
    }
    return Buffer.concat(parts);
  }

  function writeAll(fd, source, start, length) {
    const end = start + length;
    for (let at = start; at < end; ) {
      try {
        at += fs.writeSync(fd, source, at, end - at);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(sleeper, 0, 0, 1);
      }
    }
  }

  function fdstat(fd, at) {
    if (!isOpen(fd)) return ERRNO.badf;
    if (!holds(at, 24)) return ERRNO.fault;
    bytes.fill(0, at, at + 24);
    view.setUint16(at + 2, fd === 0 ? inputFlags : 0, true);
    return putU64(at + 8, fd === 0 ? RIGHT_READ | RIGHT_POLL | RIGHT_SET_FLAGS : RIGHT_WRITE | RIGHT_POLL);
  }

  function filestat(fd, at) {
    if (!isOpen(fd)) return ERRNO.badf;
    if (!holds(at, 64)) return ERRNO.fault;
    bytes.fill(0, at, at + 64);
    return ERRNO.success;
  }

  function setFlags(fd, flags) {
    if (!isOpen(fd)) return ERRNO.badf;
    if (fd === 0) {
      inputFlags = flags & FLAG_NONBLOCK;
      if (inputFlags !== 0) input.listen();
    }
    return ERRNO.success;
  }

  function close(fd) {
    if (!isOpen(fd)) return ERRNO.badf;
    open[fd] = false;
    // The far end must see it: a host that waits for output learns that none comes any more.
    if (fd !== 0) fs.closeSync(fd);
    return ERRNO.success;
  }

  /** Reads one subscription; `at` and `kind` say where and what, `due` and `fd` what it waits for. */
  function subscription(at, now) {
    const kind = view.getUint8(at + 8);
    const userdata = view.getBigUint64(at, true);
    if (kind !== EVENT_CLOCK) return { userdata, kind, fd: view.getUint32(at + 16, true) };
    const clock = view.getUint32(at + 16, true);
    const timeout = view.getBigUint64(at + 24, true);
    const absolute = (view.getUint16(at + 40, true) & CLOCK_ABSOLUTE) !== 0;
    const left = absolute ? timeout - coarse(clock) : timeout;
    return { userdata, kind, due: now + Number(left > 0n ? left : 0n) / 1e6 };
  }

  function pollOneoff(from, to, count, resultAt) {
    if (count === 0) return ERRNO.inval;
    const fits = holds(from, count * SUBSCRIPTION_BYTES) && holds(to, count * EVENT_BYTES) && holds(resultAt, 4);
    if (count > MAX_VECTORS || !fits) return ERRNO.fault;
    const start = performance.now();
    const list = [];
    for (let index = 0; index < count; index += 1) list.push(subscription(from + index * SUBSCRIPTION_BYTES, start));
    const events = waitFor(list);
    for (const [index, event] of events.entries()) {
      const at = to + index * EVENT_BYTES;
      bytes.fill(0, at, at + EVENT_BYTES);
      view.setBigUint64(at, event.userdata, true);
      view.setUint16(at + 8, event.errno ?? ERRNO.success, true);
      view.setUint8(at + 10, event.kind);
      if (event.kind === EVENT_READ) view.setBigUint64(at + 16, BigInt(input.buffered()), true);
    }
    return putU32(resultAt, events.length);
  }

  /** Waits until at least one subscription has happened, and returns those that have. */
  function waitFor(list) {
    const due = list.reduce(
      (first, item) => Math.min(first, item.due ?? Number.POSITIVE_INFINITY),
      Number.POSITIVE_INFINITY,
    );
    const reads = list.some((item) => item.kind === EVENT_READ && item.fd === 0 && open[0]);
    for (;;) {
      const now = performance.now();
      const events = list.flatMap((item) => happened(item, now) ?? []);
      if (events.length > 0) return events;
      const patience = Math.min(due - now, MAX_WAIT_MS);
      if (reads) input.wait(patience);
      else Atomics.wait(sleeper, 0, 0, patience);
    }
  }

  function happened(item, now) {
    if (item.kind === EVENT_CLOCK) return item.due <= now ? item : undefined;
    if (item.kind === EVENT_READ && item.fd === 0 && open[0]) return input.ready() ? item : undefined;
    if (item.kind === EVENT_WRITE && (item.fd === 1 || item.fd === 2) && open[item.fd]) return item;
    return { ...item, errno: ERRNO.badf };
  }

  const imports = {
    args_get: () => ERRNO.success,
    args_sizes_get: guarded(none),
    environ_get: () => ERRNO.success,
    environ_sizes_get: guarded(none),
    clock_res_get: guarded((clock, at) => (clock > 3 ? ERRNO.inval : putU64(at, CLOCK_STEP))),
    clock_time_get: guarded((clock, _precision, at) => (clock > 3 ? ERRNO.inval : putU64(at, coarse(clock)))),
    random_get: guarded((at, length) => {
      if (!holds(at, length)) return ERRNO.fault;
      require('node:crypto').randomFillSync(bytes, at, length);
      return ERRNO.success;
    }),
    sched_yield: () => ERRNO.success,
    // Ends the process on the spot: an exception could be caught by the guest.
    proc_exit: (code) => process.exit(code >>> 0),
    fd_read: fdRead,
    fd_write: fdWrite,
    fd_close: guarded(close),
    fd_fdstat_get: guarded(fdstat),
    fd_fdstat_set_flags: guarded(setFlags),
    fd_filestat_get: guarded(filestat),
    fd_seek: (fd) => (isOpen(fd >>> 0) ? ERRNO.spipe : ERRNO.badf),
    fd_tell: (fd) => (isOpen(fd >>> 0) ? ERRNO.spipe : ERRNO.badf),
    // There are no folders: the first question for one ends the search.
    fd_prestat_get: () => ERRNO.badf,
    fd_prestat_dir_name: () => ERRNO.badf,
    poll_oneoff: guarded(pollOneoff),
  };
  for (const name of REFUSED) imports[name] = () => ERRNO.notcapable;

  return {
    imports,
    bind(instanceMemory) {
      memory = instanceMemory;
      refresh();
    },
  };
}

module.exports = { createWasi };
