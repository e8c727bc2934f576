import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pointed, wire } from '../../src/tool/batch-wiring.js';
import { serialize } from '../../src/tool/child/serialize.js';
import { envNameProblem } from '../../src/tool/env-names.js';
import { EventLog } from '../../src/tool/event-log.js';
import { Execution } from '../../src/tool/execution.js';
import { failureOf } from '../../src/tool/failure.js';
import { FairQueue } from '../../src/tool/fair-queue.js';
import { freshnessOf } from '../../src/tool/http/cache-control.js';
import { bodyHash, keyUse } from '../../src/tool/idempotency.js';
import { failureOfJob } from '../../src/tool/install/failure-of-job.js';
import { JobFailure } from '../../src/tool/install/installer.js';
import { isAllowed, isDenied } from '../../src/tool/install/package-list.js';
import { KnownExecutions } from '../../src/tool/known-executions.js';
import { packageNameProblem, versionKind } from '../../src/tool/package-names.js';
import { FrameReader } from '../../src/tool/run/frames.js';
import { AddressPolicy } from '../../src/tool/webhooks/address.js';
import { urlProblem } from '../../src/tool/webhooks/send.js';
import { hostNameOf } from '../../src/wire/index.js';

describe('the fair queue', () => {
  const queue = (places: number, maxWaiting: number): FairQueue =>
    new FairQueue({ places, maxWaiting, retryAfterSeconds: 1 });

  it('lets lanes take turns, so that a busy client waits behind its own requests', async () => {
    const line = queue(1, 100);
    const first = await line.acquire('a');
    const order: string[] = [];
    const enter = (lane: string): Promise<void> =>
      line.acquire(lane).then((slot) => {
        order.push(lane);
        slot.release();
      });
    const all = [enter('a'), enter('a'), enter('a'), enter('b'), enter('c')];
    first.release();
    await Promise.all(all);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
  });

  it('refuses beyond its limit, and forgets who leaves', async () => {
    const line = queue(1, 1);
    const slot = await line.acquire('a');
    const leaving = new AbortController();
    const waiting = line.acquire('a', leaving.signal);
    await expect(line.acquire('a')).rejects.toMatchObject({ failure: { code: 'OVERLOADED' } });
    leaving.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    expect(line.waiting).toBe(0);
    slot.release();
    slot.release();
    expect(line.taken).toBe(0);
  });

  it('never has more places taken than there are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (lanes, places) => {
          const line = queue(places, 100);
          let inside = 0;
          let most = 0;
          await Promise.all(
            lanes.map(async (lane) => {
              const slot = await line.acquire(lane);
              inside += 1;
              most = Math.max(most, inside);
              await Promise.resolve();
              inside -= 1;
              slot.release();
            }),
          );
          expect(most).toBeLessThanOrEqual(places);
          expect(line.taken).toBe(0);
        },
      ),
    );
  });
});

describe('names', () => {
  it('takes package names and nothing else', () => {
    for (const name of ['a', '@tpmjs/hello', 'left-pad', '@a/b.c_d', 'x'.repeat(214)])
      expect(packageNameProblem(name), name).toBeUndefined();
    for (const name of ['A', '../x', '@a', '@a/', 'a b', 'http', 'x'.repeat(215), '-g ', 'a@1', '\ud800'])
      expect(packageNameProblem(name), name).toBeDefined();
  });

  it('tells versions, ranges and tags apart', () => {
    expect(['1.2.3', '^1', '1.x || >=2', '*', 'latest', 'next-14', 'beta.1'].map(versionKind)).toEqual([
      'exact',
      'range',
      'range',
      'range',
      'tag',
      'tag',
      'tag',
    ]);
    for (const text of ['', 'file:x', 'npm:a@1', '-x', '../x', 'a b', 'x'.repeat(300)])
      expect(versionKind(text), text).toBeUndefined();
  });

  it('lets variables of tools through, and none that steer programs', () => {
    for (const name of ['EXA_API_KEY', 'NODE_ENV', 'openai_key', '_X', 'DATABASE_URL'])
      expect(envNameProblem(name), name).toBeUndefined();
    for (const name of ['node_options', 'Ld_Preload', 'NPM_TOKEN', 'x-y', '1x', ''])
      expect(envNameProblem(name), name).toBeDefined();
  });

  it('finds packages on a list by name and range', () => {
    const list = ['evil', '@a/b@<2'];
    for (const isListed of [isAllowed, isDenied]) {
      expect(isListed(list, 'evil', '9.0.0')).toBe(true);
      expect(isListed(list, '@a/b', '1.0.0')).toBe(true);
      expect(isListed(list, '@a/b', '2.0.0')).toBe(false);
      expect(isListed(list, 'evil2', '1.0.0')).toBe(false);
    }
  });

  it('counts prereleases to a range that keeps packages out, and not to one that lets them in', () => {
    expect(isDenied(['evil@<3'], 'evil', '2.0.0-beta.1')).toBe(true);
    expect(isDenied(['evil@*'], 'evil', '1.0.0-0')).toBe(true);
    expect(isDenied(['evil@<3'], 'evil', '3.0.0')).toBe(false);
    expect(isAllowed(['good@<3'], 'good', '2.0.0-beta.1')).toBe(false);
  });
});

describe('output as JSON', () => {
  const limits = { maxBytes: 1_000_000, maxDepth: 100 };

  it('is what JSON.stringify says of plain values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(serialize(value, limits))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('stops at its limits', () => {
    expect(() => serialize('x'.repeat(100), { maxBytes: 50, maxDepth: 10 })).toThrow('more than 50 bytes');
    expect(() => serialize([[[[1]]]], { maxBytes: 50, maxDepth: 3 })).toThrow('deeper than 3');
    const cycle: { self?: unknown } = {};
    cycle.self = { cycle };
    expect(() => serialize(cycle, limits)).toThrow('output.self.cycle');
  });
});

describe('frames of a child', () => {
  const secret = Buffer.alloc(32, 7);
  const frame = (text: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    return Buffer.concat([secret, length, Buffer.from(text)]);
  };

  it('come out whole however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{0,40}$/), { maxLength: 6 }),
        fc.integer({ min: 1, max: 50 }),
        (texts, size) => {
          const bytes = Buffer.concat(texts.map(frame));
          const reader = new FrameReader(secret, 1_000);
          const seen: string[] = [];
          for (let at = 0; at < bytes.length; at += size) {
            const bodies = reader.push(bytes.subarray(at, at + size));
            if (bodies === 'forged') throw new Error('forged');
            seen.push(...bodies.map(String));
          }
          expect(seen).toEqual(texts);
        },
      ),
    );
  });

  it('are forged without the secret, or with a length beyond the limit', () => {
    expect(new FrameReader(Buffer.alloc(32, 8), 1_000).push(frame('x'))).toBe('forged');
    expect(new FrameReader(secret, 3).push(frame('long'))).toBe('forged');
  });
});

describe('addresses of webhooks', () => {
  const policy = new AddressPolicy(['10.1.0.0/16', 'hooks.internal']);

  it('refuses private, link-local, metadata and disguised addresses', () => {
    for (const address of [
      '127.0.0.1',
      '10.0.0.1',
      '192.168.1.1',
      '172.16.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '::1',
      '::',
      'fe80::1',
      'fd00:ec2::254',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '224.0.0.1',
      '::127.0.0.1',
    ]) {
      expect(policy.permits(address, 'x'), address).toBe(false);
    }
    for (const address of ['93.184.216.34', '2606:4700::1111', '10.1.2.3'])
      expect(policy.permits(address, 'x'), address).toBe(true);
    expect(policy.permits('10.0.0.1', 'hooks.internal')).toBe(true);
  });

  it('refuses addresses as they are written, however that is', () => {
    for (const url of [
      'http://127.1/',
      'http://0x7f000001/',
      'http://2130706433/',
      'http://[::ffff:127.0.0.1]/',
      'http://localhost/',
      'http://LOCALHOST./',
      'http://a.local/',
      'http://u:p@example.com/',
    ])
      expect(urlProblem(url, policy), url).toBeDefined();
    expect(urlProblem('https://example.com/hook', policy)).toBeUndefined();
  });
});

describe('small parts', () => {
  it('follows JSON pointers through own properties only', () => {
    const value = { a: [{ 'b/c': 1, 'd~e': 2 }] };
    expect(pointed(value, '/a/0/b~1c').value).toBe(1);
    expect(pointed(value, '/a/0/d~0e').value).toBe(2);
    for (const pointer of ['/a/length', '/constructor', '/a/1', 'a', '/a/00'])
      expect(pointed(value, pointer).found, pointer).toBe(false);
    const params = { x: { $from: 'i', path: '/a' }, y: { $from: 'i', other: 1 } };
    expect(wire(params, new Map([['i', { a: 1 }]]), 1_000)).toEqual({ x: 1, y: { $from: 'i', other: 1 } });
  });

  it('puts in no more outputs than parameters may have bytes', () => {
    const outputs = new Map([['a', ['x'.repeat(10 * 2 ** 20)]]]);
    const params = (count: number): unknown => ({ x: Array.from({ length: count }, () => ({ $from: 'a' })) });
    expect(wire(params(1), outputs, 20 * 2 ** 20)).toEqual({ x: [outputs.get('a')] });
    // As text it would be longer than a string can be.
    expect(() => wire(params(60), outputs, 20 * 2 ** 20)).toThrow(/more than 20971520 bytes/);
    expect(() => wire({ x: Array.from({ length: 1_000 }, () => 1) }, outputs, 1_000)).toThrow(/more than 1000 bytes/);
  });

  it('forgets the oldest executions when the answers of all take too much memory', async () => {
    const known = new KnownExecutions({ keepMs: 60_000, maxBytes: 100_000 });
    const limits = { maxEvents: 10, maxBytes: 1_000 };
    const running = new Execution(limits, { id: 'running' });
    known.add(running);
    for (const id of ['a', 'b', 'c']) {
      const execution = new Execution(limits, { id });
      known.add(execution, keyUse({ idempotencyKey: id }, {}));
      execution.finish({ success: true, output: 1, executionTimeMs: 1, executionId: id }, 40_000);
      await execution.done;
    }
    expect([...known].map(({ id }) => id)).toEqual(['running', 'b', 'c']);
    // A key is forgotten with what it stands for: the same key and body are a new execution then.
    const byKey = ['a', 'b', 'c'].flatMap((idempotencyKey) => keyUse({ idempotencyKey }, {}) ?? []);
    expect(byKey.map((key) => known.find(key)?.id)).toEqual([undefined, 'b', 'c']);
  });

  it('hashes bodies whatever the order of their keys', () => {
    expect(bodyHash({ a: 1, b: { c: 2, d: 3 } })).toBe(bodyHash({ b: { d: 3, c: 2 }, a: 1 }));
    expect(bodyHash({ a: [1, 2] })).not.toBe(bodyHash({ a: [2, 1] }));
  });

  it('reads cache control and hosts', () => {
    expect(freshnessOf('max-age=10')).toEqual({ kind: 'max-age', ms: 10_000 });
    expect(() => freshnessOf('private')).toThrow('X-TPMJS-Cache-Control');
    expect(['localhost:80', '[::1]:80', '127.0.0.1', 'EVIL.com:1', 'a:b:c'].map(hostNameOf)).toEqual([
      'localhost',
      '[::1]',
      '127.0.0.1',
      'evil.com',
      '',
    ]);
  });

  it('keeps the frame of a story when its log is full', () => {
    const log = new EventLog({ maxEvents: 4, maxBytes: 1_000 });
    log.append('start', {});
    for (let index = 0; index < 20; index += 1) log.append('log', { text: String(index) });
    log.append('result', { success: true });
    log.append('log', 'too late');
    const seen: string[] = [];
    log.follow(0, ({ event, id }) => seen.push(`${event} ${id}`));
    expect(seen).toEqual(['start 1', 'log 20', 'log 21', 'result 22']);
  });
});

describe('a full disk', () => {
  const codes = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];

  it.each(codes)('is told as what it is, and as something that passes (%s)', (code) => {
    const error = Object.assign(new Error('no space left'), { code });
    const full = { code: 'OVERLOADED', retryable: true, details: { reason: 'disk-full', retryAfterSeconds: 10 } };
    expect(failureOf(error)).toMatchObject(full);
    expect(failureOfJob(error, 'a', 'install').failure).toMatchObject(full);
    expect(
      failureOfJob(new JobFailure({ problem: 'internal', message: 'x', code }), 'a', 'install').failure,
    ).toMatchObject(full);
  });
});
