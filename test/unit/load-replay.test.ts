import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../src/commands/usage.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { LoadPlan, Target } from '../../src/load/plan/plan.ts';
import { shareOut } from '../../src/load/plan/shares.ts';
import { type ReplayChoice, readRecorded } from '../../src/load/replay/calls.ts';
import { describeReplay, parseSpeed, refuseTooLong, run, shareUsers } from '../../src/load/replay/replay.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';

const HOST = '127.0.0.1';
const OWN = '/t/switchyard-load-0a1b2c3d';
const TARGET: Target = { name: '/t', directory: '/t', own: OWN };
const ALL: ReplayChoice = { fromMs: null, toMs: null, limit: Number.POSITIVE_INFINITY, readOnly: false };

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-replay-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** `ms user command path [destination]` for each call; a leading `!` is a refused one. */
function writeLog(...calls: string[]): string {
  const lines = calls.map((call) => {
    const refused = call.startsWith('!');
    const [ms = '', user, command, source, destination = 'null'] = (refused ? call.slice(1) : call).split(' ');
    const time = new Date(Date.UTC(2026, 10, 30) + Number(ms)).toISOString().replace('T', ' ').replace('Z', '');
    const fields = [
      `allowed=${!refused}`,
      `ugi=${user} (auth:SIMPLE)`,
      'ip=/10.0.0.1',
      `cmd=${command?.replace('_', ' ')}`,
    ];
    return `${time.replace('.', ',')} INFO FSNamesystem.audit: ${[...fields, `src=${source}`, `dst=${destination}`, 'perm=null', 'proto=rpc'].join('\t')}`;
  });
  const file = join(directory, 'audit.log');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function read(calls: string[], choice: Partial<ReplayChoice> = {}, targets: readonly Target[] = [TARGET]) {
  return readRecorded([writeLog(...calls)], targets, { ...ALL, ...choice });
}

describe('the calls of a log', () => {
  it('become calls below the own directory, at their relative times', async () => {
    const recorded = await read([
      '1000 alice getfileinfo /in',
      '1000 bob listStatus /',
      '1250 alice open /in',
      '1300 alice create /out/x',
      '1300 alice rename_(options=[NONE]) /out/x /out/y',
      '2500 bob delete /old',
    ]);
    const at = `${OWN}/replay`;
    expect(recorded.calls).toEqual([
      { atMs: 0, operation: 'getFileInfo', user: 'alice', source: `${at}/in`, destination: '' },
      { atMs: 0, operation: 'getListing', user: 'bob', source: at, destination: '' },
      { atMs: 250, operation: 'getBlockLocations', user: 'alice', source: `${at}/in`, destination: '' },
      { atMs: 300, operation: 'create', user: 'alice', source: `${at}/out/x`, destination: '' },
      { after: [3], atMs: 300, operation: 'rename', user: 'alice', source: `${at}/out/x`, destination: `${at}/out/y` },
      { atMs: 1500, operation: 'delete', user: 'bob', source: `${at}/old`, destination: '' },
    ]);
    expect(recorded.users).toEqual(['alice', 'bob']);
    expect(recorded.spanMs).toBe(1500);
    expect(recorded.entries).toEqual([
      { path: at, isDirectory: true, owner: null },
      { path: `${at}/in`, isDirectory: false, owner: null },
      { path: `${at}/out`, isDirectory: true, owner: null },
      { path: `${at}/old`, isDirectory: false, owner: null },
    ]);
    expect([...recorded.leftOut]).toEqual([]);
    expect(recorded.added).toBe(0);
  });

  it('make directories on their way by calls of their own', async () => {
    const { calls, entries, added, leftOut } = await read([
      '0 alice delete /out',
      '5 bob mkdirs /out/tmp/0',
      '9 bob create /out/tmp/0/f',
      '9 bob create /out/tmp',
    ]);
    const at = `${OWN}/replay`;
    expect(calls.slice(1)).toEqual([
      { after: [0], atMs: 5, operation: 'mkdirs', user: 'bob', source: `${at}/out`, destination: '' },
      { after: [1], atMs: 5, operation: 'mkdirs', user: 'bob', source: `${at}/out/tmp`, destination: '' },
      { after: [2], atMs: 5, operation: 'mkdirs', user: 'bob', source: `${at}/out/tmp/0`, destination: '' },
      { after: [3], atMs: 9, operation: 'create', user: 'bob', source: `${at}/out/tmp/0/f`, destination: '' },
    ]);
    expect(added).toBe(2);
    expect(entries.map(({ path }) => path)).toEqual([at, `${at}/out`]);
    expect(Object.fromEntries(leftOut)).toEqual({ 'create that the log does not explain': 1 });
  });

  it.each([false, true])('do not keep the lines of the log in memory; reads alone: %s', async (readOnly) => {
    setFlagsFromString('--expose_gc');
    const collect = runInNewContext('gc') as () => void;
    const [lines, bytes] = [2000, 30_000];
    const file = join(directory, 'long.log');
    const output = openSync(file, 'w');
    for (let i = 0; i < lines; i++) {
      const fields = `allowed=true\tugi=a-user-with-a-long-name\tip=/10.0.0.1\tcmd=open\tsrc=/a-long-name/${i}\tdst=null`;
      writeSync(output, `2026-11-30 12:00:00,000 ${fields}\tcallerContext=${'x'.repeat(bytes)}\n`);
    }
    closeSync(output);
    collect();
    const before = process.memoryUsage().heapUsed;
    const recorded = await readRecorded([file], [TARGET], { ...ALL, readOnly });
    collect();
    const kept = process.memoryUsage().heapUsed - before;
    expect(recorded.calls).toHaveLength(lines);
    expect(kept).toBeLessThan((lines * bytes) / 4);
  });

  it('are put in order', async () => {
    const { calls } = await read(['30 a getfileinfo /3', '10 a getfileinfo /1', '20 a getfileinfo /2']);
    expect(calls.map(({ atMs, source }) => [atMs, source.slice(-2)])).toEqual([
      [0, '/1'],
      [10, '/2'],
      [20, '/3'],
    ]);
  });

  it('are left out, with a reason, when they cannot be made', async () => {
    const { calls, leftOut } = await read([
      '!0 alice open /secret',
      '0 alice getAclStatus /a',
      '0 alice safemode_get null',
      '0 alice open /a/.snapshot/s1/f',
      '0 alice getfileinfo /.reserved/raw/a',
      '0 alice getfileinfo /a/../b',
      '0 alice delete /f',
      '0 alice open /f',
      '0 alice delete /',
      '0 alice toString /f',
      '5 alice open /g',
    ]);
    expect(calls).toHaveLength(2);
    expect(Object.fromEntries(leftOut)).toEqual({
      'refused in the log': 1,
      getAclStatus: 1,
      'safemode get': 1,
      'open of a path that cannot be put elsewhere': 1,
      'getfileinfo of a path that cannot be put elsewhere': 2,
      'open that the log does not explain': 1,
      'delete of what holds a whole directory of --mounts': 1,
      toString: 1,
    });
  });

  it('may be a part of the log', async () => {
    const calls = ['0 a open /1', '1000 a open /2', '2000 a open /3', '3000 a open /4'];
    const day = Date.UTC(2026, 10, 30);
    const part = await read(calls, { fromMs: day + 1000, toMs: day + 3000 });
    expect(part.calls.map(({ source }) => source.slice(-2))).toEqual(['/2', '/3']);
    expect((await read(calls, { limit: 3 })).calls).toHaveLength(3);
    await expect(read(calls, { fromMs: day + 60_000 })).rejects.toThrow('there is no call to replay');
  });

  it('are reads alone on the paths of the log, when asked', async () => {
    const { calls, entries, leftOut } = await read(
      ['0 a create /f', '0 a open /f', '0 a listStatus /', '0 a delete /f'],
      { readOnly: true },
      [],
    );
    expect(calls.map(({ operation, source }) => [operation, source])).toEqual([
      ['getBlockLocations', '/f'],
      ['getListing', '/'],
    ]);
    expect(entries).toEqual([]);
    expect(Object.fromEntries(leftOut)).toEqual({ create: 1, delete: 1 });
  });

  it('go to the directory that holds their path, of several', async () => {
    const targets = ['/a', '/a/b'].map((name) => ({ name, directory: name, own: `${name}/switchyard-load-0a1b2c3d` }));
    const { calls, entries, leftOut } = await read(
      [
        '0 u open /a/f',
        '0 u open /a/b/f',
        '0 u open /else/f',
        '0 u rename /a/f /a/b/g',
        '0 u delete /a',
        '0 u rename /a/f /a/g',
      ],
      {},
      targets,
    );
    const own = 'switchyard-load-0a1b2c3d/replay';
    expect(calls.map(({ source, destination }) => [source, destination])).toEqual([
      [`/a/${own}/a/f`, ''],
      [`/a/b/${own}/a/b/f`, ''],
      [`/a/${own}/else/f`, ''],
      [`/a/${own}/a/f`, `/a/${own}/a/g`],
    ]);
    expect(entries.map(({ path }) => path)).toEqual([
      `/a/${own}`,
      `/a/${own}/a`,
      `/a/b/${own}`,
      `/a/b/${own}/a`,
      `/a/b/${own}/a/b`,
      `/a/${own}/a/f`,
      `/a/b/${own}/a/b/f`,
      `/a/${own}/else`,
      `/a/${own}/else/f`,
    ]);
    expect([...leftOut.keys()]).toEqual([
      'rename between two directories of --mounts',
      'delete of what holds a whole directory of --mounts',
    ]);
  });

  it('have to come from an audit log', async () => {
    const file = join(directory, 'other.log');
    writeFileSync(file, 'once upon a time\nthere was\n');
    const reading = readRecorded([file], [TARGET], ALL);
    await expect(reading).rejects.toThrow(`${file}:1: once upon a time: not a line of an audit log`);
    await expect(reading).rejects.toBeInstanceOf(UsageError);
  });

  it('say nothing that moves the cursor', async () => {
    const file = writeLog('0 alice open /in', '0 alice \u001b[2J\u009b1mwipe /in');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\u001b]0;title\u0007\n`);
    const log = await readRecorded([file], [TARGET], ALL);
    const text = describeReplay([file], log, { loop: { kind: 'replay', speed: 1 }, users: ['alice'] } as never).join(
      '',
    );
    expect(text).toContain('wipe');
    expect(text).toContain('title');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    writeFileSync(file, '\u001b]0;title\u0007\n');
    await expect(readRecorded([file], [TARGET], ALL)).rejects.toThrow(`${file}:1: ]0;title: not a line`);
  });
});

it('users beyond the connections call by the names of the others', () => {
  const call = { atMs: 0, operation: 'getFileInfo', source: '/', destination: '' } as const;
  const calls = ['a', 'b', 'c', 'd'].map((user) => ({ ...call, user }));
  expect(shareUsers(calls, ['a', 'b', 'c', 'd'], 4)).toBe(calls);
  expect(shareUsers(calls, ['a', 'b', 'c', 'd'], 2).map(({ user }) => user)).toEqual(['a', 'b', 'a', 'b']);
});

it('threads know which calls have to wait for those of others, and who waits for their own', () => {
  const call = { atMs: 0, operation: 'getFileInfo', source: '/', destination: '' } as const;
  const calls = [
    { ...call, user: 'a' },
    { ...call, user: 'b' },
    { ...call, user: 'b', after: [1] },
    { ...call, user: 'a', after: [1] },
    { ...call, user: 'a', after: [0, 1] },
    { ...call, user: 'c', after: [4, 2] },
  ];
  const plan = { users: ['a', 'b', 'c'], connections: 3, calls: null } as const;
  const dealt = (threads: number) =>
    shareOut({ ...plan, threads } as unknown as LoadPlan, calls).map(({ replay, links }) => ({
      replay: replay.map(({ user, after }) => `${user} ${after?.join() ?? '-'}`),
      foreign: [...links.foreign],
      awaited: [...links.awaited],
    }));
  expect(dealt(1)).toEqual([{ replay: ['a -', 'b -', 'b 1', 'a 1', 'a 0,1', 'c 4,2'], foreign: [], awaited: [] }]);
  expect(dealt(3)).toEqual([
    { replay: ['a -', 'a 3', 'a 0,3'], foreign: [1], awaited: [2, 2, 1] },
    { replay: ['b -', 'b 0'], foreign: [], awaited: [0, 0, 3, 1, 2, 2] },
    { replay: ['c 1,2'], foreign: [0, 1], awaited: [] },
  ]);
});

it('the speed is a factor', () => {
  expect(parseSpeed(undefined)).toBe(1);
  expect(parseSpeed('2x')).toBe(2);
  expect(parseSpeed('0.5')).toBe(0.5);
  for (const text of ['0x', 'x', 'fast', '-1x', '2000x', '1e3'])
    expect(() => parseSpeed(text)).toThrow(`--speed ${text}`);
});

describe('load replay', () => {
  it('takes two days at most, at its speed', () => {
    const hourMs = 3_600_000;
    refuseTooLong(48 * hourMs, { loop: { kind: 'replay', speed: 1 } });
    refuseTooLong(96 * hourMs, { loop: { kind: 'replay', speed: 2 } });
    expect(() => refuseTooLong(96 * hourMs, { loop: { kind: 'replay', speed: 1 } })).toThrow(
      /would take 96 hours, at most 48 .*--from and --to/,
    );
  });

  /** Exit code and what it printed. */
  async function replay(...args: string[]): Promise<{ code: number; text: string }> {
    const write = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const progress = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      const code = await run(args);
      return { code, text: write.mock.calls.map(([text]) => String(text)).join('') };
    } finally {
      write.mockRestore();
      progress.mockRestore();
    }
  }

  it('makes every call of the log by its user, and leaves nothing behind', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: 'root' });
    const { port } = simulator.nameservices[0]!.namenodes[0]!;
    using root = await HdfsClient.connect({ host: HOST, port, user: 'root' });
    await root.mkdirs('/t', 0o777);
    await root.mkdirs('/data', 0o777);
    await root.createEmptyFile('/data/in');
    const log = writeLog(
      '0 alice getfileinfo /data/in',
      '10 alice open /data/in',
      '200 alice mkdirs /data/out',
      '400 bob create /data/out/f',
      '600 alice rename /data/out/f /data/out/g',
      '800 bob setPermission /data/mode',
      '800 bob setTimes /data/mode',
      '800 bob contentSummary /data',
      '800 bob listStatus /data/out',
      '800 bob getAclStatus /data',
      '1000 alice delete /data/out',
    );
    await simulator.control({ op: 'clear' });
    const json = join(directory, 'result.json');
    const { code, text } = await replay(
      log,
      '--fs',
      `hdfs://${HOST}:${port}`,
      '--mounts',
      '/t',
      '--user',
      'carol',
      '--speed',
      '2x',
      '--json',
      json,
    );
    expect(code).toBe(0);
    expect(text).toContain('10 calls of 2 users over 1 s, at 2 times its speed');
    expect(text).toMatch(/getAclStatus +1/);
    const result = JSON.parse(readFileSync(json, 'utf8')) as LoadResult;
    expect(result.plan.loop).toEqual({ kind: 'replay', speed: 2 });
    expect(result.plan.users).toEqual(['alice', 'bob']);
    expect([result.calls, result.errors]).toEqual([10, 0]);

    const calls = await simulator.control({ op: 'calls' });
    const own = /^\/t\/switchyard-load-[0-9a-f]{8}/;
    for (const { path, user } of calls) {
      if (user === 'alice' || user === 'bob') expect(path).toMatch(own);
    }
    const replayed = calls
      .filter(({ path, method }) => path.includes('/replay/data/') && !['complete'].includes(method))
      .map(({ user, method, path }) => `${user} ${method} ${path.replace(own, '').replace('/replay', '')}`)
      .filter((call) => !call.startsWith('carol'));
    expect(replayed).toContain('alice getBlockLocations /data/in');
    expect(replayed).toContain('bob create /data/out/f');
    expect(replayed).toContain('alice rename /data/out/f');
    expect(replayed).toContain('bob setPermission /data/mode');
    expect(await root.list('/t')).toEqual([]);
    expect((await root.list('/data'))?.map(({ path }) => path.toString())).toEqual(['in']);
  });

  it('makes calls that depend on each other one after the other, of several threads too', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: 'root' });
    const { port } = simulator.nameservices[0]!.namenodes[0]!;
    using root = await HdfsClient.connect({ host: HOST, port, user: 'root' });
    await root.mkdirs('/t', 0o777);
    // All at once: each is about what the one before has made, by users of different threads.
    const users = ['alice', 'bob', 'carol'];
    const moves = Array.from({ length: 60 }, (_, at) => `10 ${users[at % 3]} rename /w/f${at} /w/f${at + 1}`);
    const log = writeLog('0 alice mkdirs /w', '0 alice setPermission /w', '10 bob create /w/f0', ...moves);
    const json = join(directory, 'threads.json');
    const target = ['--fs', `hdfs://${HOST}:${port}`, '--mounts', '/t', '--user', 'root'];
    const { code } = await replay(log, ...target, '--threads', '3', '--json', json);
    const result = JSON.parse(readFileSync(json, 'utf8')) as LoadResult;
    expect(result.errorClasses).toEqual([]);
    expect([code, result.calls, result.plan.threads]).toEqual([0, 63, 3]);
  });

  it('reads alone need no directory', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: 'root' });
    const { port } = simulator.nameservices[0]!.namenodes[0]!;
    using root = await HdfsClient.connect({ host: HOST, port, user: 'root' });
    await root.createEmptyFile('/in');
    await simulator.control({ op: 'clear' });
    const log = writeLog('0 alice open /in', '5 alice delete /in', '9 alice getfileinfo /in');
    const { code } = await replay('--fs', `hdfs://${HOST}:${port}`, '--read-only', log);
    expect(code).toBe(0);
    const calls = await simulator.control({ op: 'calls' });
    expect(calls.map(({ user, method, path }) => `${user} ${method} ${path}`)).toEqual([
      'alice getBlockLocations /in',
      'alice getFileInfo /in',
    ]);
  });

  it.each([
    [['--mounts', '/t'], 'name the audit log'],
    [['LOG'], 'give --mounts /directory'],
    [['LOG', '--mounts', '/t', '--read-only'], '--mounts has no meaning with --read-only'],
    [['LOG', '--mounts', '/t', '--rate', '5'], '--rate has no meaning here'],
    [['LOG', '--mounts', '/t', '--seed', '5'], '--seed has no meaning here'],
    [['LOG', '--mounts', '/t', '--duration', '5s'], '--duration has no meaning here'],
    [['LOG', '--mounts', '/t', '--from', 'noon'], '--from noon: give a time'],
    [['LOG', '--mounts', '/t', '--from', '2026-11-30', '--to', '2026-11-29'], '--to 2026-11-29 is not after --from'],
    [['LOG', '--mounts', '/t', '--limit', '0'], '--limit 0'],
    [['LOG', '--mounts', '/t', '--threads', '2'], 'each needs a connection, and there are 1'],
    [['LOG', '--mounts', '/t', '--spee', '2'], 'did you mean --speed'],
    [['NONE', '--mounts', '/t'], 'ENOENT'],
  ])('%j is refused', async (args, message) => {
    const log = writeLog('0 alice open /in');
    const files = args.map((arg) => (arg === 'LOG' ? log : arg === 'NONE' ? `${log}.none` : arg));
    const refused = run([...files, '--fs', 'hdfs://127.0.0.1:1']);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(UsageError);
  });
});
