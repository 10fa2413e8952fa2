import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ByteClient, callFrame, contextFrame, PREAMBLE, readReply, readResult } from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';

/** Real users that act for others (hadoop.proxyuser.*), decided on the main thread of a router process while the connection waits. */

let namenode: EchoNameNode;
let router: RouterProcess;

beforeAll(async () => {
  namenode = await EchoNameNode.start();
  router = await RouterProcess.start({
    nameservices: { ns0: [{ port: namenode.port }] },
    mounts: ['/a=ns0:/a'],
    keys: {
      'hadoop.proxyuser.hue.users': 'alice,bob',
      'hadoop.proxyuser.hue.hosts': '*',
      'hadoop.proxyuser.oozie.groups': 'staff,admins',
      'hadoop.proxyuser.oozie.hosts': '10.1.1.1,127.0.0.0/8',
      'hadoop.proxyuser.hive.users': '*',
      'hadoop.proxyuser.hive.hosts': '10.9.9.9',
      'hadoop.proxyuser.nowhere.users': '*',
      'hadoop.user.group.static.mapping.overrides': 'carol=staff;dave=guests,visitors;erin=',
    },
  });
});

afterAll(async () => {
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

afterEach(() => {
  namenode.calls.length = 0;
});

/** One call of `realUser` for `user`; '' or the header of the fatal reply. */
async function tryAs(realUser: string, user: string): Promise<object | ''> {
  using client = await ByteClient.connect(router);
  client.send(PREAMBLE, contextFrame({ user, realUser }), callFrame({ callId: 3, path: `/a/${user}` }));
  const frame = await client.nextFrame();
  const { header } = readReply(frame);
  if (header['status'] === 'SUCCESS') {
    expect(readResult(frame)).toMatchObject({ fs: { owner: `/a/${user}` } });
    return '';
  }
  expect(await client.whole()).toEqual(frame);
  expect(client.ended).toBe('FIN');
  return header;
}

function refusal(errorMsg: string): object {
  return {
    callId: -3,
    status: 'FATAL',
    serverIpcVersionNum: 9,
    exceptionClassName: 'org.apache.hadoop.security.authorize.AuthorizationException',
    errorDetail: 'FATAL_UNAUTHORIZED',
    errorMsg,
    clientId: Buffer.alloc(0),
    retryCount: -1,
  };
}

describe('is allowed', () => {
  it.each([
    ['hue', 'alice'],
    ['hue', 'bob'],
    ['hue/host@REALM', 'alice@REALM'],
    ['oozie', 'carol'],
  ])('%s for %s, whose calls are then those of that user', async (realUser, user) => {
    expect(await tryAs(realUser, user)).toBe('');
    expect(namenode.callsOf('getFileInfo').map((call) => call.user)).toEqual([user]);
  });
});

describe('is refused', () => {
  it.each([
    ['hue', 'carol'],
    ['oozie', 'dave'],
    ['oozie', 'erin'],
    ['mallory', 'alice'],
    ['alice', 'alice'],
  ])('%s for %s', async (realUser, user) => {
    expect(await tryAs(realUser, user)).toEqual(refusal(`User: ${realUser} is not allowed to impersonate ${user}`));
    expect(namenode.callsOf('getFileInfo')).toEqual([]);
  });

  it.each(['hive', 'nowhere'])('%s from a host that is not its own', async (realUser) => {
    const text = `Unauthorized connection for super-user: ${realUser} from IP /127.0.0.1`;
    expect(await tryAs(realUser, 'alice')).toEqual(refusal(text));
  });
});

describe('calls behind the context', () => {
  it('are served after the decision, in their order', async () => {
    using client = await ByteClient.connect(router);
    const calls = Array.from({ length: 10 }, (_, callId) => callFrame({ callId, path: `/a/${callId}` }));
    client.send(PREAMBLE, contextFrame({ user: 'alice', realUser: 'hue' }), ...calls);
    for (let callId = 0; callId < 10; callId++) {
      expect(readReply(await client.nextFrame()).header).toMatchObject({ callId, status: 'SUCCESS' });
    }
    expect(namenode.callsOf('getFileInfo').map(({ path }) => path)).toEqual(calls.map((_, i) => `/a/${i}`));
  });

  it('are all served, however many came while it was open', async () => {
    using client = await ByteClient.connect(router);
    const count = 5_000;
    const calls = Array.from({ length: count }, (_, callId) => callFrame({ callId }));
    client.send(PREAMBLE, contextFrame({ user: 'bob', realUser: 'hue' }), ...calls);
    const seen = new Set<unknown>();
    for (let i = 0; i < count; i++) seen.add(readReply(await client.nextFrame()).header['callId']);
    expect(seen.size).toBe(count);
  });

  it('are dropped when it is no', async () => {
    using client = await ByteClient.connect(router);
    const calls = Array.from({ length: 1_000 }, (_, callId) => callFrame({ callId }));
    client.send(PREAMBLE, contextFrame({ user: 'carol', realUser: 'hue' }), ...calls);
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: -3, status: 'FATAL' });
    await client.whole();
    using other = await RawClient.connect(router, { user: 'carol' });
    await other.result({ method: 'getFileInfo', request: { src: '/a/other' } });
    expect(namenode.callsOf('getFileInfo').map(({ path }) => path)).toEqual(['/a/other']);
  });

  it('a client that leaves before the decision disturbs nobody', async () => {
    for (let i = 0; i < 50; i++) {
      const client = await ByteClient.connect(router);
      client.send(PREAMBLE, contextFrame({ user: `nobody${i}`, realUser: 'oozie' }), callFrame());
      client.socket.resetAndDestroy();
    }
    expect(await tryAs('hue', 'alice')).toBe('');
  });
});
