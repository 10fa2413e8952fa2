import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { RemoteError, RpcError } from '../../src/control/rpc-client.ts';
import { explain } from '../../src/load/namespace/explain.ts';
import { prepareNamespace } from '../../src/load/namespace/namespace.ts';
import { markerPath } from '../../src/load/namespace/own-directory.ts';
import { removeNamespace } from '../../src/load/namespace/removal.ts';
import { countScratchGroups, filePath, scratchGroup, scratchPath } from '../../src/load/plan/layout.ts';
import { describeRequests, OPERATION_NAMES } from '../../src/load/plan/operations.ts';
import type { LoadPlan, Target } from '../../src/load/plan/plan.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { IO, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

const HOST = '127.0.0.1';
const OWN = 'switchyard-load-0a1b2c3d';

let simulator: Simulator;
let root: HdfsClient;
let port = 0;

beforeEach(async () => {
  simulator = await startSimulator({ nameservices: ['ns0', 'ns1'], namenodes: 2, superuser: 'root' });
  port = simulator.nameservices[0]!.namenodes[0]!.port;
  root = await HdfsClient.connect({ host: HOST, port, user: 'root' });
  await root.mkdirs('/place', 0o777);
  await root.mkdirs('/other', 0o777);
});

afterEach(async () => {
  root.close();
  await simulator.close();
});

function targetIn(directory: string, own: string = OWN): Target {
  return { name: directory, directory, own: `${directory}/${own}` };
}

function planFor(changes: Partial<LoadPlan> = {}): LoadPlan {
  return {
    host: HOST,
    port,
    loop: { kind: 'closed' },
    connections: 2,
    inFlight: 1,
    users: ['alice', 'bob'],
    mix: [
      { operation: 'getFileInfo', weight: 1 },
      { operation: 'mkdirs', weight: 1 },
    ],
    targets: [targetIn('/place')],
    paths: [],
    distribution: { kind: 'uniform' },
    filesPerTarget: 250,
    warmupMs: 0,
    durationMs: 1000,
    calls: null,
    timeoutMs: 1000,
    threads: 2,
    observerReads: false,
    watchedPid: null,
    seed: 1,
    ...changes,
  };
}

/** All paths below a directory. */
async function tree(client: HdfsClient, path: string): Promise<string[]> {
  const paths: string[] = [];
  for (const status of (await client.list(path)) ?? []) {
    const below = `${path === '/' ? '' : path}/${status.path.toString()}`;
    paths.push(below);
    if (status.fileType === 'IS_DIR') paths.push(...(await tree(client, below)));
  }
  return paths;
}

describe('the own directory of a run', () => {
  it('has files, scratch directories and a marker, open to all users, and goes with all that came into it', async () => {
    const plan = planFor();
    const target = plan.targets[0]!;
    await prepareNamespace(plan);
    const paths = new Set(await tree(root, '/place'));
    for (let file = 0; file < plan.filesPerTarget; file++) expect(paths).toContain(filePath(target, file));
    expect(paths).toContain(markerPath(target.own));
    for (const thread of [0, 1]) {
      using bob = await HdfsClient.connect({ host: HOST, port, user: 'bob' });
      for (const group of [0, countScratchGroups(plan) - 1]) {
        expect((await root.getFileInfo(scratchGroup(target, thread, group)))?.permission.perm).toBe(0o777);
        expect(await bob.mkdirs(scratchPath(target, thread, group, 0), 0o777, false)).toBe(true);
      }
    }
    expect((await root.getFileInfo(filePath(target, 0)))?.owner).toBe('alice');
    await removeNamespace(plan);
    expect(await tree(root, '/')).toEqual(['/other', '/place']);
    // What is gone already is what was wanted.
    await removeNamespace(plan);
  });

  it('has no files when nothing reads them, and no scratch directories when nothing is changed', async () => {
    const { own } = targetIn('/place');
    await prepareNamespace(planFor({ mix: [{ operation: 'create', weight: 1 }] }));
    const changing = await tree(root, own);
    expect(changing.filter((path) => path.includes('/files'))).toEqual([]);
    expect(changing).toContain(scratchGroup(targetIn('/place'), 1, 0));
    await removeNamespace(planFor());
    await prepareNamespace(planFor({ mix: [{ operation: 'getListing', weight: 1 }], filesPerTarget: 2 }));
    expect(await tree(root, own)).toEqual([
      markerPath(own),
      `${own}/files`,
      `${own}/files/d00`,
      filePath(targetIn('/place'), 0),
      filePath(targetIn('/place'), 1),
    ]);
  });

  it('is not brought back by calls that are late', async () => {
    const plan = planFor({ filesPerTarget: 1 });
    const target = targetIn('/place');
    await prepareNamespace(plan);
    await removeNamespace(plan);
    const forms = describeRequests('late', 1);
    const [src, dst] = [scratchPath(target, 0, 0, 0), scratchPath(target, 0, 0, 1)];
    for (const name of OPERATION_NAMES) {
      const { type, pathField, hasDestination, fields } = forms[name];
      const request = { [pathField]: src, ...(hasDestination ? { dst } : {}), ...fields };
      const response = type.replace('Request', 'Response');
      await root.rpc
        .call('org.apache.hadoop.hdfs.protocol.ClientProtocol', name, type, response, request)
        .catch((error: unknown) => expect(error).toBeInstanceOf(RemoteError));
    }
    expect(await tree(root, '/place')).toEqual([]);
  });

  it('of another run is left alone by one that comes second to the marker', async () => {
    const { own } = targetIn('/place');
    const mkdirs = HdfsClient.prototype.mkdirs;
    const spy = vi.spyOn(HdfsClient.prototype, 'mkdirs').mockImplementationOnce(async function (
      this: HdfsClient,
      ...to
    ) {
      const made = await mkdirs.apply(this, to);
      await root.createEmptyFile(markerPath(own));
      await root.createEmptyFile(`${own}/theirs`);
      return made;
    });
    const targets = [targetIn('/other'), targetIn('/place')].toReversed();
    await expect(prepareNamespace(planFor({ targets }))).rejects.toThrow(`${own} is made by another run just now`);
    spy.mockRestore();
    expect(await tree(root, '/place')).toEqual([own, markerPath(own), `${own}/theirs`]);
    expect(await tree(root, '/other')).toEqual([]);
  });

  it('comes about through a router, in every mount', async () => {
    await using router = await InlineRouter.start({
      nameservices: Object.fromEntries(simulator.nameservices.map((ns) => [ns.id, ns.namenodes.map((nn) => nn.port)])),
      mounts: ['/a=ns0:/place', '/b=ns1:/there'],
    });
    using other = await HdfsClient.connect({
      host: HOST,
      port: simulator.nameservices[1]!.namenodes[0]!.port,
      user: 'root',
    });
    await other.mkdirs('/there', 0o777);
    const plan = planFor({ port: router.port, targets: [targetIn('/a'), targetIn('/b')], filesPerTarget: 3 });
    await prepareNamespace(plan);
    expect(await tree(root, '/place')).toContain(filePath(targetIn('/place'), 2));
    expect(await tree(other, '/there')).toContain(filePath(targetIn('/there'), 2));
    await removeNamespace(plan);
    expect(await tree(root, '/place')).toEqual([]);
    expect(await tree(other, '/there')).toEqual([]);
  });

  it('gets entries of several owners', async () => {
    const { own } = targetIn('/place');
    const entries = [
      { path: `${own}/replay/sub`, isDirectory: true, owner: null },
      { path: `${own}/replay`, isDirectory: true, owner: null },
      { path: `${own}/replay/sub/file`, isDirectory: false, owner: 'carol' },
    ];
    await prepareNamespace(planFor({ filesPerTarget: 0 }), { entries, user: 'dave' });
    expect((await root.getFileInfo(`${own}/replay/sub/file`))?.owner).toBe('carol');
    expect((await root.getFileInfo(`${own}/replay/sub`))?.owner).toBe('dave');
    const outside = [{ path: `${own}x/replay`, isDirectory: true, owner: null }];
    await expect(prepareNamespace(planFor(), { entries: outside })).rejects.toThrow('nothing was made');
  });

  it('is refused where the given directory is none, and leaves nothing behind', async () => {
    await root.createEmptyFile('/file');
    const before = await tree(root, '/');
    const attempt = (directory: string) =>
      prepareNamespace(planFor({ targets: [targetIn('/place'), targetIn(directory)] }));
    await expect(attempt('/none')).rejects.toThrow('/none does not exist; make it');
    await expect(attempt('/file')).rejects.toThrow('/file is not a directory');
    await root.mkdirs('/mine', 0o700);
    await expect(attempt('/mine')).rejects.toThrow('AccessControlException');
    await expect(attempt('/mine')).rejects.toThrow('--user');
    await root.mkdirs(`/other/${OWN}`, 0o777);
    await expect(attempt('/other')).rejects.toThrow('exists already');
    expect(await tree(root, '/')).toEqual([...before, '/mine', `/other/${OWN}`].sort());
  });

  it('is removed again when the preparation breaks off', async () => {
    const controller = new AbortController();
    const plan = planFor({ filesPerTarget: 5000 });
    const prepared = prepareNamespace(plan, { signal: controller.signal });
    const outcome = expect(prepared).rejects.toThrow('ended early');
    await waitUntil(async () => (await root.getFileInfo(filePath(plan.targets[0]!, 0))) !== undefined, 'first file');
    controller.abort();
    await outcome;
    expect(await tree(root, '/')).toEqual(['/other', '/place']);
  });
});

describe('removal', () => {
  it('leaves a directory without a marker as it is, names it, and removes the others', async () => {
    const plan = planFor({ filesPerTarget: 1, targets: [targetIn('/other'), targetIn('/place')] });
    await prepareNamespace(plan);
    const { own } = targetIn('/other');
    await root.delete(markerPath(own));
    const before = await tree(root, '/other');
    const removed = removeNamespace(plan);
    await expect(removed).rejects.toThrow(`not removed: ${own}: it has no marker ${markerPath(own)}`);
    await expect(removed).rejects.not.toThrow(targetIn('/place').own);
    expect(await tree(root, '/other')).toEqual(before);
    expect(await tree(root, '/place')).toEqual([]);
  });

  it('goes on at the other mounts when one of them does not answer', async () => {
    const plan = planFor({ filesPerTarget: 1, targets: [targetIn('/other'), targetIn('/place')] });
    await prepareNamespace(plan);
    const getFileInfo = HdfsClient.prototype.getFileInfo;
    const spy = vi.spyOn(HdfsClient.prototype, 'getFileInfo').mockImplementation(async function (
      this: HdfsClient,
      path,
    ) {
      if (path.startsWith('/other')) throw new RpcError('TIMEOUT', 'no answer within 600 s');
      return await getFileInfo.call(this, path);
    });
    const removed = removeNamespace(plan);
    await expect(removed).rejects.toThrow(`not removed: /other/${OWN}: no answer within 600 s`);
    await expect(removed).rejects.not.toThrow(`/place/${OWN}`);
    spy.mockRestore();
    expect(await tree(root, '/place')).toEqual([]);
  });

  it('waits for an answer as long as the run does, and at least a second', async () => {
    const connect = vi.spyOn(HdfsClient, 'connect').mockRejectedValue(new Error('enough'));
    try {
      for (const timeoutMs of [10, 20_000]) {
        await expect(prepareNamespace(planFor({ timeoutMs }))).rejects.toThrow('enough');
      }
      expect(connect.mock.calls.map(([{ timeoutMs }]) => timeoutMs)).toEqual([1000, 20_000]);
    } finally {
      connect.mockRestore();
    }
  });

  it('ends at once, and says nothing of making, when a signal comes before anything is made', async () => {
    const controller = new AbortController();
    const info = vi.spyOn(HdfsClient.prototype, 'getFileInfo').mockImplementation(() => {
      controller.abort();
      return Promise.withResolvers<never>().promise;
    });
    const onChecked = vi.fn();
    try {
      const prepared = prepareNamespace(planFor(), { signal: controller.signal, onChecked });
      await expect(prepared).rejects.toThrow(/^the preparation was ended early$/);
    } finally {
      info.mockRestore();
    }
    expect(onChecked).not.toHaveBeenCalled();
    expect(await tree(root, '/place')).toEqual([]);
  });

  it.each([
    ['the given directory itself', '/place'],
    ['a directory of another name', '/place/data'],
    ['one that only looks alike', `/place/${OWN}x`],
    ['a directory further down', `/place/sub/${OWN}`],
    ['a way up', `/place/../other/${OWN}`],
  ])('refuses %s, whatever is in it', async (_, own) => {
    await root.mkdirs('/place/data');
    await root.createEmptyFile(markerPath('/place/data'));
    await root.createEmptyFile(markerPath('/place'));
    const before = await tree(root, '/');
    const plan = planFor({ targets: [{ name: 'w', directory: '/place', own }] });
    await expect(removeNamespace(plan)).rejects.toThrow('nothing was touched');
    await expect(prepareNamespace(plan)).rejects.toThrow('nothing was touched');
    expect(await tree(root, '/')).toEqual(before);
  });

  it('says what is left when the server does not come back', async () => {
    const plan = planFor({ filesPerTarget: 1 });
    await prepareNamespace(plan);
    await simulator.control({ op: 'transition', nameservice: 'ns0', namenode: 'nn0', to: 'standby' });
    const removed = removeNamespace(plan);
    await expect(removed).rejects.toThrow(`not removed: /place/${OWN}`);
    await expect(removed).rejects.toThrow('name the active NameNode, or a router');
    await expect(removed).rejects.toThrow('load clean');
  });
});

describe('what a server answers', () => {
  const SAFE = 'org.apache.hadoop.hdfs.server.namenode.SafeModeException';
  const RETRIABLE = 'org.apache.hadoop.ipc.RetriableException';
  const UNRESOLVED = 'org.apache.hadoop.hdfs.server.federation.resolver.RouterResolveException';
  const QUOTA = 'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException';

  it.each([
    [STANDBY, 'Operation category READ is not supported in state standby', 'name the active NameNode, or a router'],
    [SAFE, 'Cannot create directory /place/x. Name node is in safe mode.', 'hdfs dfsadmin -safemode get'],
    [RETRIABLE, `${SAFE}: Cannot create directory`, 'hdfs dfsadmin -safemode get'],
    [UNRESOLVED, 'Cannot find locations for /place', 'name a directory below one with --mounts'],
    [QUOTA, 'The NameSpace quota (directories and files) is exceeded', '--files'],
  ])('%s comes with a remedy', async (className, text, remedy) => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => call.fail(className, text);
    const prepared = prepareNamespace(planFor({ port: namenode.port }));
    await expect(prepared).rejects.toThrow(text.slice(0, 20));
    await expect(prepared).rejects.toThrow(remedy);
    await expect(prepared).rejects.toMatchObject({ name: 'LoadError' });
  });

  it('is shown as it is when nothing is known about it', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => call.fail(IO, 'disk on fire\n\tat java');
    await expect(prepareNamespace(planFor({ port: namenode.port }))).rejects.toThrow(
      `${HOST}:${namenode.port} answered ${IO}: disk on fire`,
    );
  });

  it('has nothing that moves the cursor', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = (call) => call.fail(IO, '\u001b[2Jgone\u0007');
    await expect(prepareNamespace(planFor({ port: namenode.port }))).rejects.toThrow(`answered ${IO}:  [2Jgone`);
  });

  it('and nothing at all: the port is named', async () => {
    const namenode = await ScriptedNameNode.start();
    const closed = namenode.port;
    await namenode[Symbol.asyncDispose]();
    await expect(prepareNamespace(planFor({ port: closed }))).rejects.toThrow(
      `cannot connect to ${HOST}:${closed}: ECONNREFUSED; name the RPC port`,
    );
    expect(explain('text', { host: HOST, port: 1 })).toBe('text');
  });
});
