import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseFlags, UsageError } from '../../src/commands/usage.ts';
import { LOAD_FLAGS, readPlan } from '../../src/load/plan/flags.ts';
import type { LoadPlan } from '../../src/load/plan/plan.ts';
import { shareOut } from '../../src/load/plan/shares.ts';
import { samplePlan } from './load-samples.ts';

const BASE = ['--fs', 'hdfs://nn1:8020', '--mounts', '/data', '--rate', '100'];

function read(...args: string[]): LoadPlan {
  return readPlan(parseFlags(args, LOAD_FLAGS));
}

/** The flags without the one that begins like `without`, and with `more`. */
function readChanged(without: string, ...more: string[]): LoadPlan {
  const at = BASE.indexOf(without);
  return read(...(at < 0 ? BASE : BASE.toSpliced(at, 2)), ...more);
}

function complaint(...args: string[]): string {
  try {
    read(...args);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${args.join(' ')}`);
}

describe('flags of the load tool', () => {
  it('have defaults for all but what only the user can know', () => {
    const plan = read(...BASE, '--user', 'alice');
    expect(plan).toMatchObject({
      host: 'nn1',
      port: 8020,
      loop: { kind: 'open', callsPerSecond: 100, rampMs: 0 },
      connections: 64,
      inFlight: 1024,
      users: ['alice'],
      paths: [],
      distribution: { kind: 'uniform' },
      filesPerTarget: 1000,
      warmupMs: 5000,
      durationMs: 60_000,
      calls: null,
      timeoutMs: 10_000,
      threads: 1,
      observerReads: false,
      watchedPid: null,
      seed: 1,
    });
    expect(plan.mix.map(({ operation, weight }) => `${operation}=${weight}`).join(',')).toBe(
      'getFileInfo=70,getListing=15,getBlockLocations=10,mkdirs=3,rename=1,delete=1',
    );
    const [target] = plan.targets;
    expect(target).toMatchObject({ name: '/data', directory: '/data' });
    expect(target?.own).toMatch(/^\/data\/switchyard-load-[0-9a-f]{8}$/);
  });

  it('have one call in flight in a closed loop', () => {
    expect(readChanged('--rate', '--closed')).toMatchObject({ loop: { kind: 'closed' }, inFlight: 1 });
  });

  it('all reach the plan', () => {
    const plan = read(
      ...['--fs', 'hdfs://[::1]:8020/data/x/', '--mounts', 'logs=/var/log,/b', '--rate', '2.5k', '--ramp', '10s'],
      ...['--connections', '100', '--in-flight', '7', '--users', '3', '--user', 'bob', '--mix', 'create=2,delete'],
      ...['--paths', '/p/a,/p/b', '--path-distribution', 'zipf:1.1', '--files', '5', '--calls', '1000'],
      ...['--warmup', '500ms', '--timeout', '1m', '--threads', '4', '--observer-reads', '--seed', '42', '--spin'],
      ...['--pid', String(process.pid)],
    );
    expect(plan).toMatchObject({
      host: '::1',
      port: 8020,
      loop: { kind: 'open', callsPerSecond: 2500, rampMs: 10_000 },
      connections: 100,
      inFlight: 7,
      users: ['bob-0', 'bob-1', 'bob-2'],
      owner: 'bob',
      mix: [
        { operation: 'create', weight: 2 },
        { operation: 'delete', weight: 1 },
      ],
      paths: ['/p/a', '/p/b'],
      distribution: { kind: 'zipf', exponent: 1.1 },
      filesPerTarget: 5,
      calls: 1000,
      durationMs: null,
      warmupMs: 1000,
      timeoutMs: 60_000,
      threads: 4,
      observerReads: true,
      seed: 42,
      spin: true,
      watchedPid: process.pid,
    });
    expect(plan.targets.map(({ name, directory }) => [name, directory])).toEqual([
      ['/data/x', '/data/x'],
      ['logs', '/var/log'],
      ['/b', '/b'],
    ]);
    expect(new Set(plan.targets.map(({ own }) => own.slice(own.lastIndexOf('/') + 1))).size).toBe(1);
  });

  it('round the warm-up up to whole seconds, also after a ramp', () => {
    const warmup = (...args: string[]) => read(...BASE, ...args).warmupMs;
    expect(warmup('--warmup', '0')).toBe(0);
    expect(warmup('--warmup', '2s')).toBe(2000);
    expect(warmup('--warmup', '2001ms')).toBe(3000);
    expect(warmup('--warmup', '0', '--ramp', '1500ms')).toBe(2000);
    expect(warmup('--warmup', '0', '--ramp', '2s')).toBe(0);
  });

  it('only ask for a status where only paths are given', () => {
    const plan = readChanged('--mounts', '--paths', '/a');
    expect(plan.mix).toEqual([{ operation: 'getFileInfo', weight: 1 }]);
    expect(plan.targets).toEqual([]);
  });

  it('take paths from a file', () => {
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-paths-'));
    try {
      const file = join(directory, 'paths');
      writeFileSync(file, '/a,b\r\n\n/c d\n');
      expect(readChanged('--mounts', '--paths', `@${file}`).paths).toEqual(['/a,b', '/c d']);
      writeFileSync(file, '\ufeff/a\n/b\n');
      expect(readChanged('--mounts', '--paths', `@${file}`).paths).toEqual(['/a', '/b']);
      writeFileSync(file, `/a\n\u001b[2J${'x'.repeat(300)}\n`);
      expect(() => readChanged('--mounts', '--paths', `@${file}`)).toThrow(/paths:2: \[2Jx{76}…: not an absolute path/);
      writeFileSync(file, '/a\nb\n');
      expect(() => readChanged('--mounts', '--paths', `@${file}`)).toThrow(/paths:2: b: not an absolute path/);
      expect(() => readChanged('--mounts', '--paths', `@${directory}/none`)).toThrow(/no such file.*one path a line/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it.each([
    [['--mounts', '/a', '--closed'], /give --fs hdfs:\/\/HOST:PORT/],
    [['--fs', 'ns0', '--mounts', '/a', '--closed'], /--fs ns0: write hdfs:\/\/HOST:PORT/],
    [['--fs', 'hdfs://ns0', '--mounts', '/a', '--closed'], /the port is missing; write hdfs:\/\/HOST:PORT/],
    [['--fs', 'hdfs://h:99999', '--mounts', '/a', '--closed'], /port 99999 is out of range/],
    [['--fs', 'hdfs://h:1', '--mounts', '/a'], /give --rate R .*--closed/],
    [['--fs', 'hdfs://h:1', '--rate', '1'], /nothing to call.*--mounts.*--paths/],
    [
      ['--fs', 'hdfs://h:1', '--rate', '1', '--paths', '/a', '--mix', 'getFileInfo,mkdirs'],
      /mkdirs would change.*--mounts/,
    ],
    [[...BASE, '--closed'], /exclude each other/],
    [['--fs', 'hdfs://h:1', '--mounts', '/a', '--closed', '--spin'], /--spin has no meaning with --closed/],
    [['--fs', 'hdfs://h:1', '--mounts', '/a', '--closed', '--ramp', '1s'], /--ramp needs --rate/],
    [[...BASE, '--duration', '5s', '--calls', '5'], /--duration and --calls exclude each other/],
    [[...BASE, '--duration', '5'], /--duration 5: give a time with its unit/],
    [[...BASE, '--duration', '0'], /--duration 0: give a time from 1ms to 48h/],
    [[...BASE, '--timeout', '5m'], /from 10ms to 200s/],
    [[...BASE, '--connections', '0'], /--connections 0: give a whole number from 1 to 60000/],
    [[...BASE, '--connections', '8', '--users', '9'], /--users 9: .*--connections 9/],
    [[...BASE, '--in-flight', '65537'], /from 1 to 65536/],
    [[...BASE, '--connections', '256', '--in-flight', '65536'], /8388608 calls in flight together, 32768 each/],
    [[...BASE, '--threads', '65'], /from 1 to 64/],
    [[...BASE, '--connections', '2', '--threads', '3'], /each needs a connection/],
    [[...BASE, '--threads', '4', '--calls', '3'], /--calls 3: each of the 4 --threads needs one/],
    [[...BASE, '--calls', '0'], /--calls 0: give a whole number from 1 to/],
    [[...BASE, '--mix', 'getFileinfo=1'], /no operation getFileinfo; did you mean getFileInfo\? It can make/],
    [[...BASE, '--mix', 'foo'], /no operation foo; it can make getFileInfo, /],
    [[...BASE, '--mix', 'mkdirs=0'], /a weight more than 0/],
    [[...BASE, '--mix', 'mkdirs=1=2'], /a weight more than 0/],
    [[...BASE, '--mix', 'mkdirs=1,mkdirs=2'], /mkdirs is given twice/],
    [[...BASE, '--path-distribution', 'zipf'], /zipf:S with S more than 0/],
    [[...BASE, '--pid', '2000000000'], /no process of this machine/],
    [[...BASE, '--user', 'a b'], /a user name has/],
    [[...BASE, '--seed', '4294967296'], /from 0 to 4294967295/],
    [[...BASE, '--rat', '5'], /unknown flag --rat; did you mean --rate\?/],
  ])('wrong command line %#: refused with the place and the remedy', (args, message) => {
    expect(complaint(...args)).toMatch(message);
  });

  it.each([
    ['/', /give a directory in which it may make its own/],
    ['///', /give a directory in which it may make its own/],
    ['root=/', /give a directory in which it may make its own/],
    ['data', /write \/directory or NAME=\/directory/],
    ['a=data', /write \/directory or NAME=\/directory/],
    ['a=b/c', /not an absolute path/],
    ['/a/../b', /no '\.' and no '\.\.'/],
    ['/a//b', /no empty component/],
    ['/a,/a/', /\/a is given twice/],
    ['x=/a,x=/b', /x is given twice/],
    ['mkdirs=/a', /mkdirs is the name of an operation/],
    [`/${'a'.repeat(7990)}`, /longer than/],
    [Array.from({ length: 257 }, (_, index) => `/m${index}`).join(','), /257 directories, at most 256/],
  ])('--mounts %.40s: refused', (mounts, message) => {
    expect(() => readChanged('--mounts', '--mounts', mounts)).toThrow(message);
  });

  it('lead to own directories inside the given ones only, whatever is given', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '/', 'a', 'b', '.', ',', '=', ' ', ':', '\u00e9') }),
        (mounts) => {
          let plan: LoadPlan;
          try {
            plan = readChanged('--mounts', `--mounts=${mounts}`);
          } catch (error) {
            expect(error).toBeInstanceOf(UsageError);
            return;
          }
          for (const { directory, own } of plan.targets) {
            expect(directory).toMatch(/^\/[^/]/);
            expect(own.slice(0, directory.length + 1)).toBe(`${directory}/`);
            expect(own.slice(directory.length + 1)).toMatch(/^switchyard-load-[0-9a-f]{8}$/);
          }
        },
      ),
    );
  });
});

describe('shares of the threads', () => {
  it('add up to all connections, the whole rate and all calls', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 16 }), fc.nat(100), fc.nat(10_000), (threads, more, moreCalls) => {
        const plan = samplePlan({ threads, connections: threads + more, calls: threads + moreCalls, durationMs: null });
        const shares = shareOut(plan, []);
        const connections = shares.flatMap((share) => share.connections);
        expect(connections.toSorted((a, b) => a - b)).toEqual(Array.from({ length: plan.connections }, (_, i) => i));
        for (const share of shares) expect(share.connections.every((i) => i % threads === share.thread)).toBe(true);
        expect(shares.reduce((sum, { rateShare }) => sum + rateShare, 0)).toBeCloseTo(1, 9);
        expect(shares.reduce((sum, { calls }) => sum + (calls ?? 0), 0)).toBe(plan.calls);
      }),
    );
  });

  it('leave all recorded calls of a user to the thread that has a connection of this user', () => {
    const users = ['a', 'b', 'c', 'd', 'e'];
    const replay = Array.from({ length: 50 }, (_, index) => ({
      atMs: index,
      operation: 'getFileInfo' as const,
      user: users[(index * 7) % users.length] as string,
      source: `/f${index}`,
      destination: '',
    }));
    const plan = samplePlan({ users, connections: 5, threads: 2, loop: { kind: 'replay', speed: 1 } });
    const shares = shareOut(plan, replay);
    expect(shares.flatMap((share) => share.replay)).toHaveLength(replay.length);
    for (const share of shares) {
      const own = new Set(share.connections.map((connection) => users[connection % users.length]));
      expect(share.replay.length).toBeGreaterThan(0);
      for (const { user } of share.replay) expect(own).toContain(user);
      expect(share.replay.map(({ atMs }) => atMs)).toEqual(
        share.replay.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
      );
    }
  });
});
