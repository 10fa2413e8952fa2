import { beforeAll, describe, expect, it } from 'vitest';
import type { RawReply } from '../support/raw-client.ts';
import {
  DISABLED,
  LONG_AGO_MS,
  mountOf,
  NAMESERVICES,
  type ObserverStage,
  TOO_FAR_TRANSACTIONS,
} from './observer-stage.ts';
import { decodeState, encodeState, StatefulClient, stateBytesOf } from './stateful-client.ts';
import { ENDPOINT, type Endpoint } from './support.ts';

/**
 * What routers say of state ids in the headers of their answers, byte for byte beside Hadoop's Router. Where they differ, Hadoop's is one of
 * its known defects.
 */

const ENABLED = NAMESERVICES.filter((ns) => ns !== DISABLED);
/** A client that asks for what nobody has: Hadoop's Router remembers it for all calls of its user. */
const GREEDY = 'mallory';
/** Enough for both observers to be asked. */
const GREEDY_READS = 20;

/**
 * Nameservices whose last transaction id the answer tells (`ns0-1`: of one transaction before), `absent` without the field, or the class of a
 * refusal.
 */
type Told = string;

interface Situation {
  readonly name: string;
  ask(client: StatefulClient, router: Endpoint, stage: ObserverStage): Promise<RawReply>;
  readonly user?: string;
  readonly told: Told;
  /** Right as well. */
  readonly orTold?: Told;
  /** Where Hadoop's Router does something else. */
  readonly java?: Told;
}

const status = (ns: string): { method: string; request: object } => ({
  method: 'getFileInfo',
  request: { src: mountOf(ns) },
});
const missing = { method: 'getFileInfo', request: { src: `${mountOf('ns0')}/missing` } };
const refused = { method: 'getBlockLocations', request: { src: `${mountOf('ns0')}/missing`, offset: 0, length: 1 } };
/** Changes nothing, and so has no transaction. */
const noChange = {
  method: 'mkdirs',
  request: { src: mountOf('ns0'), masked: { perm: 0o777 }, createParent: true },
};

/** One read of ns0 with this state. */
function bringing(state: Buffer): (client: StatefulClient) => Promise<RawReply> {
  return (client) => client.call({ ...status('ns0'), header: { routerFederatedState: state } });
}

/** While Hadoop's Router knows of ns0 only. */
const OF_ONE: readonly Situation[] = [
  { name: 'a first read', ask: (client) => client.call(status('ns0')), told: 'ns0' },
  {
    name: 'a second read',
    ask: async (client) => {
      await client.result(status('ns0'));
      return await client.call(status('ns0'));
    },
    told: 'ns0',
  },
  { name: 'a read of what is not there', ask: (client) => client.call(missing), told: 'ns0' },
  { name: 'a refused read', ask: (client) => client.call(refused), told: 'ns0' },
  {
    name: 'a read that an observer refuses',
    ask: async (client) => {
      await client.result(status('ns0'));
      return await client.call(refused);
    },
    told: 'ns0',
  },
  {
    // What others have just done would make the client's next read wait; it is told at the latest when a refresh period has passed.
    name: 'a read by an observer that lacks what another client has changed',
    ask: async (client, router, { cluster, user }) => {
      using other = await StatefulClient.connect([router], user);
      await client.result(status('ns0'));
      await cluster.rig.ctl({ op: 'pauseTailing', ns: 'ns0' });
      try {
        await other.result({ method: 'setTimes', request: { src: mountOf('ns0'), mtime: LONG_AGO_MS, atime: -1 } });
        return await client.call(status('ns0'));
      } finally {
        await cluster.rig.ctl({ op: 'resumeTailing', ns: 'ns0' });
      }
    },
    told: 'ns0-1',
    orTold: 'ns0',
    java: 'ns0',
  },
  { name: 'a call that could change something', ask: (client) => client.call(noChange), told: 'ns0' },
  { name: 'a state without entries', ask: bringing(Buffer.alloc(0)), told: 'ns0' },
  { name: 'a state of an unknown nameservice', ask: bringing(encodeState({ nsX: 5 })), told: 'ns0' },
  { name: 'the state id 0', ask: bringing(encodeState({ ns0: 0 })), told: 'ns0' },
  { name: 'a negative state id', ask: bringing(encodeState({ ns0: -5 })), told: 'ns0' },
  { name: 'no state id at all, as Hadoop writes it', ask: bringing(encodeState({ ns0: -(2n ** 63n) })), told: 'ns0' },
];

/** While Hadoop's Router knows of ns0 and ns1. */
const OF_TWO: readonly Situation[] = [
  {
    name: 'reads of one nameservice, then of another',
    ask: async (client) => {
      await client.result(status('ns0'));
      return await client.call(status('ns1'));
    },
    told: 'ns0,ns1',
  },
  {
    name: 'a call that could change something in one of them',
    ask: async (client) => {
      await client.result(status('ns1'));
      return await client.call(noChange);
    },
    told: 'ns0,ns1',
  },
  {
    // Clients lower nothing: more than was asked for only costs bytes.
    name: 'a read by a client that has asked one of them only',
    ask: (client) => client.call(status('ns1')),
    told: 'ns1',
    java: 'ns0,ns1',
  },
  {
    name: 'a state that is none',
    ask: bringing(Buffer.from('ffff', 'hex')),
    told: 'ns0',
    java: 'RuntimeException',
  },
  {
    name: 'a state id that nobody has',
    ask: async (client) => {
      const known = decodeState(stateBytesOf(await client.call(status('ns0'))) ?? Buffer.alloc(0)).get('ns0') ?? 0n;
      return await bringing(encodeState({ ns0: known + BigInt(10 * TOO_FAR_TRANSACTIONS) }))(client);
    },
    user: GREEDY,
    told: 'ns0',
    java: 'RetriableException',
  },
  {
    name: 'a state id that somebody has, after one that nobody has',
    ask: async (client) => {
      let reply = await client.call(noChange);
      for (let i = 0; i < GREEDY_READS && reply.exception === ''; i++) reply = await client.call(status('ns0'));
      return reply;
    },
    user: GREEDY,
    told: 'ns0',
    java: 'RetriableException',
  },
];

/** When all nameservices have been asked: more than Hadoop's Router speaks of by default. */
const OF_ALL: readonly Situation[] = [
  { name: 'a read', ask: (client) => client.call(status('ns0')), told: 'ns0', java: 'absent' },
  {
    name: 'msync',
    ask: (client) => client.call({ method: 'msync', request: {} }),
    told: ENABLED.join(),
    java: 'absent',
  },
  {
    // As many as the configuration allows; a client keeps what it has of the others.
    name: 'reads of all nameservices one after the other',
    ask: async (client) => {
      for (const ns of NAMESERVICES.slice(1)) await client.result(status(ns));
      return await client.call(status('ns0'));
    },
    told: ENABLED.slice(0, 5).join(),
    java: 'absent',
  },
  {
    name: 'a read of a nameservice for which observer reads are off',
    ask: (client) => client.call(status(DISABLED)),
    told: '',
    java: 'absent',
  },
];

export function defineHeaderTests(stage: () => ObserverStage): void {
  let java: Endpoint;

  /** What the answer tells, after a look that every state id is the NameNode's last. */
  async function told(reply: RawReply): Promise<Told> {
    if (reply.exception !== '' && !reply.exception.endsWith('FileNotFoundException')) {
      return reply.exception.slice(reply.exception.lastIndexOf('.') + 1);
    }
    const bytes = stateBytesOf(reply);
    if (bytes === null) return 'absent';
    const last = await stage().cluster.lastTxIds();
    const entries = Array.from(decodeState(bytes), ([ns, stateId]) => {
      const ahead = stateId - BigInt(last.get(ns) ?? 0);
      return ahead === 0n ? ns : `${ns}${ahead < 0n ? '' : '+'}${ahead}`;
    });
    return entries.sort().join();
  }

  async function ask(router: Endpoint, situation: Situation): Promise<RawReply> {
    await stage().cluster.settled('ns0');
    using client = await StatefulClient.connect([router], situation.user ?? stage().user);
    return await situation.ask(client, router, stage());
  }

  function compare(situations: readonly Situation[]): void {
    it.each(situations)('$name', async (situation) => {
      const beside = await ask(java, situation);
      expect(await told(beside)).toBe(situation.java ?? situation.told);
      if (ENDPOINT !== 'switchyard') return;
      const own = await ask(stage().routers[0], situation);
      expect([situation.told, situation.orTold ?? situation.told]).toContain(await told(own));
      if (situation.java === undefined) expect(entriesOf(own)).toEqual(entriesOf(beside));
    });
  }

  describe('headers of answers', () => {
    beforeAll(async () => {
      java = await stage().javaRouterBeside();
    });

    describe('with one nameservice', () => compare(OF_ONE));

    describe('with two nameservices', () => {
      beforeAll(async () => {
        using client = await StatefulClient.connect([java], stage().user);
        await client.result(status('ns1'));
      });
      compare(OF_TWO);
    });

    describe('with seven nameservices', () => {
      beforeAll(async () => {
        using client = await StatefulClient.connect([java], stage().user);
        for (const ns of NAMESERVICES) await client.result(status(ns));
      });
      compare(OF_ALL);
    });

    it('say nothing where observer reads are off, but for those of Hadoop’s Router', async () => {
      await using router = await stage().routerWithReadsOff();
      using client = await StatefulClient.connect([router], stage().user);
      const reply = await client.call(status('ns0'));
      expect(reply.status).toBe('SUCCESS');
      expect(stateBytesOf(reply) === null).toBe(ENDPOINT === 'switchyard');
    });
  });
}

/** The bytes of each entry; their order is free. */
function entriesOf(reply: RawReply): string[] {
  const bytes = stateBytesOf(reply) ?? Buffer.alloc(0);
  const entries: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    // Tag and length; entries are short.
    const end = at + 2 + (bytes[at + 1] ?? 0);
    entries.push(bytes.subarray(at, end).toString('hex'));
    at = end;
  }
  return entries.sort();
}
