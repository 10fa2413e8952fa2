import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RawClient, RawReply } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import {
  answerPlainly,
  IO,
  type NameNodeCall,
  RETRIABLE,
  type ScriptedNameNode,
  STANDBY,
} from '../support/scripted-namenode.ts';

/** One user's clients share a NameNode connection: what a NameNode does to the call of one must not be felt by the others. */

const INNOCENTS = 63;
const POISON = '/ns0/poison';
const POISONED_CALLS = 5;

let cluster: ScriptedCluster;
let namenode: ScriptedNameNode;
let spare: ScriptedNameNode;
let innocents: RawClient[];
let poisoner: RawClient;

beforeAll(async () => {
  cluster = await ScriptedCluster.start({
    nameservices: { ns0: ['active', 'standby'], deadly: ['active', 'active', 'active'] },
  });
  namenode = cluster.namenode('ns0');
  spare = cluster.namenode('ns0', 1);
  innocents = await cluster.connectMany(INNOCENTS);
  poisoner = await cluster.connect();
});

afterAll(async () => {
  disposeAll([...innocents, poisoner]);
  await cluster[Symbol.asyncDispose]();
});

beforeEach(() => {
  namenode.calls.length = 0;
  spare.calls.length = 0;
});

/** A read, a call that may be repeated, and one that only its ids make repeatable. */
function innocentCall(index: number): { method: string; request: object } {
  const src = `/ns0/innocent-${index}`;
  if (index % 3 === 0) return { method: 'getFileInfo', request: { src } };
  if (index % 3 === 1) return { method: 'mkdirs', request: { src, masked: { perm: 0o755 }, createParent: true } };
  return { method: 'delete', request: { src, recursive: false } };
}

function askPoison(): Promise<RawReply> {
  return poisoner.call({ method: 'getFileInfo', request: { src: POISON } });
}

function expectSuccess(replies: readonly RawReply[]): void {
  for (const reply of replies) expect([reply.status, reply.exception, reply.message]).toEqual(['SUCCESS', '', '']);
}

/**
 * Lets the 63 calls and the poisoned one be in flight at once, and `treat` the last; when the others come again, `again` says what becomes
 * of them.
 */
async function inFlightTogether(
  treat: (poisoned: NameNodeCall) => void,
  again: (call: NameNodeCall) => void = answerPlainly,
): Promise<[RawReply[], RawReply]> {
  let last: NameNodeCall | null = null;
  namenode.handler = (call) => {
    if (call.path === POISON) last = call;
    if (last === null || namenode.calls.length <= INNOCENTS) return;
    namenode.handler = (other) => (other.path === POISON ? treat(other) : again(other));
    treat(last);
  };
  const others = innocents.map((client, i) => client.call(innocentCall(i)));
  const poisoned = askPoison();
  return [await all(others), await poisoned];
}

describe('a call on which the NameNode closes the connection', () => {
  it.each(['ends the stream', 'resets the connection'] as const)(
    'is the only one to fail among those in flight: the NameNode %s',
    async (end) => {
      const [replies, poisoned] = await inFlightTogether((call) =>
        end === 'ends the stream' ? call.close() : call.reset(),
      );
      expectSuccess(replies);
      expect([poisoned.status, poisoned.exception]).toEqual(['ERROR', IO]);
      expect(poisoned.message).toContain('that carried getFileInfo alone ended without an answer');

      // Each was sent again once, alone on a connection, under the ids of the first time.
      for (let i = 0; i < INNOCENTS; i++) {
        const sent = namenode.callsOf({ path: `/ns0/innocent-${i}` });
        expect(sent).toHaveLength(2);
        const [first, again] = sent as [NameNodeCall, NameNodeCall];
        expect(again.connection).not.toBe(first.connection);
        expect(again.besides).toBe(0);
        expect([again.callId, again.clientId]).toEqual([first.callId, first.clientId]);
        expect(first.clientId).toEqual((innocents[i] as RawClient).clientId);
      }
      expect(namenode.callsOf({ path: POISON })).toHaveLength(2);
      expect(namenode.callsOf({ path: POISON })[1]?.besides).toBe(0);
      expect(spare.calls).toHaveLength(0);
    },
  );

  it('sent over and over does not disturb 63 clients that work', async () => {
    namenode.handler = (call) => {
      if (call.path === POISON) call.reset();
      // Later than it came, so that there is always somebody to be hit.
      else setTimeout(() => call.peer.open && answerPlainly(call), 2);
    };
    let poisoning = true;
    let served = 0;
    const work = innocents.map(async (client, i) => {
      while (poisoning) {
        expectSuccess([await client.call(innocentCall(i))]);
        served++;
      }
    });
    const replies: RawReply[] = [];
    for (let n = 0; n < POISONED_CALLS; n++) {
      const before = served;
      replies.push(await askPoison());
      await namenode.until(() => served > before, 'the others go on');
    }
    poisoning = false;
    await all(work);
    for (const reply of replies) expect([reply.status, reply.exception]).toEqual(['ERROR', IO]);
    expect(namenode.callsOf({ path: POISON }).length).toBeLessThanOrEqual(2 * POISONED_CALLS);
    for (let i = 0; i < INNOCENTS; i++) {
      for (const callId of new Set(namenode.callsOf({ path: `/ns0/innocent-${i}` }).map((call) => call.callId))) {
        const again = namenode
          .callsOf({ path: `/ns0/innocent-${i}` })
          .filter((call) => call.callId === callId)
          .slice(1);
        expect(again.length).toBeLessThanOrEqual(1);
        for (const call of again) expect(call.besides).toBe(0);
      }
    }
  });

  it('leaves a slow call that was beside it, and that does not hold up the others', async () => {
    let slow: NameNodeCall | null = null;
    namenode.handler = (call) => {
      if (call.path !== POISON) return;
      namenode.handler = (again) => {
        if (again.path === '/ns0/innocent-0') slow = again;
        else if (again.path === POISON) again.reset();
        else answerPlainly(again);
      };
      call.reset();
    };
    const waiting = (innocents[0] as RawClient).call(innocentCall(0));
    await namenode.waitForCall({ path: '/ns0/innocent-0' });
    const others = innocents.slice(1).map((client, i) => client.call(innocentCall(i + 1)));
    await namenode.until(() => namenode.calls.length === INNOCENTS, 'all calls are in flight');
    const poisoned = askPoison();
    expectSuccess(await all(others));
    expect((await poisoned).exception).toBe(IO);
    answerPlainly(slow as unknown as NameNodeCall);
    expectSuccess([await waiting]);
    expect(namenode.callsOf({ path: '/ns0/innocent-0' })).toHaveLength(2);
  });

  it('is alone on a new connection: one that was idle may have ended with the one that was lost', async () => {
    using client = await cluster.connect('carla');
    for (const src of ['/ns0/first', '/ns0/second']) {
      namenode.handler = (call) => {
        if (namenode.callsOf({ path: src }).length > 1) answerPlainly(call);
        else call.reset();
      };
      expectSuccess([await client.call({ method: 'getFileInfo', request: { src } })]);
    }
    const [first, second] = ['/ns0/first', '/ns0/second'].map((path) => namenode.callsOf({ path })[1]);
    expect(first?.besides).toBe(0);
    expect(second?.besides).toBe(0);
    expect(second?.connection).not.toBe(first?.connection);
    await namenode.until(() => first?.peer.open === false, 'the idle connection is closed');
  });

  it('and that ends two NameNodes is not given to a third', async () => {
    const [first, second] = cluster.namenodes('deadly') as [ScriptedNameNode, ScriptedNameNode, ScriptedNameNode];
    const kill =
      (victim: ScriptedNameNode) =>
      (call: NameNodeCall): void => {
        if (victim.calls.length < 2) call.reset();
        else void victim.stop();
      };
    first.handler = kill(first);
    second.handler = kill(second);
    const reply = await poisoner.call({ method: 'getFileInfo', request: { src: '/deadly/poison' } });
    expect([reply.status, reply.exception]).toEqual(['ERROR', IO]);
    expect(reply.message).toContain('ended without an answer');
    expect(cluster.namenodes('deadly').map(({ calls }) => calls.length)).toEqual([2, 2, 0]);
    expectSuccess([await poisoner.call({ method: 'getFileInfo', request: { src: '/deadly/good' } })]);
  });
});

describe('a FATAL reply', () => {
  it('"Server too busy" is seen by its own call alone; the others are sent again', async () => {
    // Nobody suspects them, so they need not go alone: all of them are in flight at once again before one is answered.
    const together: NameNodeCall[] = [];
    const [replies, refused] = await inFlightTogether(
      (call) => call.fatal(RETRIABLE, 'Server too busy - disconnecting'),
      (call) => {
        if (together.push(call) === INNOCENTS) for (const each of together) answerPlainly(each);
      },
    );
    expectSuccess(replies);
    // To the client it is an error like any: its connection to the router stays.
    expect([refused.status, refused.exception, refused.message]).toEqual([
      'ERROR',
      RETRIABLE,
      'Server too busy - disconnecting',
    ]);
    expect(refused.header['errorDetail']).toBe('ERROR_RPC_SERVER');
    expect(namenode.callsOf({ path: POISON })).toHaveLength(1);
    for (let i = 0; i < INNOCENTS; i++) expect(namenode.callsOf({ path: `/ns0/innocent-${i}` })).toHaveLength(2);
    namenode.handler = answerPlainly;
    expectSuccess([await askPoison()]);
  });

  it('"disconnect and failover" sends its call on, and the others again', async () => {
    let refusals = 0;
    const [replies, sentOn] = await inFlightTogether((call) => {
      if (refusals++ > 0) answerPlainly(call);
      else call.fatal(STANDBY, 'Server too busy - disconnect and failover');
    });
    // The spare NameNode is standby: in the end the first one has served all of them.
    expectSuccess([...replies, sentOn]);
    expect(refusals).toBe(2);
    expect(spare.callsOf({ path: POISON }).length).toBeGreaterThan(0);
    for (let i = 0; i < INNOCENTS; i++) expect(namenode.callsOf({ path: `/ns0/innocent-${i}` })).toHaveLength(2);
  });

  it('after which the NameNode does not close frees the others all the same', async () => {
    const [replies, refused] = await inFlightTogether((call) => call.fatalAndStay(RETRIABLE, 'Server too busy'));
    expectSuccess(replies);
    expect(refused.exception).toBe(RETRIABLE);
    for (let i = 0; i < INNOCENTS; i++) expect(namenode.callsOf({ path: `/ns0/innocent-${i}` })).toHaveLength(2);
  });

  it('to a call that has its answer already is no answer to the others', async () => {
    namenode.handler = (call) => {
      if (call.path !== POISON) return;
      answerPlainly(call);
      call.fatal(RETRIABLE, 'said too late');
    };
    const others = innocents.map((client, i) => client.call(innocentCall(i)));
    await namenode.until(() => namenode.calls.length === INNOCENTS, 'all calls are in flight');
    const answered = askPoison();
    await namenode.waitForCall({ path: POISON });
    namenode.handler = answerPlainly;
    expectSuccess([await answered, ...(await all(others))]);
  });

  it('that refuses the connection itself is the answer to all that would have used it', async () => {
    // A NameNode refuses a connection context so: with the context's call id, to no call.
    const className = 'org.apache.hadoop.security.authorize.AuthorizationException';
    namenode.handler = (call) =>
      call.fatal(className, 'User bob is not welcome', 'FATAL_UNAUTHORIZED', REFUSED_CONTEXT);
    const clients = await cluster.connectMany(3, 'bob');
    const replies = await all(clients.map((client, i) => client.call(innocentCall(i))));
    for (const reply of replies) {
      expect([reply.status, reply.exception, reply.message]).toEqual(['ERROR', className, 'User bob is not welcome']);
    }
    namenode.handler = answerPlainly;
    expectSuccess(await all(clients.map((client, i) => client.call(innocentCall(i)))));
    disposeAll(clients);
  });
});

const REFUSED_CONTEXT = { callId: -3, retryCount: -1 } as const;
