import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import { runScript, writeLocalFiles } from './shell-script.ts';
import type { CommandResult, Endpoint } from './support.ts';
import { directEndpoint, ENDPOINT, FULL, Rig, Shell, startEndpoint } from './support.ts';

/** The tools of HDFS through the router: each prints what it prints before a NameNode. */

const MOUNTS = [
  '/data0=ns0:/data0',
  '/apps/sales=ns1:/tenants/sales',
  '/top=ns0:/top',
  '/top/in=ns1:/in',
  '/all=ns0,ns1:/all@HASH_ALL',
];
const TARGETS = ['ns0:/data0', 'ns1:/tenants/sales', 'ns0:/top', 'ns1:/in', 'ns0:/all', 'ns1:/all'];
const TRASH_USERS = ['carol', 'dave'];

/** Places of every kind, and whether Hadoop's Router gets along with them. */
const PLACES = [
  { name: 'a mount', dir: '/data0/work', javaRouter: true },
  { name: 'a mount of another path', dir: '/apps/sales/work', javaRouter: false },
  { name: 'a mount below a mount', dir: '/top/in/work', javaRouter: false },
  { name: 'the default nameservice', dir: '/plain/work', javaRouter: true },
  { name: 'a HASH_ALL mount', dir: '/all/work', javaRouter: false },
];

let rig: Rig;
let endpoint: Endpoint;
let direct: Endpoint;
let shell: Shell;
let directShell: Shell;
let local = '';

beforeAll(async () => {
  local = mkdtempSync(join(tmpdir(), 'switchyard-tools-'));
  writeLocalFiles(local);
  rig = await Rig.start({
    mounts: MOUNTS,
    conf: { 'fs.trash.interval': '60', 'dfs.federation.router.quota.enable': 'true', 'hadoop.tmp.dir': local },
  });
  const homes = TRASH_USERS.flatMap((user) => [`ns0:/user/${user}`, `ns1:/user/${user}`]);
  await rig.makeTargets([...TARGETS, ...homes]);
  endpoint = await startEndpoint(rig);
  direct = directEndpoint((await rig.active('ns0')).rpc);
  shell = await Shell.start(rig, endpoint.uri);
  directShell = await Shell.start(rig, direct.uri);
  for (const ns of ['ns0', 'ns1']) {
    const { rpc } = await rig.active(ns);
    for (const user of TRASH_USERS) await shell.ok(['-chown', user, `hdfs://${rpc}/user/${user}`]);
  }
});

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]();
  await directShell?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
  rmSync(local, { recursive: true, force: true });
});

/** What a tool printed, with numbers, sizes and servers blanked out, and without empty lines. */
function shape({ code, out, err }: CommandResult): { code: number; out: string[]; err: string[] } {
  const blank = (text: string): string[] =>
    text
      .replaceAll(/hdfs:\/\/127\.0\.0\.1:\d+/g, 'FS')
      .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER')
      .replaceAll(/\/ns\d(?=\/)/g, '')
      // A call for all nameservices that failed says where it was done.
      .replaceAll(/ \[failed: .*; done: .*\]$/gm, '')
      // The NameNode leaves it out.
      .replaceAll(/^Rack: \/default-rack$/gm, '')
      .replaceAll(/^.* (?:CST|UTC|GMT) \d{4}$/gm, 'TIME')
      .replaceAll(/\d+(?:\.\d+)?/g, '#')
      .replaceAll(/# [KMGT]?B/g, '#')
      .replaceAll(/ +/g, ' ')
      .split('\n')
      .map((line) => line.trimEnd())
      .filter((line) => line !== '');
  return { code, out: blank(out), err: blank(err) };
}

/** Runs a tool through the router and on the NameNode. */
async function both(tool: string, args: readonly string[]): Promise<{ routed: CommandResult; own: CommandResult }> {
  const own = await directShell.run(args, { tool });
  const routed = await shell.run(args, { tool });
  return { routed, own };
}

async function runTool(tool: string, args: readonly string[]): Promise<string> {
  const { code, out, err } = await shell.run(args, { tool });
  if (code !== 0) throw new Error(`${tool} ${args.join(' ')}: exit ${code}\n${err}${out}`);
  return out;
}

describe.skipIf(ENDPOINT === 'namenode')('hdfs dfs prints what it prints before a NameNode', () => {
  let expected: Awaited<ReturnType<typeof runScript>>;

  beforeAll(async () => {
    expected = await runScript(directShell, '/direct/work', local);
    // The script does what it is meant to: most commands succeed, those that must not do not.
    const failed = expected.filter(({ code }) => code !== 0).length;
    expect(failed).toBeGreaterThan(15);
    expect(failed).toBeLessThan(expected.length / 2);
  });

  for (const { name, dir, javaRouter } of PLACES) {
    it.skipIf(ENDPOINT === 'java-router' && !javaRouter)(`in ${name}: ${dir}`, async () => {
      expect(await runScript(shell, dir, local)).toEqual(expected);
    });
  }
});

/** Each tool and what it is asked, in an order in which all can be done; and whether Hadoop's Router gets along with it. */
const ADMIN: [tool: string, line: string, javaRouter: boolean][] = [
  ['dfsadmin', '-report', false],
  ['dfsadmin', '-report -live', true],
  ['dfsadmin', '-safemode get', true],
  ['dfsadmin', '-printTopology', true],
  ['dfsadmin', '-listOpenFiles', false],
  ['dfsadmin', '-listOpenFiles -path /data0', false],
  ['dfsadmin', '-refreshNodes', true],
  ['dfsadmin', '-metasave switchyard-metasave.txt', true],
  ['dfsadmin', '-setBalancerBandwidth 1048576', true],
  ['dfsadmin', '-rollEdits', true],
  ['dfsadmin', '-restoreFailedStorage check', true],
  ['dfsadmin', '-saveNamespace', true],
  ['dfsadmin', '-rollingUpgrade query', true],
  ['dfsadmin', '-upgrade query', false],
  ['dfsadmin', '-finalizeUpgrade', true],
  ['dfsadmin', '-refreshUserToGroupsMappings', true],
  ['dfsadmin', '-setQuota 100 /plain/none', false],
  ['groups', 'root nobody', true],
  ['ec', '-listPolicies', true],
  ['ec', '-listCodecs', true],
  ['ec', '-enablePolicy -policy RS-3-2-1024k', true],
  ['ec', '-verifyClusterSetup -policy RS-3-2-1024k', true],
  ['ec', '-disablePolicy -policy RS-3-2-1024k', true],
  ['ec', '-getPolicy -path /data0', true],
  ['ec', '-removePolicy -policy none', false],
  ['storagepolicies', '-listPolicies', true],
  ['storagepolicies', '-getStoragePolicy -path /data0', true],
  ['cacheadmin', '-addPool pool-a -mode 0755', true],
  ['cacheadmin', '-listPools', true],
  ['cacheadmin', '-modifyPool pool-a -limit 1000', true],
  ['cacheadmin', '-addDirective -path /data0/below -pool pool-a', true],
  ['cacheadmin', '-listDirectives -pool pool-a', false],
  ['cacheadmin', '-removeDirectives -path /data0/below', true],
  ['cacheadmin', '-removePool pool-a', true],
  ['cacheadmin', '-listPools', true],
  ['crypto', '-listZones', false],
  ['crypto', '-getFileEncryptionInfo -path /data0', true],
  ['crypto', '-listReencryptionStatus', false],
];

describe.skipIf(ENDPOINT === 'namenode')('tools for administrators print what they print before a NameNode', () => {
  beforeAll(async () => {
    await shell.ok(['-mkdir', '-p', '/data0/below']);
  });

  // All before the NameNode first: what is made and removed there must not be met by the router.
  const expected: CommandResult[] = [];
  beforeAll(async () => {
    for (const [tool, line] of ADMIN) expected.push(await directShell.run(line.split(' '), { tool }));
  });

  for (const [index, [tool, line, javaRouter]] of ADMIN.entries()) {
    it.skipIf(ENDPOINT === 'java-router' && !javaRouter)(`${tool} ${line}`, async () => {
      const routed = await shell.run(line.split(' '), { tool });
      const own = expected[index];
      if (own === undefined) throw new Error('the NameNode was not asked');
      expect(shape(routed), `${routed.out}${routed.err}`).toEqual(shape(own));
    });
  }

  it('dfsadmin -report counts each DataNode once, with the capacity of a NameNode', async () => {
    const { routed, own } = await both('dfsadmin', ['-report']);
    console.log(routed.out);
    const nodes = (out: string): string[] => [...out.matchAll(/^Name: (\S+)/gm)].map(([, name = '']) => name).sort();
    const capacity = (out: string): string[] => [...out.matchAll(/^Configured Capacity: .*$/gm)].map(([line]) => line);
    expect(nodes(routed.out)).toEqual(nodes(own.out));
    expect(nodes(routed.out).length).toBe(rig.up.datanodes.length);
    if (ENDPOINT === 'switchyard') expect(capacity(routed.out)).toEqual(capacity(own.out));
  });

  it('dfsadmin -getDatanodeInfo, of an address that the report names', async () => {
    const [node] = rig.up.datanodes;
    const out = await runTool('dfsadmin', ['-getDatanodeInfo', node?.ipc ?? '']);
    expect(out).toMatch(/^Uptime: \d+, Software version: /);
    const { routed, own } = await both('dfsadmin', ['-triggerBlockReport', node?.ipc ?? '']);
    expect(shape(routed)).toEqual(shape(own));
  });

  it.skipIf(ENDPOINT === 'java-router')('dfsadmin -listOpenFiles names the files of all nameservices', async () => {
    using client = await RawClient.connect(endpoint, { user: rig.up.user });
    const files = ['/all/open-a', '/all/open-b', '/apps/sales/open', '/data0/open', '/top/in/open', '/top/open'];
    for (const src of files) {
      const request = {
        src,
        masked: { perm: 0o644 },
        clientName: 'opens-files',
        createFlag: 1,
        createParent: true,
        replication: 1,
        blockSize: 1 << 20,
      };
      await client.result({ method: 'create', request });
    }
    const named = (out: string): string[] =>
      [...out.matchAll(/opens-files\s+(\S+)/g)].map(([, path = '']) => path).sort();
    const out = await runTool('dfsadmin', ['-listOpenFiles']);
    console.log(out);
    expect(named(out)).toEqual(files);
    expect(named(await runTool('dfsadmin', ['-listOpenFiles', '-path', '/top']))).toEqual([
      '/top/in/open',
      '/top/open',
    ]);
    for (const src of files) await client.result({ method: 'delete', request: { src, recursive: false } });
  });

  it('dfsadmin -safemode enter and leave reach every nameservice', async () => {
    const modes = async (): Promise<string[]> =>
      await Promise.all(
        ['ns0', 'ns1'].map(async (ns) => {
          const { rpc } = await rig.active(ns);
          using client = await RawClient.connect(directEndpoint(rpc), { user: rig.up.user });
          const request = { action: 'SAFEMODE_GET', checked: false };
          return String((await client.result({ method: 'setSafeMode', request }))['result']);
        }),
      );
    expect(await runTool('dfsadmin', ['-safemode', 'enter'])).toContain('Safe mode is ON');
    expect(await modes()).toEqual(['true', 'true']);
    expect(await shell.fails(['-mkdir', '/data0/not-now'])).toContain('Name node is in safe mode');
    expect(await runTool('dfsadmin', ['-safemode', 'leave'])).toContain('Safe mode is OFF');
    expect(await modes()).toEqual(['false', 'false']);
  });
});

describe.skipIf(ENDPOINT === 'namenode')('snapshots', () => {
  it('lsSnapshottableDir, lsSnapshot and snapshotDiff speak of the paths of the client', async () => {
    const dirs = ['/apps/sales/snap', '/data0/snap'];
    for (const dir of dirs) {
      await shell.ok(['-mkdir', '-p', dir]);
      expect(await runTool('dfsadmin', ['-allowSnapshot', dir])).toBe(`Allowing snapshot on ${dir} succeeded\n`);
      expect(await shell.ok(['-createSnapshot', dir, 's1'])).toBe(`Created snapshot ${dir}/.snapshot/s1\n`);
      await shell.ok(['-touchz', `${dir}/new`]);
      await shell.ok(['-createSnapshot', dir, 's2']);
    }
    const listed = await runTool('lsSnapshottableDir', []);
    const roots = listed
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s+/).at(-1));
    if (ENDPOINT === 'switchyard') expect(roots.sort()).toEqual(dirs);
    else expect(roots.length).toBe(dirs.length);
    for (const dir of dirs) {
      expect(await runTool('lsSnapshot', [dir])).toContain(`${dir}/.snapshot/s1`);
      const diff = await runTool('snapshotDiff', [dir, 's1', 's2']);
      expect(diff).toBe(`Difference between snapshot s1 and snapshot s2 under directory ${dir}:\nM\t.\n+\t./new\n\n`);
      await shell.ok(['-renameSnapshot', dir, 's1', 's0']);
      await shell.ok(['-deleteSnapshot', dir, 's0']);
      await shell.ok(['-deleteSnapshot', dir, 's2']);
      await runTool('dfsadmin', ['-disallowSnapshot', dir]);
    }
    expect((await runTool('lsSnapshottableDir', [])).trim()).toBe('');
  });
});

describe.skipIf(ENDPOINT === 'namenode')('trash', () => {
  it.skipIf(ENDPOINT === 'java-router')(
    'rm moves within the nameservice, the trash shows what exists, emptying works',
    async () => {
      const [user = ''] = TRASH_USERS;
      const trash = `/user/${user}/.Trash`;
      const dirs = ['/data0/trash', '/apps/sales/trash', '/top/in/trash'];
      for (const dir of dirs) {
        await shell.ok(['-mkdir', dir]);
        await shell.ok(['-chown', user, dir]);
        await shell.ok(['-touchz', `${dir}/kept`, `${dir}/thrown`], user);
      }
      for (const dir of dirs) await shell.ok(['-rm', `${dir}/thrown`], user);
      const found = (await shell.ok(['-find', trash], user)).trimEnd().split('\n').sort();
      expect(found).toEqual(
        [
          trash,
          ...['', '/data0', '/data0/trash', '/data0/trash/thrown', '/apps', '/apps/sales', '/apps/sales/trash'].map(
            (path) => `${trash}/Current${path}`,
          ),
          ...['/apps/sales/trash/thrown', '/top', '/top/in', '/top/in/trash', '/top/in/trash/thrown'].map(
            (path) => `${trash}/Current${path}`,
          ),
        ].sort(),
      );
      await shell.ok(['-expunge', '-immediate'], user);
      expect(await shell.fails(['-find', `${trash}/Current`], user)).toContain('No such file or directory');
      for (const dir of dirs) expect(await shell.ok(['-ls', '-C', dir], user)).toBe(`${dir}/kept\n`);
      for (const ns of ['ns0', 'ns1']) {
        const { rpc } = await rig.active(ns);
        const left = await shell.ok(['-find', `hdfs://${rpc}${trash}`], user);
        expect(left.trimEnd().split('\n').length, left).toBe(1);
      }
    },
  );
});

describe.skipIf(ENDPOINT === 'namenode')('fsck', () => {
  /** fsck asks this server instead of a NameNode's web server; the queries that came. */
  async function askedByFsck(options: (http: string) => readonly string[], args: readonly string[]): Promise<URL[]> {
    const asked: URL[] = [];
    const server = createServer((request, response) => {
      asked.push(new URL(request.url ?? '', 'http://server'));
      response.end('The filesystem is HEALTHY\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const http = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { code, out, err } = await shell.run([...options(http), ...args], { tool: 'fsck' });
      expect(`${out}${err}`).toContain('HEALTHY');
      expect(code).toBe(0);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    return asked;
  }

  it('finds the web server of the router in its own configuration, by the address of the router', async () => {
    const asked = await askedByFsck((http) => ['-D', `dfs.namenode.http-address=${http}`], ['/data0', '-files']);
    expect(asked.map(({ pathname }) => pathname)).toEqual(['/fsck']);
    expect(asked[0]?.searchParams.get('path')).toBe('/data0');
  });

  it('finds it by the name of a logical nameservice: the router says that it is active', async () => {
    const rpc = endpoint.uri.slice('hdfs://'.length);
    const asked = await askedByFsck(
      (http) => [
        ...['-fs', 'hdfs://routers'],
        ...['-D', 'dfs.nameservices=routers'],
        ...['-D', 'dfs.ha.namenodes.routers=r0'],
        ...['-D', `dfs.namenode.rpc-address.routers.r0=${rpc}`],
        ...['-D', `dfs.namenode.http-address.routers.r0=${http}`],
        ...[
          '-D',
          'dfs.client.failover.proxy.provider.routers=org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider',
        ],
      ],
      ['/apps/sales'],
    );
    expect(asked.map(({ searchParams }) => searchParams.get('path'))).toEqual(['/apps/sales']);
  });
});

describe('other programs', () => {
  it('distcp copies from one nameservice to another', async () => {
    await shell.ok(['-mkdir', '-p', '/data0/copy/sub', '/apps/sales']);
    await shell.ok(['-put', '-f', join(local, 'hello'), join(local, 'thousand'), '/data0/copy/sub']);
    const place = ENDPOINT === 'namenode' ? '/copied' : '/apps/sales/copied';
    await runTool('distcp', ['-D', 'mapreduce.framework.name=local', '/data0/copy', place]);
    expect(await shell.ok(['-cat', `${place}/sub/hello`])).toBe('hello, world\n');
    expect((await shell.ok(['-count', place])).trim().split(/\s+/).slice(0, 3)).toEqual(['2', '2', '1013']);
    await shell.ok(['-rm', '-r', '-skipTrash', '/data0/copy', place]);
  });

  const operations = ['create', 'open', 'fileStatus', 'rename', 'delete', 'clean'];
  it.each(FULL ? operations : ['rename', 'clean'])('NNThroughputBenchmark -op %s', async (op) => {
    const args = ['nnbench', '--fs', endpoint.uri, '-op', op];
    if (op !== 'clean') args.push('-threads', '3', '-files', '60');
    const { out, err } = await rig.command(args, undefined, { RIG_LOG: 'INFO' });
    expect(`${out}${err}`).toMatch(op === 'clean' ? /clean inputs/ : /# operations: 60\b/);
    expect(`${out}${err}`).not.toMatch(/Exception/);
  });
});

// The last: the rig's NameNodes read the configuration of their JVM afterwards, which lets nobody act for others.
describe('dfsadmin -refreshSuperUserGroupsConfiguration', () => {
  it('is done', async () => {
    const out = await runTool('dfsadmin', ['-refreshSuperUserGroupsConfiguration']);
    expect(out).toBe('Refresh super user groups configuration successful\n');
  });
});
