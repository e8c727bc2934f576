// Valid sessions of an exec-server client, in both dialects.

/** Commands whose output and exit code are known. */
export const COMMANDS = [
  { argv: ['echo', 'hello'], stdout: 'hello\n', exitCode: 0 },
  { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'], stdout: 'out\n', stderr: 'err\n', exitCode: 3 },
  { argv: ['sh', '-c', 'printf "%s" "$NAME"'], stdout: 'value', exitCode: 0 },
  { argv: ['sh', '-c', 'head -c 100000 /dev/zero'], stdout: '\0'.repeat(100_000), exitCode: 0 },
  { argv: ['true'], stdout: '', exitCode: 0 },
  { argv: ['sleep', '2'], stdout: '', exitCode: 0, slow: true },
  { argv: ['cat'], stdout: '', exitCode: 0, reads: true },
  { argv: ['sh', '-c', 'sleep 2 & echo left'], stdout: 'left\n', exitCode: 0, slow: true },
];
const MISSING = ['/no/such/program', 'no-such-program-anywhere', ''];
const PATH = '/usr/local/bin:/usr/bin:/bin';
const base64 = (text) => Buffer.from(text).toString('base64');

/** Makes the steps of one connection. */
export function clientSession(random) {
  const dialect = random.pick(['first', 'later']);
  const session = new Session(random, dialect);
  session.handshake();
  for (let left = 1 + random.below(6); left > 0; left -= 1) session.something();
  return session.steps;
}

class Session {
  steps = [];
  #random;
  #dialect;
  #nextId = 1;
  #processes = 0;
  #responses = 0;

  constructor(random, dialect) {
    this.#random = random;
    this.#dialect = dialect;
  }

  handshake() {
    const later = this.#dialect === 'later' ? { resumeSessionId: this.#random.oneIn(15) ? 'unknown' : null } : {};
    const chunk = this.#random.oneIn(6) ? { maxChunkBytes: 1 + this.#random.below(20_000) } : {};
    this.#request('initialize', { clientName: 'fuzz', ...later, ...chunk });
    this.steps.push({ wait: 'response', count: this.#responses });
    this.steps.push({ send: { method: 'initialized', params: {} } });
  }

  something() {
    const random = this.#random;
    const kind = random.below(12);
    if (kind < 4 || this.#processes === 0) return this.#start();
    const processId = `p${random.below(this.#processes + (random.oneIn(8) ? 1 : 0))}`;
    if (kind < 6) return this.#read(processId);
    if (kind === 6) return this.#write(processId);
    if (kind === 7)
      return this.#request('process/terminate', {
        processId,
        ...(random.oneIn(3) ? { graceMs: random.below(50) } : {}),
      });
    if (kind === 8) return this.#request('process/wait', { processId, waitMs: random.below(300) });
    if (kind === 9) return this.#request(random.pick(['process/list', 'process/closeStdin']), { processId });
    if (kind === 10)
      return this.#request('process/resize', { processId, rows: 1 + random.below(100), cols: 1 + random.below(200) });
    return this.#dialect === 'later' ? this.#laterOnly(processId) : this.#request('process/unknown', {});
  }

  #start() {
    const random = this.#random;
    const { argv } = random.pick(COMMANDS);
    const tty = random.oneIn(4);
    const processId = `p${this.#processes}`;
    this.#processes += 1;
    const params = {
      processId,
      argv: random.oneIn(12) ? [random.pick(MISSING)] : argv,
      cwd: this.#path('@scratch@'),
      env: { PATH, NAME: 'value' },
      tty,
      arg0: random.oneIn(10) ? 'another' : null,
    };
    if (tty && random.oneIn(2)) params.size = { rows: 24, cols: 100 };
    if (random.oneIn(10)) params.timeoutMs = 20 + random.below(200);
    if (this.#dialect === 'later') {
      params.pipeStdin = argv[0] === 'cat' || random.oneIn(5);
      if (random.oneIn(6)) params.envPolicy = { inherit: random.pick(['core', 'all', 'none']), set: { NAME: 'value' } };
      if (random.oneIn(20)) params.sandbox = { type: 'none' };
    }
    this.#request('process/start', params);
    if (random.oneIn(2)) this.steps.push({ wait: 'response', count: this.#responses });
  }

  #read(processId) {
    const random = this.#random;
    const params = { processId, afterSeq: random.oneIn(3) ? random.below(10) : 0 };
    if (random.oneIn(2)) params.maxBytes = random.below(70_000);
    if (random.oneIn(2)) params.waitMs = random.below(200);
    this.#request('process/read', params);
  }

  #write(processId) {
    const random = this.#random;
    const chunk = base64('text\n'.repeat(random.below(random.oneIn(6) ? 5_000 : 4)));
    const later = this.#dialect === 'later' ? { writeId: `w${random.below(4)}` } : {};
    this.#request('process/write', { processId, chunk, ...later });
  }

  #laterOnly(processId) {
    const random = this.#random;
    const path = this.#path(`@scratch@${random.pick(['', '/file', '/none', '/folder', '/link', '/a%20b'])}`);
    switch (random.below(9)) {
      case 0:
        return this.#request('process/signal', {
          processId,
          signal: random.pick(['interrupt', 'SIGHUP', 'SIGWINCH', 'SIGNONE']),
        });
      case 1:
        return this.#request(random.pick(['environment/info', 'environment/status']), null);
      case 2:
        return this.#request(random.pick(['fs/readFile', 'fs/getMetadata', 'fs/readDirectory', 'fs/canonicalize']), {
          path,
        });
      case 3:
        return this.#request('fs/walk', {
          path,
          options: { maxDepth: 3, maxDirectories: 10, maxEntries: 20, followDirectorySymlinks: random.oneIn(2) },
        });
      case 4:
        this.#request('fs/open', { handleId: 'h', path });
        return this.#request('fs/readBlock', { handleId: 'h', offset: random.below(20), len: random.below(100) });
      case 5:
        return this.#request('fs/close', { handleId: random.pick(['h', 'i']) });
      case 6:
        // What changes files is sent as it is: a mutated path could be anybody's.
        this.#request('fs/writeFile', { path: this.#path('@scratch@/new'), dataBase64: base64('new') }, 'careful');
        return this.#request(
          'fs/copy',
          { sourcePath: this.#path('@scratch@/new'), destinationPath: this.#path('@scratch@/copy'), recursive: false },
          'careful',
        );
      case 7:
        this.#request('fs/createDirectory', { path: this.#path('@scratch@/made/deep') }, 'careful');
        return this.#request('fs/remove', { path: this.#path('@scratch@/made') }, 'careful');
      default:
        return this.#request('http/request', {
          method: 'GET',
          url: 'http://127.0.0.1:1/',
          headers: [],
          requestId: 'r',
          timeoutMs: 500,
        });
    }
  }

  #path(path) {
    return this.#dialect === 'later' ? `file://${path}` : path;
  }

  #request(method, params, care) {
    const id = this.#random.oneIn(10) ? `id-${this.#nextId}` : this.#nextId;
    this.#nextId += 1;
    this.#responses += 1;
    const step = { send: { id, method, params } };
    this.steps.push(care === 'careful' ? { ...step, careful: true } : step);
  }
}
