import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeConfigFiles } from '../../src/simulator/config-files.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';

/** HDFS's own shell against simulated NameNodes: what it prints is what it prints with real ones. */
const RIG = fileURLToPath(new URL('./rig/rig.mjs', import.meta.url));
const RIG_BUILD = process.env['RIG_BUILD'] ?? join(tmpdir(), 'hadoop-rig', 'build');
const USER = process.env['HADOOP_USER_NAME'] ?? 'root';

let simulator: Simulator;
let home: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'switchyard-simulated-'));
  const options = { superuser: USER, stateIds: true, replication: 3 };
  simulator = await startSimulator({ nameservices: ['ns0'], observers: 1, ...options });
  // Where the rig's commands look for their configuration.
  writeConfigFiles(join(home, 'conf'), simulator.nameservices, options);
});

afterAll(async () => {
  await simulator.close();
  rmSync(home, { recursive: true, force: true });
});

interface Done {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** One command of the shell; dates become DATE. */
async function dfs(...args: string[]): Promise<Done> {
  const child = spawn(process.execPath, [RIG, 'dfs', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, RIG_HOME: home, RIG_BUILD, HADOOP_USER_NAME: USER },
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject);
  child.once('close', resolve);
  const code = await promise;
  return { code, out: out.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'DATE'), err: err.trimEnd() };
}

const nothing = { code: 0, out: '', err: '' };

describe('hdfs dfs on simulated NameNodes', () => {
  it('makes, moves and shows directories and files', async () => {
    expect(await dfs('-mkdir', '-p', '/a/b')).toEqual(nothing);
    expect(await dfs('-touchz', '/a/f')).toEqual(nothing);
    expect(await dfs('-mv', '/a/f', '/a/b')).toEqual(nothing);
    expect(await dfs('-ls', '-R', '/')).toEqual({
      code: 0,
      out: [
        `drwxr-xr-x   - ${USER} supergroup          0 DATE /a`,
        `drwxr-xr-x   - ${USER} supergroup          0 DATE /a/b`,
        `-rw-r--r--   3 ${USER} supergroup          0 DATE /a/b/f`,
        '',
      ].join('\n'),
      err: '',
    });
    expect(await dfs('-stat', '%F %n %u:%g %a %r %o', '/a/b/f')).toEqual({
      ...nothing,
      out: `regular file f ${USER}:supergroup 644 3 134217728\n`,
    });
    expect((await dfs('-count', '-q', '/a')).out.trim().split(/\s+/)).toEqual([
      'none',
      'inf',
      'none',
      'inf',
      '2',
      '1',
      '0',
      '/a',
    ]);
  });

  it('changes owners and modes, and removes', async () => {
    expect(await dfs('-mkdir', '-p', '/c/d')).toEqual(nothing);
    expect(await dfs('-chmod', '750', '/c')).toEqual(nothing);
    expect(await dfs('-chown', 'bob:staff', '/c')).toEqual(nothing);
    expect((await dfs('-ls', '-d', '/c')).out).toBe('drwxr-x---   - bob staff          0 DATE /c\n');
    expect((await dfs('-rm', '/c')).err).toBe("rm: `/c': Is a directory");
    expect((await dfs('-rmdir', '/c')).err).toBe("rmdir: `/c': Directory is not empty");
    expect(await dfs('-rm', '-r', '-skipTrash', '/c')).toEqual({ ...nothing, out: 'Deleted /c\n' });
    expect((await dfs('-test', '-e', '/c')).code).toBe(1);
    expect((await dfs('-ls', '/c')).err).toBe("ls: `/c': No such file or directory");
  });

  it('finds the active NameNode after a failover', async () => {
    expect(await dfs('-touchz', '/before')).toEqual(nothing);
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    expect((await dfs('-test', '-e', 'hdfs://ns0/before')).code).toBe(0);
  });
});
