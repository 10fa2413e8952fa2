import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { check } from '../support/history/checker.ts';
import { History, Kind, NO_VERSION, NO_WRITE, Outcome } from '../support/history/history.ts';
import type { Rule } from '../support/history/report.ts';

const FILES = 4;
const FRESH_MS = 100;

/** A history written by hand: nameservices ns0 (files 0 to 3) and ns1 (4 to 7), operations one after the other unless they are begun apart. */
class Story {
  readonly history: History;
  nowMs = 0;

  constructor() {
    this.history = new History({
      nameservices: ['ns0', 'ns1'],
      filesPerNameservice: FILES,
      clients: 3,
      freshMs: FRESH_MS,
      nowMs: () => this.nowMs,
    });
  }

  write(client: number, file: number, version: number): number {
    const row = this.history.invoke(client, 0, Kind.WRITE, file);
    this.history.succeed(row, 0, version, row);
    return row;
  }

  /** The answer is lost, whatever became of the write. */
  lostWrite(client: number, file: number): number {
    const row = this.history.invoke(client, 0, Kind.WRITE, file);
    this.history.fail(row, 0);
    return row;
  }

  /** Reads what `write` made; null: nothing there. */
  read(client: number, file: number, version: number | null, write: number = NO_WRITE): void {
    this.endRead(this.beginRead(client, file), version, write);
  }

  beginRead(client: number, file: number): number {
    return this.history.invoke(client, 0, Kind.READ, file);
  }

  endRead(row: number, version: number | null, write: number = NO_WRITE): void {
    this.history.succeed(row, 1, version ?? NO_VERSION, write);
  }

  msync(client: number): void {
    this.history.succeed(this.history.invoke(client, 1, Kind.MSYNC, -1), 1);
  }

  get found(): Partial<Record<Rule, number>> {
    return Object.fromEntries(check(this.history).counts);
  }
}

describe('what is allowed', () => {
  it('an empty history', () => {
    expect(new Story().found).toEqual({});
  });

  it('a client that reads what it wrote, through either router', () => {
    const story = new Story();
    const first = story.write(0, 0, 100);
    story.read(0, 0, 100, first);
    const second = story.write(0, 0, 101);
    story.read(0, 0, 101, second);
    expect(check(story.history)).toMatchObject({ count: 0, reads: 2, writes: 2, failed: 0 });
  });

  it('another client that sees it later, or not at all', () => {
    const story = new Story();
    const first = story.write(0, 0, 100);
    story.read(1, 0, null);
    story.write(0, 0, 101);
    story.read(1, 0, 100, first);
    story.read(1, 0, 100, first);
    expect(story.found).toEqual({});
  });

  it('an operation that did not know yet, though it returned later', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const slow = story.beginRead(1, 0);
    const made = story.write(1, 0, 101);
    story.read(1, 0, 101, made);
    story.endRead(slow, 100, old);
    expect(story.found).toEqual({});
  });

  it('a write that failed and happened, and one that did not', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const lost = story.lostWrite(0, 0);
    story.read(0, 0, 100, old);
    story.read(1, 0, 101, lost);
    story.lostWrite(1, 0);
    story.read(1, 0, 101, lost);
    expect(check(story.history)).toMatchObject({ count: 0, failed: 2 });
  });

  it('other nameservices, whose versions are others', () => {
    const story = new Story();
    story.write(0, 0, 500);
    const other = story.write(1, 4, 100);
    story.write(2, 4, 101);
    story.read(0, 4, 100, other);
    expect(story.found).toEqual({});
  });

  it('what is later than everything the client has seen', () => {
    const story = new Story();
    const first = story.write(0, 0, 100);
    const second = story.write(0, 1, 101);
    story.write(0, 0, 102);
    story.read(1, 1, 101, second);
    story.read(1, 0, 100, first);
    expect(story.found).toEqual({});
  });

  it('files that are there from outside of the history, as versions of nobody', () => {
    const story = new Story();
    story.write(0, 0, 7);
    story.write(0, 1, 3_000_000);
    expect(story.found).toEqual({});
  });
});

describe('what is not', () => {
  it('read-your-writes: an older version, and none', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.read(0, 0, 100, old);
    story.read(0, 0, null);
    expect(story.found).toEqual({ 'read-your-writes': 2 });
    expect(check(story.history).text).toContain('#2 [5–6] client 0, router 1: reads ns0 file 0: version 100 of #0');
    expect(check(story.history).text).toContain('before: #1 [3–4] client 0, router 0: writes ns0 file 0: version 101');
  });

  it('read-your-writes: the version between its own two', () => {
    const story = new Story();
    story.write(0, 0, 100);
    const others = story.write(1, 0, 101);
    story.write(0, 0, 102);
    story.read(0, 0, 101, others);
    expect(story.found).toEqual({ 'read-your-writes': 1 });
  });

  it('monotonic reads', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const made = story.write(0, 0, 101);
    story.read(1, 0, 101, made);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'monotonic reads': 1 });
  });

  it('monotonic reads: back to before a write whose answer was lost', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const lost = story.lostWrite(0, 0);
    story.read(1, 0, 101, lost);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'monotonic reads': 1 });
  });

  it('writes-follow-reads: what comes before the other write that was read', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const seen = story.write(0, 0, 101);
    story.read(1, 0, 101, seen);
    const answer = story.write(1, 1, 102);
    story.read(2, 1, 102, answer);
    story.read(2, 0, 100, old);
    expect(story.found).toEqual({ 'writes-follow-reads': 1 });
  });

  it('writes-follow-reads: a file older than its own write of another file', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.write(1, 1, 102);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'writes-follow-reads': 1 });
  });

  it('writes-follow-reads: a write that comes before what its client had seen', () => {
    const story = new Story();
    const seen = story.write(0, 0, 101);
    story.read(1, 0, 101, seen);
    story.write(1, 1, 100);
    expect(story.found).toEqual({ 'writes-follow-reads': 1 });
  });

  it('msync: what was written before it began', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.read(1, 0, 100, old);
    story.msync(1);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ msync: 1 });
  });

  it('msync: of what is written meanwhile nothing must be seen', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const msync = story.history.invoke(1, 0, Kind.MSYNC, -1);
    story.write(0, 0, 101);
    story.history.succeed(msync, 0);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({});
  });

  it('plain read: clients without state see all that was written', () => {
    const story = new Story();
    story.history.plainClients.add(1);
    const old = story.write(0, 0, 100);
    story.read(1, 0, 100, old);
    const slow = story.beginRead(1, 0);
    story.write(0, 0, 101);
    story.endRead(slow, 100, old);
    expect(story.found).toEqual({});
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'plain read': 1 });
  });

  it('wrong answer: a status of another file, of no write, of a write to come, of another call', () => {
    const story = new Story();
    const other = story.write(0, 1, 100);
    story.read(1, 0, 100, other);
    story.read(1, 0, 99, NO_WRITE);
    const early = story.beginRead(1, 0);
    story.endRead(early, 105, early + 1);
    story.write(0, 0, 105);
    const mixed = story.history.invoke(0, 0, Kind.WRITE, 0);
    story.history.succeed(mixed, 0, 106, other);
    expect(story.found).toEqual({ 'wrong answer': 4 });
  });

  it('executed twice: one write, two versions', () => {
    const story = new Story();
    const write = story.write(0, 0, 100);
    story.read(1, 0, 101, write);
    const lost = story.lostWrite(0, 1);
    story.read(1, 1, 102, lost);
    story.read(1, 1, 103, lost);
    expect(story.found).toEqual({ 'executed twice': 2 });
  });

  it('one version twice: the first write was lost though its writer was told of it', () => {
    const story = new Story();
    story.write(0, 0, 100);
    story.write(1, 1, 100);
    expect(story.found).toEqual({ 'one version twice': 1 });
  });
});

describe('a forgetful nameservice', () => {
  it('may forget what nobody was told of', () => {
    const story = new Story();
    story.history.forgetful.add(0);
    const old = story.write(0, 0, 100);
    const lost = story.lostWrite(0, 0);
    story.read(1, 0, 101, lost);
    story.read(1, 0, 100, old);
    story.write(2, 1, 101);
    story.read(1, 0, 100, old);
    expect(check(story.history)).toMatchObject({ count: 0, excused: 1 });
  });

  it('must keep what somebody was told of', () => {
    const story = new Story();
    story.history.forgetful.add(0);
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.read(0, 0, 100, old);
    story.write(1, 1, 101);
    expect(story.found).toEqual({ 'read-your-writes': 1, 'one version twice': 1 });
  });
});

describe('bounded staleness', () => {
  /** Client 1 reads file 0, and then again what was old `againMs` after the write of something newer. */
  function readOldAgain(againMs: number, firstMs: number): Story {
    const story = new Story();
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.nowMs = firstMs;
    story.read(1, 0, 100, old);
    story.nowMs = againMs;
    story.read(1, 0, 100, old);
    return story;
  }

  it('is broken by a read of what was old before the last operation began', () => {
    expect(readOldAgain(101, 100).found).toEqual({ 'bounded staleness': 1 });
  });

  it('is kept by the first operation for a long time, which tells the client how far it is', () => {
    expect(readOldAgain(500, 99).found).toEqual({});
  });

  it('is not asked of clients without state, who must see all', () => {
    const story = readOldAgain(101, 100);
    story.history.plainClients.add(1);
    expect(story.found).toEqual({ 'plain read': 2 });
  });
});

describe('while two NameNodes act as active', () => {
  it('reads may miss what others wrote, but not what their client has seen', () => {
    const story = new Story();
    story.history.plainClients.add(2);
    const old = story.write(0, 0, 100);
    const end = story.history.beginDoubt(0, false);
    story.write(0, 0, 101);
    story.read(0, 0, 100, old);
    story.read(2, 0, 100, old);
    story.msync(1);
    const slow = story.beginRead(2, 0);
    end();
    story.endRead(slow, 100, old);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'read-your-writes': 1 });
    expect(check(story.history).excused).toBe(2);
  });

  it('nothing can be said when the fenced one counts what was never written', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    const end = story.history.beginDoubt(0, true);
    story.write(0, 0, 101);
    story.read(0, 0, 100, old);
    end();
    expect(check(story.history)).toMatchObject({ count: 0, excused: 1 });
    story.read(0, 0, 100, old);
    expect(story.found).toEqual({ 'read-your-writes': 1 });
  });

  it('other nameservices are as ever, and so is the time before and after', () => {
    const story = new Story();
    story.history.plainClients.add(1);
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    story.read(1, 0, 100, old);
    story.history.beginDoubt(1, true)();
    const other = story.write(0, 4, 100);
    story.history.beginDoubt(0, true)();
    story.write(0, 4, 101);
    story.read(1, 4, 100, other);
    story.read(1, 0, 100, old);
    expect(story.found).toEqual({ 'plain read': 3 });
  });
});

describe('the record', () => {
  it('takes one answer for each operation, and none for what was not asked', () => {
    const story = new Story();
    const row = story.write(0, 0, 100);
    expect(() => story.history.succeed(row, 0, 100, row)).toThrow('a second answer to #0');
    expect(() => story.history.fail(7, 0)).toThrow('no operation 7');
  });

  it('grows beyond its first rows and keeps them', () => {
    const story = new Story();
    for (let version = 1; version <= 5000; version++) story.write(version % 3, version % 8, version);
    const { history } = story;
    expect(history.length).toBe(5000);
    expect(history.version[17]).toBe(18);
    expect(history.outcome[4999]).toBe(Outcome.SUCCESS);
    expect(check(history)).toMatchObject({ writes: 5000, count: 0 });
  });

  it('says how many violations there are and keeps the text of the first ones', () => {
    const story = new Story();
    const old = story.write(0, 0, 100);
    story.write(0, 0, 101);
    for (let i = 0; i < 25; i++) story.read(0, 0, 100, old);
    const report = check(story.history);
    expect(report.count).toBe(25);
    expect(report.violations).toHaveLength(5);
    expect(report.summary).toBe(
      '27 operations (25 reads, 2 writes, 0 msyncs; 0 more failed), 25 violations (25 read-your-writes)',
    );
  });

  it('refuses versions that cannot all be ours', () => {
    const story = new Story();
    story.write(0, 0, 1);
    story.write(0, 0, 2 ** 40);
    expect(() => check(story.history)).toThrow('too far apart');
  });
});

/** The rules of sessions as they are said, over all pairs of operations. */
function findByPairs(history: History): number {
  const { length, kind, client, file, version, outcome, invokedAt, returnedAt } = history;
  const rows = Array.from({ length }, (_, row) => row).filter((row) => outcome[row] === Outcome.SUCCESS);
  let count = 0;
  for (const row of rows) {
    const nameservice = history.nameserviceOf(file[row]!);
    const before = rows.filter(
      (other) =>
        client[other] === client[row] &&
        returnedAt[other]! < invokedAt[row]! &&
        history.nameserviceOf(file[other]!) === nameservice,
    );
    const seen = Math.max(0, ...before.map((other) => version[other]!));
    if (kind[row] === Kind.WRITE) {
      if (version[row]! <= seen) count++;
    } else {
      const missed = rows.some(
        (other) =>
          kind[other] === Kind.WRITE &&
          file[other] === file[row] &&
          version[other]! > version[row]! &&
          version[other]! <= seen,
      );
      if (missed) count++;
    }
  }
  return count;
}

/** A client reads or writes; a read is served by a NameNode that is so many transactions behind, whatever the client has seen. */
interface Step {
  readonly client: number;
  readonly file: number;
  readonly isWrite: boolean;
  readonly behind: number;
  /** Operations that begin before this one ends. */
  readonly overlaps: number;
}

const steps = fc.array(
  fc.record({
    client: fc.nat(2),
    file: fc.constantFrom(0, 1, 4),
    isWrite: fc.boolean(),
    behind: fc.nat(12),
    overlaps: fc.constantFrom(0, 0, 1, 3),
  }),
  { minLength: 20, maxLength: 80 },
);

/** Plays the steps; `isSafe`: a NameNode waits until it has what the client has seen. */
function play(story: Story, all: readonly Step[], isSafe: boolean): void {
  const logs: { file: number; row: number }[][] = [[], []];
  const seen = Array.from({ length: 3 }, () => [0, 0]);
  const open: (() => void)[][] = [];
  for (const [at, { client, file, isWrite, behind, overlaps }] of all.entries()) {
    const nameservice = story.history.nameserviceOf(file);
    const log = logs[nameservice]!;
    const known = seen[client]!;
    if (isWrite) {
      const row = story.history.invoke(client, 0, Kind.WRITE, file);
      log.push({ file, row });
      const version = log.length;
      later(at + overlaps, () => {
        story.history.succeed(row, 0, version, row);
        known[nameservice] = Math.max(known[nameservice]!, version);
      });
    } else {
      const row = story.beginRead(client, file);
      const state = Math.max(isSafe ? known[nameservice]! : 0, log.length - behind);
      const version = log.slice(0, state).findLastIndex((entry) => entry.file === file) + 1;
      later(at + overlaps, () => {
        story.endRead(row, version, version === 0 ? NO_WRITE : log[version - 1]!.row);
        known[nameservice] = Math.max(known[nameservice]!, version);
      });
    }
    for (const end of open[at] ?? []) end();
  }
  for (const ends of open.slice(all.length)) for (const end of ends ?? []) end();

  function later(at: number, end: () => void): void {
    open[at] ??= [];
    open[at].push(end);
  }
}

describe('random histories', () => {
  it('have the violations that a comparison of all pairs finds', () => {
    let violations = 0;
    fc.assert(
      fc.property(steps, (all) => {
        const story = new Story();
        play(story, all, false);
        const { count } = check(story.history);
        expect(count).toBe(findByPairs(story.history));
        violations += count;
      }),
      { numRuns: 500, seed: 7 },
    );
    expect(violations).toBeGreaterThan(500);
  });

  it('have none when NameNodes wait for what the client has seen', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const story = new Story();
        play(story, all, true);
        expect(check(story.history).text).toContain(' 0 violations');
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});
