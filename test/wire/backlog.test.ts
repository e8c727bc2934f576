import { describe, expect, it } from 'vitest';
import { Backlog } from '../../src/wire/backlog.js';

describe('a backlog', () => {
  it('lets one message through that is larger than it, and others beside that', () => {
    const backlog = new Backlog(100);
    backlog.check(0);
    backlog.sent(0, 1_000);
    backlog.check(1_000);
    backlog.sent(1_000, 50);
    backlog.check(1_100);
    expect(() => backlog.check(1_101)).toThrow('1101 bytes wait to be sent');
    // It has left, and the peer still has not read what came behind it.
    backlog.check(0);
    expect(() => backlog.check(101)).toThrow('101 bytes wait to be sent');
  });

  it('makes room for one such message, however many there are', () => {
    const backlog = new Backlog(100);
    backlog.sent(0, 1_000);
    backlog.sent(1_000, 2_000);
    expect(() => backlog.check(3_000)).toThrow('3000 bytes wait to be sent');
  });

  it('counts a message before it is sent where its length is known', () => {
    const backlog = new Backlog(100);
    backlog.check(60, 40);
    expect(() => backlog.check(60, 41)).toThrow('60 bytes wait to be sent');
    backlog.check(60, 1_000);
  });
});
