import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { EngineLink } from '../support/engine-link.ts';
import { InlineRouter } from '../support/inline-router.ts';
import { RawClient } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import { answerPlainly, fileStatus, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

/** Several acceptors before one worker: what one of them cannot take holds up none of the others. */

const GET_FILE_INFO = encodeDelimited(messageType('hadoop.hdfs.GetFileInfoRequestProto'), { src: '/a/x' });
const STATE = encodeDelimited(messageType('hadoop.hdfs.HAServiceStateRequestProto'), {});

describe('of two acceptors one is full', () => {
  let namenode: ScriptedNameNode;
  let router: InlineRouter;
  let first: EngineLink;
  let second: EngineLink;

  beforeEach(async () => {
    namenode = await ScriptedNameNode.start();
    router = await InlineRouter.start({ nameservices: { ns0: namenode.port }, mounts: ['/a=ns0:/a'] });
    first = new EngineLink(1);
    second = new EngineLink(2);
    // A user each, so that each has its own connection to the NameNode.
    first.join(router.engine, 'alice');
    second.join(router.engine, 'bob');
  });

  afterEach(async () => {
    await router[Symbol.asyncDispose]();
    await namenode[Symbol.asyncDispose]();
  });

  it('the other gets its replies, the router’s own and those of NameNodes', async () => {
    const { engine } = router;
    first.full = true;
    first.call(engine, 1, 'getHAServiceState', STATE);
    first.call(engine, 2, 'getHAServiceState', STATE);
    second.call(engine, 1, 'getHAServiceState', STATE);
    expect(second.slots).toEqual([1]);
    first.call(engine, 3, 'getFileInfo', GET_FILE_INFO);
    second.call(engine, 2, 'getFileInfo', GET_FILE_INFO);
    await waitUntil(() => second.slots.length === 2, 'the reply of the NameNode');
    expect(first.slots).toEqual([]);
    first.full = false;
    engine.onReplySpace(first);
    await waitUntil(() => first.slots.length === 3, 'all replies of the first');
    expect(first.slots).toEqual([1, 2, 3]);
    expect(engine.calls.inUse).toBe(0);
  });

  it('and full again while it takes what waited: the rest waits on, in order', () => {
    const { engine } = router;
    first.full = true;
    for (let slot = 1; slot <= 4; slot++) first.call(engine, slot, 'getHAServiceState', STATE);
    const reply = first.reply.bind(first);
    first.full = false;
    first.reply = (connection, generation, slot) => {
      first.full = first.slots.length === 2;
      return reply(connection, generation, slot);
    };
    engine.onReplySpace(first);
    expect(first.slots).toEqual([1, 2]);
    first.reply = reply;
    first.full = false;
    first.call(engine, 5, 'getHAServiceState', STATE);
    expect(first.slots).toEqual([1, 2]);
    engine.onReplySpace(first);
    expect(first.slots).toEqual([1, 2, 3, 4, 5]);
  });

  it('and dies: NameNode connections that waited for it are read again', async () => {
    const { engine } = router;
    // One user: both share the connection to the NameNode.
    const third = new EngineLink(3);
    third.join(engine, 'alice');
    first.full = true;
    first.call(engine, 1, 'getHAServiceState', STATE);
    first.call(engine, 2, 'getFileInfo', GET_FILE_INFO);
    await namenode.waitForCall({ method: 'getFileInfo' });
    third.call(engine, 1, 'getFileInfo', GET_FILE_INFO);
    await namenode.waitForCall({ method: 'getFileInfo' }, 2);
    const connections = () => engine.pool.namenodes[0]?.flatMap((each) => [...each.connections]) ?? [];
    await waitUntil(() => connections().some(({ held }) => held), 'the reply to the dead one holds the connection');
    engine.removeLink(first);
    await waitUntil(() => third.slots.length === 1, 'the reply behind it');
    expect(engine.calls.inUse).toBe(0);
  });
});

it('two acceptors under pressure: listings and the router’s own answers all arrive', async () => {
  // Made once: the test must be faster than the router.
  const page = encodeDelimited(messageType('hadoop.hdfs.GetListingResponseProto'), {
    dirList: {
      partialListing: Array.from({ length: 500 }, (_, i) => fileStatus(1, 'n'.repeat(80) + i)),
      remainingEntries: 0,
    },
  });
  await using cluster = await ScriptedCluster.start({
    nameservices: { ns0: ['active'] },
    set: ['switchyard.acceptors=2', 'switchyard.workers=1'],
  });
  cluster.namenode('ns0').handler = (call) => {
    if (call.method === 'getListing') call.succeedWith(page);
    else answerPlainly(call);
  };
  const LISTING = {
    method: 'getListing',
    request: { src: '/ns0/d', startAfter: Buffer.alloc(0), needLocation: false },
  };
  const LISTINGS = 200;
  const listers = await cluster.connectMany(12);
  const askers = await cluster.connectMany(4);
  try {
    let listing = true;
    const listings = all(listers.map((client) => client.pipeline(LISTINGS, 16, () => LISTING))).finally(() => {
      listing = false;
    });
    const asking = askers.map(async (client) => {
      while (listing) await client.pipeline(100, 32, () => ({ method: 'getHAServiceState', request: {} }));
    });
    await Promise.all([listings, ...asking]);
    using fresh = await RawClient.connect(cluster.router, { user: 'alice' });
    await fresh.result({ method: 'getFileInfo', request: { src: '/ns0/y' } });
  } finally {
    disposeAll([...listers, ...askers]);
  }
});
