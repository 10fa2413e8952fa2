import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { childEnvironment, RouterProcess } from '../support/router-process.ts';
import { readLines, waitUntil, within } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const USER = 'hdfs';
const RUN_WITHIN_MS = 25_000;
const SMALL = ['--user', USER, '--connections', '8', '--files', '20'];
/** A run that is as short as can be. */
const SHORT = [...SMALL, '--warmup', '0s', '--duration', '500ms'];

const directory = mkdtempSync(join(tmpdir(), 'switchyard-load-'));
let simulator: Simulator;
let router: RouterProcess;

beforeAll(async () => {
  simulator = await startSimulator({ nameservices: ['ns0', 'ns1'], namenodes: 1, superuser: USER });
  for (const [index, path] of ['/warehouse', '/logs'].entries()) {
    using client = await connect(index);
    await client.mkdirs(path);
    await client.createEmptyFile(`${path}/kept`);
  }
  const nameservices = Object.fromEntries(simulator.nameservices.map(({ id, namenodes }) => [id, namenodes]));
  router = await RouterProcess.start({ nameservices, mounts: ['/data=ns0:/warehouse', '/logs=ns1:/logs'] });
});

afterAll(async () => {
  await router?.[Symbol.asyncDispose]();
  await simulator?.close();
  rmSync(directory, { recursive: true, force: true });
});

async function connect(nameservice: number): Promise<HdfsClient> {
  return await HdfsClient.connect({ ...address(nameservice), user: USER });
}

function address(nameservice: number): { host: string; port: number } {
  const { host, port } = simulator.nameservices[nameservice]!.namenodes[0]!;
  return { host, port };
}

/** What the nameservices hold at the two mount points. */
async function listMounts(): Promise<string[]> {
  const names: string[] = [];
  for (const [index, path] of ['/warehouse', '/logs'].entries()) {
    using client = await connect(index);
    for (const entry of (await client.list(path)) ?? []) names.push(`${path}/${entry.path.toString()}`);
  }
  return names;
}

const KEPT = ['/warehouse/kept', '/logs/kept'];

interface Run {
  readonly child: ChildProcess;
  readonly out: string[];
  readonly errors: string[];
  readonly code: Promise<number | null>;
}

function start(...args: string[]): Run {
  const child = spawn(process.execPath, [MAIN, 'load', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment(),
  });
  const out: string[] = [];
  const errors: string[] = [];
  readLines(child.stdout!, (line) => out.push(line));
  readLines(child.stderr!, (line) => errors.push(line));
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, out, errors, code };
}

/** Runs to the end; text is standard output, errors is standard error. */
async function load(...args: string[]): Promise<{ code: number | null; text: string; errors: string }> {
  const { child, out, errors, code } = start(...args);
  try {
    return {
      code: await within(code, `load ${args.join(' ')}`, RUN_WITHIN_MS),
      text: out.join('\n'),
      errors: errors.join('\n'),
    };
  } finally {
    child.kill('SIGKILL');
  }
}

describe('switchyard load', () => {
  it('loads two mounts of a router, writes its files, and leaves nothing behind', async () => {
    const file = (name: string) => join(directory, name);
    await simulator.control({ op: 'clear' });
    const { code, text, errors } = await load(
      ...[
        '--fs',
        router.uri,
        '--mounts',
        'data=/data,/logs',
        '--rate',
        '300',
        ...SMALL,
        '--duration',
        '2s',
        '--warmup',
        '100ms',
      ],
      ...[
        '--users',
        '2',
        '--mix',
        'getFileInfo=5,getListing=2,getBlockLocations=2,mkdirs=3,create=2,rename=2,delete=1',
      ],
      ...['--json', file('a.json'), '--hgrm', file('a.hgrm'), '--hlog', file('a.hlog')],
      ...['--pid', String(router.pid), '--expect', 'errors<=0,data.p99<1h,getFileInfo.max<1h'],
    );
    expect(errors).toMatch(/^ *\d+\/3 s .*\/s +p99 .*errors 0/m);
    expect(text).toContain('open loop, 300 calls/s asked');
    expect(text).toMatch(/^expect data\.p99<1h +held: /m);
    expect(code).toBe(0);
    expect(await listMounts()).toEqual(KEPT);

    const result = JSON.parse(readFileSync(file('a.json'), 'utf8')) as LoadResult;
    expect(result).toMatchObject({ version: 1, askedPerSecond: 300, errors: 0, errorClasses: [] });
    expect(result.latency.corrected.count).toBe(600);
    expect(result.calls).toBe(600);
    expect(result.successes).toBe(600);
    expect(result.plan.users).toEqual([`${USER}-0`, `${USER}-1`]);
    expect(result.targets.map(({ name }) => name)).toEqual(['data', '/logs']);
    expect(result.targets.reduce((sum, { calls }) => sum + calls, 0)).toBe(600);
    expect(result.operations.map(({ name }) => name)).toContain('rename');
    expect(result.series.filter(({ measured }) => measured).length).toBeGreaterThanOrEqual(1);
    expect(result.watched).toMatchObject({ pid: router.pid });
    expect(result.watched?.rssEndBytes).toBeGreaterThan(10_000_000);
    expect(readFileSync(file('a.hgrm'), 'utf8')).toMatch(/Total count\s+=\s+600/);
    expect(existsSync(file('a.service.hgrm'))).toBe(true);
    expect(readFileSync(file('a.hlog'), 'utf8')).toMatch(/^Tag=corrected,/m);

    // Whatever was changed is below its own directories.
    const calls = await simulator.control({ op: 'calls' });
    // The router's own heartbeats ask with setSafeMode whether a NameNode is in safe mode.
    const changes = calls.filter(({ method }) =>
      /^(mkdirs|create|complete|rename2?|delete|set(?!SafeMode))/.test(method),
    );
    expect(changes.length).toBeGreaterThan(50);
    for (const { path, path2 } of changes) {
      expect(path).toMatch(/^\/(warehouse|logs)\/switchyard-load-[0-9a-f]{8}(\/|$)/);
      if (path2 !== '') expect(path2).toMatch(/^\/(warehouse|logs)\/switchyard-load-[0-9a-f]{8}\//);
    }
    expect(new Set(changes.map(({ user }) => user))).toContain(`${USER}-1`);
  });

  it('makes exactly as many calls as it is told, in several threads of a closed loop', async () => {
    const { host, port } = address(0);
    const { code, text, errors } = await load(
      ...[
        '--fs',
        `hdfs://${host}:${port}`,
        '--paths',
        '/warehouse/kept',
        '--closed',
        '--calls',
        '501',
        '--threads',
        '2',
      ],
      ...['--user', USER, '--connections', '5', '--warmup', '0s', '--json', '-'],
    );
    const result = JSON.parse(text) as LoadResult;
    expect(result.latency.corrected.count).toBe(501);
    expect(result).toMatchObject({ askedPerSecond: null, saturated: false, errors: 0 });
    expect(result.plan.targets).toEqual([]);
    expect(errors).toContain('CLOSED LOOP');
    expect(code).toBe(0);
  });

  it('says that a server is saturated, and misses what is expected of it', async () => {
    const { host, port } = address(1);
    const which = { nameservice: 'ns1', namenode: 'nn0' };
    await simulator.control({ op: 'settings', settings: { callsPerSecond: 50 }, of: which });
    try {
      const { code, text } = await load(
        ...['--fs', `hdfs://${host}:${port}`, '--paths', '/logs/kept', '--rate', '1000', '--in-flight', '2', ...SHORT],
        ...['--timeout', '500ms', '--expect', 'achieved>=98%,p99<1h,service.p99<1h'],
      );
      expect(text).toMatch(/^SATURATED: /m);
      expect(text).toMatch(/calls? due and not sent when the time was over/);
      expect(text).toMatch(/^expect achieved>=98% +MISSED: /m);
      expect(text).toMatch(/^expect p99<1h +MISSED: at least /m);
      expect(text).toMatch(/^expect service\.p99<1h +held: /m);
      expect(code).toBe(1);
    } finally {
      await simulator.control({ op: 'settings', settings: { callsPerSecond: 0 }, of: which });
    }
  });

  it('fails when no call succeeds', async () => {
    const { host, port } = address(0);
    const { code, text, errors } = await load(
      ...[
        '--fs',
        `hdfs://${host}:${port}`,
        '--paths',
        '/warehouse',
        '--mix',
        'getBlockLocations',
        '--rate',
        '100',
        ...SHORT,
      ],
    );
    expect(text).toMatch(/^java\.io\.FileNotFoundException +50\n {4}first: /m);
    expect(errors).toContain('no call succeeded');
    expect(code).toBe(1);
  });

  it('ends early at a signal, with what it has, and cleans up', async () => {
    const run = start(
      '--fs',
      router.uri,
      '--mounts',
      '/data',
      '--rate',
      '100',
      ...SMALL,
      '--duration',
      '10m',
      '--warmup',
      '0s',
    );
    try {
      await waitUntil(() => run.errors.some((line) => /^ *1\/600 s /.test(line)), 'a line of progress', RUN_WITHIN_MS);
      expect(await listMounts()).toHaveLength(KEPT.length + 1);
      run.child.kill('SIGINT');
      expect(await within(run.code, 'the end of the run', RUN_WITHIN_MS)).toBe(0);
      expect(run.errors.join('\n')).toContain('ending early');
      expect(run.out).toContain('ENDED EARLY: what follows was measured until then');
      expect(await listMounts()).toEqual(KEPT);
    } finally {
      run.child.kill('SIGKILL');
    }
  });

  it('shows what it has when the server has gone, and says what is left behind', async () => {
    const { host, port } = address(1);
    const which = { nameservice: 'ns1', namenode: 'nn0' };
    const run = start(
      '--fs',
      `hdfs://${host}:${port}`,
      '--mounts',
      '/logs',
      '--rate',
      '100',
      ...SMALL,
      '--duration',
      '3s',
      '--warmup',
      '0s',
      '--timeout',
      '500ms',
    );
    try {
      await waitUntil(() => run.errors.some((line) => /^ *1\/3 s /.test(line)), 'a line of progress', RUN_WITHIN_MS);
      await simulator.control({ op: 'stop', ...which });
      expect(await within(run.code, 'the end of the run', RUN_WITHIN_MS)).toBe(1);
      expect(run.out.join('\n')).toMatch(/^SATURATED: .*\n(?:.*\n)*\d+ calls due and not sent/m);
      expect(run.errors.join('\n')).toMatch(/switchyard load: .*switchyard-load-[0-9a-f]{8}/);
      expect(run.errors.join('\n')).not.toMatch(/^ +at /m);
    } finally {
      run.child.kill('SIGKILL');
      await simulator.control({ op: 'start', ...which });
      await simulator.control({ op: 'transition', to: 'active', ...which });
    }
  });

  it.each([
    ['no rate', ['--mounts', '/data'], 2, /give --rate R/],
    [
      'a file that cannot be written',
      ['--paths', '/data', '--closed', '--json', '/none/a.json'],
      2,
      /--json \/none\/a\.json/,
    ],
    ['one file for two', ['--paths', '/data', '--closed', '--json', 'a', '--html', 'a'], 2, /named by two flags/],
    ['an expectation that is none', ['--paths', '/data', '--closed', '--expect', 'p98<1ms'], 2, /no metric p98/],
    ['a subcommand that is none', null, 2, /no subcommand 'seiling'/],
    ['a directory that is not there', ['--mounts', '/data/none', '--rate', '5'], 1, /\/data\/none/],
  ])('%s: one line that says what to do', async (_, args, expected, message) => {
    const given = args === null ? ['seiling'] : ['--fs', router.uri, '--user', USER, ...args];
    const { code, text, errors } = await load(...given);
    expect(text).toBe('');
    expect(errors).toMatch(message);
    expect(errors).toMatch(/^switchyard load: .*$/m);
    expect(errors).not.toMatch(/^ +at /m);
    expect(code).toBe(expected);
  });

  it('cannot run against nobody', async () => {
    const { code, errors } = await load('--fs', 'hdfs://127.0.0.1:1', '--paths', '/a', '--closed', '--user', USER);
    expect(errors).toMatch(/^switchyard load: 127\.0\.0\.1:1: .*ECONNREFUSED/m);
    expect(code).toBe(1);
  });

  it('has a page of the manual', async () => {
    const { code, text } = await load('--help');
    expect(text).toContain('usage: switchyard load --fs');
    expect(text).toContain('## Open and closed loop');
    expect(code).toBe(0);
  });
});
