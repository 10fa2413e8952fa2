import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { run } from '../../src/commands/simulate.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readTopology } from '../../src/config/topology.ts';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import type { SimulatedNameservice } from '../../src/simulator/simulator.ts';
import { childEnvironment } from '../support/router-process.ts';
import { readLines, within } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

interface Command {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly errors: string[];
  readonly firstLine: Promise<string>;
  readonly code: Promise<number | null>;
}

function start(...args: string[]): Command {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: childEnvironment({ HADOOP_USER_NAME: 'hdfs' }),
  });
  const lines: string[] = [];
  const errors: string[] = [];
  const first = Promise.withResolvers<string>();
  const code = Promise.withResolvers<number | null>();
  readLines(child.stdout!, (line) => {
    lines.push(line);
    first.resolve(line);
  });
  readLines(child.stderr!, (line) => errors.push(line));
  child.once('close', (status) => {
    code.resolve(status);
    first.reject(new Error(`ended with ${status}: ${errors.join('\n')}`));
  });
  first.promise.catch(() => {});
  return { child, lines, errors, firstLine: first.promise, code: code.promise };
}

describe('switchyard simulate', () => {
  it('says when it is ready, writes configuration, and ends at a signal', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'switchyard-simulate-'));
    const command = start(
      'simulate',
      '--nameservices',
      'a,b',
      '--observers',
      '1',
      '--observer-lag',
      '3600s',
      '--observer-calls-per-second',
      '100',
      '--datanodes',
      '3',
      '--write-config',
      directory,
    );
    try {
      const ready = JSON.parse(await within(command.firstLine, 'the ready line')) as {
        ready: boolean;
        nameservices: SimulatedNameservice[];
      };
      expect(ready.ready).toBe(true);
      expect(ready.nameservices.map(({ id, namenodes }) => [id, namenodes.map((one) => one.id)])).toEqual([
        ['a', ['nn0', 'nn1', 'nn2']],
        ['b', ['nn0', 'nn1', 'nn2']],
      ]);
      const configuration = new Configuration({ directory, overrides: [] });
      expect(readTopology(configuration).topology.nameservices).toEqual(ready.nameservices);
      expect(configuration.get('dfs.federation.router.observer.read.default')).toBe('true');
      const { host, port } = ready.nameservices[1]!.namenodes[0]!;
      using client = await HdfsClient.connect({ host, port, user: 'hdfs' });
      await client.createEmptyFile('/d/f');
      expect((await client.list('/d'))?.map((entry) => entry.path.toString())).toEqual(['f']);
      const stats = await client.rpc.call<{ capacity: number }>(
        'org.apache.hadoop.hdfs.protocol.ClientProtocol',
        'getFsStats',
        'hadoop.hdfs.GetFsStatusRequestProto',
        'hadoop.hdfs.GetFsStatsResponseProto',
        {},
      );
      expect(stats.response.capacity).toBe(3 * 1024 ** 4);
      // The observer has not applied what the active did.
      using observer = await HdfsClient.connect({
        host,
        port: ready.nameservices[1]!.namenodes[2]!.port,
        user: 'hdfs',
      });
      const seen = await observer.rpc.call<{ fs?: object }>(
        'org.apache.hadoop.hdfs.protocol.ClientProtocol',
        'getFileInfo',
        'hadoop.hdfs.GetFileInfoRequestProto',
        'hadoop.hdfs.GetFileInfoResponseProto',
        { src: '/d/f' },
        { stateId: 0 },
      );
      expect([seen.response.fs, seen.header.stateId]).toEqual([undefined, 0]);
      command.child.kill('SIGINT');
      expect(await within(command.code, 'the end of simulate')).toBe(0);
      expect(command.lines).toHaveLength(1);
    } finally {
      command.child.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it.each([
    [['--namenodes', 'x'], '--namenodes x: not a number'],
    [['--observers', '-1'], '--observers -1: not a number of 0 or more'],
    [['--namenodes', '0'], 'namenodes 0: a whole number from 1 to 16'],
    [['--service-time', 'fast'], '--service-time: service time "fast": allowed are'],
    [['--observer-lag', 'long'], '--observer-lag: service time "long": allowed are'],
    [['--observer-calls-per-second', 'x'], '--observer-calls-per-second x: not a number'],
    [['--nameservices', 'a,a'], 'name each only once'],
    [['--port-base', '70000'], 'port base 70000'],
    [['--listing-limit', '0'], 'listing limit 0: a whole number from 1 to 1000000'],
    [['--datanodes', '1.5'], 'datanodes 1.5: a whole number from 0 to 1024'],
    [['--datanodes', '2000'], 'datanodes 2000: a whole number from 0 to 1024'],
    [['--write-config', '/proc/none/x'], '--write-config /proc/none/x: ENOENT'],
    [['--write-config', MAIN], `--write-config ${MAIN}: ${MAIN} is not a directory; name a directory`],
    [['--nonsense'], 'unknown flag --nonsense'],
  ])('refuses %j', async (args, message) => {
    await expect(run(args)).rejects.toMatchObject({ name: 'UsageError', message: expect.stringContaining(message) });
  });
});

describe('switchyard quickstart', () => {
  it('shows what went where, and ends with --once', async () => {
    const command = start('quickstart', '--once');
    try {
      expect(await within(command.code, 'the end of quickstart', 25_000)).toBe(0);
      expect(command.errors).toEqual([]);
      const text = command.lines.join('\n');
      expect(text).toMatch(/create {2}\/data\/sales\/january +-> {2}ns0 nn0 {2}\/warehouse\/sales\/january/);
      expect(text).toMatch(/list {4}\/ +-> {2}data {2}home {2}logs$/m);
      expect(text).toMatch(/^ {2}ns1 {2}\/logs\/web\/yesterday$/m);
      expect(command.lines.length).toBeLessThanOrEqual(40);
    } finally {
      command.child.kill('SIGKILL');
    }
  });

  it('stays up until a signal', async () => {
    const command = start('quickstart');
    try {
      const ended = Promise.withResolvers<void>();
      readLines(command.child.stdout!, (line) => {
        if (line.startsWith('Ctrl-C')) ended.resolve();
      });
      await within(ended.promise, 'the last line of quickstart', 25_000);
      command.child.kill('SIGINT');
      expect(await within(command.code, 'the end of quickstart')).toBe(0);
    } finally {
      command.child.kill('SIGKILL');
    }
  });
});
