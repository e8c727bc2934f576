import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import {
  type BuiltServer,
  connectWebSocket,
  laterStart,
  launchServer,
  type RawClient,
  uri,
} from '../process/raw-client.js';
import { here } from '../sandbox/container/rooms.js';

export const SECRET = 'the-secret-of-the-house';
export const LEVELS = ['process', 'container'] as const;
export type Level = (typeof LEVELS)[number];

/** A house with a home that holds secrets, and a folder for work with links that lead out of it. */
export interface House {
  readonly folder: string;
  readonly home: string;
  readonly work: string;
  /** A file in the home. */
  readonly notes: string;
}

/** Builds a house for the tests of a file. */
export function buildHouse(): House {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-attack-')));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const [home, work] = [join(folder, 'home'), join(folder, 'work')];
  const notes = join(home, 'notes');
  mkdirSync(join(home, '.ssh'), { recursive: true });
  mkdirSync(join(home, '.cache/sallyport/tools/left-pad'), { recursive: true });
  mkdirSync(join(work, 'sub'), { recursive: true });
  writeFileSync(join(home, '.ssh/key'), SECRET, { mode: 0o600 });
  writeFileSync(join(home, '.cache/sallyport/tools/left-pad/index.js'), SECRET);
  writeFileSync(notes, SECRET);
  writeFileSync(join(work, 'own'), 'mine');
  symlinkSync(join(home, '.ssh'), join(work, 'to-ssh'));
  symlinkSync(join(home, '.ssh/key'), join(work, 'to-key'));
  symlinkSync(home, join(work, 'to-home'));
  symlinkSync('/', join(work, 'to-root'));
  return { folder, home, work, notes };
}

/** A server of the built program at each level, for the tests of a file. */
export class Servers {
  readonly #house: House;
  readonly #launched = new Map<Level, Awaited<ReturnType<typeof launchServer>>>();
  #count = 0;

  constructor(house: House) {
    this.#house = house;
    beforeAll(async () => {
      // Where no room can be made, the second one does not start, and nobody asks for it.
      for (const level of here.available ? LEVELS : (['process'] as const)) {
        const args = ['--listen', 'ws://127.0.0.1:0', '--isolation', level];
        this.#launched.set(level, await launchServer(args, { HOME: house.home, TOKEN: SECRET }));
      }
    });
    afterAll(() => Promise.all([...this.#launched.values()].map(({ dispose }) => dispose())));
  }

  at(level: Level): BuiltServer {
    const launched = this.#launched.get(level);
    if (launched === undefined) throw new Error('there is no server');
    return launched.server;
  }

  async client(level: Level): Promise<RawClient> {
    const server = this.at(level);
    const connected = await connectWebSocket(server.url, server);
    await connected.later();
    return connected;
  }

  /** Runs a script to its end through the protocol, and returns all that it wrote, or the error of the start. */
  async run(level: Level, script: string, more: Record<string, unknown> = {}): Promise<string> {
    const connected = await this.client(level);
    this.#count += 1;
    const id = `p${this.#count}`;
    const params = laterStart(id, script, { cwd: uri(this.#house.work), ...more });
    const { error } = await connected.call('process/start', params);
    if (error !== undefined) return `refused ${error.code}: ${error.message}`;
    await connected.notification('process/closed', id);
    return connected.output(id);
  }
}
