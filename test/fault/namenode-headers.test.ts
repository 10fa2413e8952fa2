import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { decodeResponse, RawClient, type RawReply } from '../support/raw-client.ts';
import { ScriptedCluster } from '../support/scripted-cluster.ts';
import {
  answerPlainly,
  fileStatus,
  IO,
  type NameNodeCall,
  type ScriptedNameNode,
} from '../support/scripted-namenode.ts';

/** What of a call and of its answer the router changes: header fields, paths, and nothing else. */

const ID = Buffer.from('a0a1a2a3a4a5a6a7a8a9aaabacadaeaf', 'hex');
const NOT_FOUND = 'java.io.FileNotFoundException';
const PERMISSION = { perm: 0o755 };

let cluster: ScriptedCluster;
let namenode: ScriptedNameNode;
let client: RawClient;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({
    nameservices: { ns0: ['active'], ns1: ['active'], ns2: ['active'] },
    mounts: ['/same=ns0:/same', '/moved=ns0:/target/dir', '/top=ns0:/', '/one=ns1:/one', '/two=ns2:/two'],
    keys: { 'hadoop.proxyuser.gateway.hosts': '*', 'hadoop.proxyuser.gateway.users': '*' },
  });
  namenode = cluster.namenode('ns0');
  client = await cluster.connect('alice', ID);
});

afterAll(async () => {
  client[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
});

beforeEach(() => {
  for (const each of cluster.all()) {
    each.calls.length = 0;
    each.handler = answerPlainly;
  }
});

/** Sends one call and takes what came to the NameNode for it. */
async function pass(
  method: string,
  request: object,
  header: object = {},
  by: RawClient = client,
): Promise<NameNodeCall> {
  const reply = await by.call({ method, request, header });
  expect([reply.status, reply.exception, reply.message]).toEqual(['SUCCESS', '', '']);
  expect(namenode.calls).toHaveLength(1);
  return namenode.calls[0] as NameNodeCall;
}

function read(by: RawClient = client, header: object = {}): Promise<NameNodeCall> {
  return pass('getFileInfo', { src: '/same/file' }, header, by);
}

/** What the router says of a client: the form that NameNodes parse. */
function originOf(by: RawClient, call: NameNodeCall): string {
  return `clientIp:127.0.0.1,clientPort:${by.socket.localPort},clientId:${ID.toString('hex')},clientCallId:${call.callId}`;
}

describe('the caller context', () => {
  it('says who really calls', async () => {
    const call = await read();
    expect(call.context).toBe(originOf(client, call));
    expect(call.header['callerContext']).not.toHaveProperty('signature');
  });

  it('keeps what the client says itself, with its signature, but not what would pass for ours', async () => {
    const signature = Buffer.from('00ff10', 'hex');
    const context = 'CLI,clientIp:6.6.6.6,foo:bar,clientId:zz,xclientPort:1,baz,realUser:root,clientCallId:9';
    const call = await read(client, { callerContext: { context, signature } });
    expect(call.context).toBe(`${originOf(client, call)},CLI,foo:bar,baz`);
    expect((call.header['callerContext'] as Plain)['signature']).toEqual(signature);
  });

  it('leaves an absent client id out', async () => {
    using anonymous = await cluster.connect('alice', Buffer.alloc(0));
    const call = await read(anonymous);
    expect(call.context).toBe(
      `clientIp:127.0.0.1,clientPort:${anonymous.socket.localPort},clientCallId:${call.callId}`,
    );
    expect(call.clientId).toHaveLength(0);
  });

  it('names the real user behind an impersonated one; the NameNode sees the impersonated one alone', async () => {
    using proxied = await RawClient.connect(cluster.router, { user: 'bob', realUser: 'gateway', clientId: ID });
    const call = await read(proxied, { callerContext: { context: 'job_1' } });
    expect(call.context).toBe(`${originOf(proxied, call)},realUser:gateway,job_1`);
    expect([call.peer.user, call.peer.realUser]).toEqual(['bob', '']);
  });
});

describe('other header fields', () => {
  it('of the client that are about states stay in the router, the rest passes', async () => {
    const call = await read(client, {
      stateId: 12_345,
      routerFederatedState: Buffer.from('0a070a036e7330100a', 'hex'),
      traceInfo: { traceId: 5, parentId: 6 },
      callerContext: { context: 'traced' },
    });
    expect(call.header).not.toHaveProperty('stateId');
    expect(call.header).not.toHaveProperty('routerFederatedState');
    expect(call.header['traceInfo']).toMatchObject({ traceId: 5, parentId: 6 });
    expect(call.context).toBe(`${originOf(client, call)},traced`);
    expect([call.header['rpcKind'], call.header['rpcOp']]).toEqual(['RPC_PROTOCOL_BUFFER', 'RPC_FINAL_PACKET']);
    expect(call.clientId).toEqual(ID);
  });

  it('of the NameNode that are about states stay in the router', async () => {
    const reply = await client.call({ method: 'getFileInfo', request: { src: '/same/file' } });
    expect(reply.header).not.toHaveProperty('stateId');
    expect(reply.header).not.toHaveProperty('routerFederatedState');
    expect(reply.header['serverIpcVersionNum']).toBe(9);
  });
});

describe('paths', () => {
  it.each([
    ['/same/a/b', '/same/a/b'],
    ['/moved', '/target/dir'],
    ['/moved/a b/ü', '/target/dir/a b/ü'],
    ['/moved//x/', '/target/dir/x'],
    ['/top', '/'],
    ['/top/x', '/x'],
  ])('%s goes to the NameNode as %s', async (src, target) => {
    expect((await pass('getFileInfo', { src })).request).toEqual({ src: target });
  });

  it('are both replaced in a rename, with options and without', async () => {
    const [src, dst] = ['/moved/from', '/moved/a/much/longer/name/than/before'];
    const target = { src: '/target/dir/from', dst: '/target/dir/a/much/longer/name/than/before' };
    expect((await pass('rename', { src, dst })).request).toEqual(target);
    namenode.calls.length = 0;
    expect((await pass('rename2', { src, dst, overwriteDest: true })).request).toEqual({
      ...target,
      overwriteDest: true,
    });
    namenode.calls.length = 0;
    expect((await pass('rename', { src: '/same/x', dst: '/moved/y' })).request).toEqual({
      src: '/same/x',
      dst: '/target/dir/y',
    });
  });

  it('are all replaced in a concat', async () => {
    namenode.handler = (call) => call.succeed();
    const { request } = await pass('concat', { trg: '/moved/all', srcs: ['/moved/1', '/same/2'] });
    expect(request).toEqual({ trg: '/target/dir/all', srcs: ['/target/dir/1', '/same/2'] });
  });

  it('and nothing else of the request', async () => {
    const request = {
      src: '/moved/file',
      masked: PERMISSION,
      clientName: '/moved/file',
      createFlag: 3,
      createParent: false,
      replication: 2,
      blockSize: 1_048_576,
      cryptoProtocolVersion: ['ENCRYPTION_ZONES'],
      unmasked: { perm: 0o777 },
    };
    expect((await pass('create', request)).request).toEqual({ ...request, src: '/target/dir/file' });
  });
});

describe('texts of exceptions', () => {
  async function textOf(src: string, message: string): Promise<string> {
    namenode.handler = (call) => call.fail(NOT_FOUND, message);
    const reply = await client.call({ method: 'getFileInfo', request: { src } });
    expect([reply.status, reply.exception, reply.header['errorDetail']]).toEqual([
      'ERROR',
      NOT_FOUND,
      'ERROR_APPLICATION',
    ]);
    return reply.header['errorMsg'] as string;
  }

  it.each([
    ['the path itself', 'File does not exist: /target/dir/a/b', 'File does not exist: /moved/a/b'],
    ['its parents within the mount', '"/target/dir/a":x, (/target/dir)', '"/moved/a":x, (/moved)'],
    ['not what is above the mount', 'inode=/target and /', 'inode=/target and /'],
    ['not longer names', '/target/dir/a/bc /target/dir/a/b/c /x/target/dir/a/b', null],
    ['not other paths', '/target/dir/other and target/dir/a/b', null],
    ['the end of a sentence', 'No /target/dir/a/b. Or /target/dir/a/b, or', 'No /moved/a/b. Or /moved/a/b, or'],
  ])('name the client’s path: %s', async (_what, sent, expected) => {
    expect(await textOf('/moved/a/b', sent)).toBe(expected ?? sent);
  });

  it('keep their stack lines as they are', async () => {
    const stack = '\n\tat org.apache.hadoop.hdfs.Some.method(/target/dir/a/b)\n/target/dir/a/b\n';
    expect(await textOf('/moved/a/b', `Bad /target/dir/a/b${stack}`)).toBe(`Bad /moved/a/b${stack}`);
  });

  it('pass byte for byte when the path was not replaced', async () => {
    const text = `Bad /same/x and /target/dir/x: \u00fc \u{1f9ed}\n\tat a.b(C.java)\n`;
    expect(await textOf('/same/x', text)).toBe(text);
  });
});

describe('answers', () => {
  const create = (src: string): [string, object] => [
    'create',
    {
      src,
      masked: PERMISSION,
      clientName: 'writer',
      createFlag: 1,
      createParent: true,
      replication: 3,
      blockSize: 1_048_576,
    },
  ];

  async function statusIn(field: string, method: string, request: object): Promise<Plain | undefined> {
    const reply = await client.call({ method, request });
    expect([reply.status, reply.message]).toEqual(['SUCCESS', '']);
    return decodeResponse(method, reply.body)[field] as Plain | undefined;
  }

  it('to create and append name the nameservice in the file status, which else stays as it is', async () => {
    const status = { ...fileStatus(77), flags: 2 };
    namenode.handler = (call) => call.succeed(call.method === 'create' ? { fs: status } : { stat: status });
    expect(await statusIn('fs', ...create('/moved/new'))).toEqual({ ...status, namespace: 'ns0' });
    expect(await statusIn('stat', 'append', { src: '/same/old', clientName: 'writer' })).toEqual({
      ...status,
      namespace: 'ns0',
    });
    const other = cluster.namenode('ns1');
    other.handler = (call) => call.succeed({ fs: { ...status, namespace: 'of another router' } });
    expect(await statusIn('fs', ...create('/one/new'))).toEqual({ ...status, namespace: 'ns1' });
  });

  it('without a file status get none', async () => {
    namenode.handler = (call) => call.succeed();
    expect(await statusIn('stat', 'append', { src: '/same/old', clientName: 'writer' })).toBeUndefined();
  });

  it('to createSnapshot and getLinkTarget hold the client’s paths', async () => {
    const at = async (method: string, request: object, field: string): Promise<unknown> => {
      const reply = await client.call({ method, request });
      return decodeResponse(method, reply.body)[field];
    };
    namenode.handler = (call) => call.succeed({ snapshotPath: `${call.request['snapshotRoot']}/.snapshot/s1` });
    for (const snapshotRoot of ['/moved', '/moved/a/b', '/same/c']) {
      const request = { snapshotRoot, snapshotName: 's1' };
      // A mount point itself is nothing that a client may snapshot.
      if (snapshotRoot === '/moved') {
        expect((await client.call({ method: 'createSnapshot', request })).exception).toContain('AccessControl');
      } else expect(await at('createSnapshot', request, 'snapshotPath')).toBe(`${snapshotRoot}/.snapshot/s1`);
    }
    namenode.handler = (call) => call.succeed({ targetPath: `${call.request['path']}/to` });
    expect(await at('getLinkTarget', { path: '/moved/link' }, 'targetPath')).toBe('/moved/link/to');
    namenode.handler = (call) => call.succeed({ targetPath: '/elsewhere' });
    // The whole nameservice is mounted at /top.
    expect(await at('getLinkTarget', { path: '/moved/link' }, 'targetPath')).toBe('/top/elsewhere');
  });

  it.each([
    // The mount is /moved=ns0:/target/dir.
    ['an encryption zone below the mount', '/target/dir/zone', '/moved/zone'],
    ['the target of the mount', '/target/dir', '/moved'],
    ['above the target', '/target', '/moved'],
    ['the root of the NameNode', '/', '/moved'],
  ])('to getEnclosingRoot name the client’s path, never above the mount point: %s', async (_what, named, expected) => {
    namenode.handler = (call) => call.succeed({ enclosingRootPath: named });
    const request = { filename: '/moved/zone/file' };
    const reply = await client.call({ method: 'getEnclosingRoot', request });
    expect([reply.status, reply.message]).toEqual(['SUCCESS', '']);
    expect(namenode.calls[0]?.request).toEqual({ filename: '/target/dir/zone/file' });
    expect(decodeResponse('getEnclosingRoot', reply.body)['enclosingRootPath']).toBe(expected);
  });
});

describe('renewLease', () => {
  function renew(namespaces: readonly string[]): Promise<RawReply> {
    return client.call({ method: 'renewLease', request: { clientName: 'writer', namespaces } });
  }

  /** Nameservices that were asked, and that they were asked what a NameNode understands. */
  function asked(): string[] {
    return ['ns0', 'ns1', 'ns2'].filter((ns) => {
      const { calls } = cluster.namenode(ns);
      for (const call of calls) {
        expect(call.method).toBe('renewLease');
        expect(call.request).toEqual({ clientName: 'writer', namespaces: [] });
        expect(call.clientId).toEqual(ID);
        expect(call.context).toBe(originOf(client, call));
      }
      expect(calls.length).toBeLessThanOrEqual(1);
      return calls.length === 1;
    });
  }

  async function untilAsked(...nameservices: string[]): Promise<void> {
    for (const ns of nameservices) await cluster.namenode(ns).waitForCall({ method: 'renewLease' });
  }

  it.each([
    { named: ['ns1'], goesTo: ['ns1'] },
    { named: ['ns2', 'ns0', 'ns2'], goesTo: ['ns0', 'ns2'] },
    { named: [], goesTo: ['ns0', 'ns1', 'ns2'] },
    { named: ['ns1', 'unknown'], goesTo: ['ns0', 'ns1', 'ns2'] },
  ])('naming $named goes to $goesTo', async ({ named, goesTo }) => {
    const reply = await renew(named);
    expect([reply.status, reply.exception, reply.body.toString('hex')]).toEqual(['SUCCESS', '', '00']);
    await untilAsked(...goesTo);
    expect(asked()).toEqual(goesTo);
  });

  it('is answered with the first success', async () => {
    cluster.namenode('ns0').handler = () => {};
    cluster.namenode('ns1').handler = (call) => call.fail(IO, 'no lease here');
    expect((await renew([])).status).toBe('SUCCESS');
    const slow = await cluster.namenode('ns0').waitForCall({ method: 'renewLease' });
    // What comes later is for nobody, and the next call's answer is its own.
    slow.fail(IO, 'too late');
    namenode.handler = answerPlainly;
    const next = await client.call({ method: 'getFileInfo', request: { src: '/same/file' } });
    expect([next.status, next.exception]).toEqual(['SUCCESS', '']);
  });

  it('is answered with what a NameNode says when none succeeds', async () => {
    for (const each of cluster.all()) each.handler = (call) => call.fail(IO, 'no lease anywhere');
    const reply = await renew([]);
    expect([reply.status, reply.exception, reply.message]).toEqual(['ERROR', IO, 'no lease anywhere']);
  });

  it('succeeds while one nameservice is down', async () => {
    await cluster.namenode('ns2').stop();
    expect((await renew([])).status).toBe('SUCCESS');
    expect((await renew(['ns2', 'ns1'])).status).toBe('SUCCESS');
    await cluster.namenode('ns2').listen();
    await cluster.namenode('ns2').waitForCall({ method: 'renewLease' }, 2);
  });
});
