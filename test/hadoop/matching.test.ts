import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { encodeDelimited, messageType, type Plain } from '../../src/wire/messages.ts';
import type { RawReply } from '../support/raw-client.ts';
import { decodeResponse, RawClient } from '../support/raw-client.ts';
import { waitUntil } from '../support/wait.ts';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, startEndpoint } from './support.ts';

/**
 * Many clients of one user share few NameNode connections, and their ids collide: every answer has to reach its caller all the same,
 * also those that a NameNode builds while it reads a request, which carry no client id at all.
 */

const CLIENTS = 64;
const ROUNDS = 20;
const MOUNT = '/data0';
const USER = 'alice';
/** The clients' user must stay a small one among the NameNode's callers: FairCallQueue disconnects the largest instead of refusing calls. */
const CALLS_OF_ANOTHER_USER = 4_000;
const REPLY_WITHIN_MS = 120_000;
const REFUSAL_WITHIN_MS = 30_000;
const REFUSALS = ['org.apache.hadoop.ipc.RetriableException', 'org.apache.hadoop.ipc.StandbyException'];

function modeOf(index: number): number {
  return 0o400 + index;
}

/** Directory i has a permission of its own, by which its answer is known. */
async function makeDirectories(endpoint: Endpoint, user: string): Promise<void> {
  using client = await RawClient.connect(endpoint, { user });
  for (let i = 0; i < CLIENTS; i++) {
    const src = `${MOUNT}/dir-${i}`;
    await client.result({ method: 'mkdirs', request: { src, masked: { perm: 0o755 }, createParent: true } });
    await client.result({ method: 'setPermission', request: { src, permission: { perm: modeOf(i) } } });
  }
}

/** One client for each directory; `ids` says whether they share an id. */
class Lockstep implements Disposable {
  readonly clients: readonly RawClient[];
  #callId = 0;

  private constructor(clients: readonly RawClient[]) {
    this.clients = clients;
  }

  static async connect(endpoint: Endpoint, user: string, ids: 'own' | 'equal' | 'empty'): Promise<Lockstep> {
    const shared = ids === 'empty' ? Buffer.alloc(0) : randomBytes(16);
    const clients: RawClient[] = [];
    for (let i = 0; i < CLIENTS; i++) {
      clients.push(await RawClient.connect(endpoint, ids === 'own' ? { user } : { user, clientId: shared }));
    }
    return new Lockstep(clients);
  }

  /** All ask at once under one call id; each takes its one reply. Checks ids and, of a success, that it is the client's own. */
  async ask(): Promise<RawReply[]> {
    const callId = this.#callId++;
    return await Promise.all(
      this.clients.map(async (client, i) => {
        client.send({ method: 'getFileInfo', callId, retryCount: i % 3, request: { src: `${MOUNT}/dir-${i}` } });
        const reply = await client.receive(REPLY_WITHIN_MS);
        expect(reply.callId).toBe(callId);
        expect(reply.retryCount).toBe(i % 3);
        expect(reply.clientId.equals(client.clientId) || reply.clientId.length === 0).toBe(true);
        if (reply.status === 'SUCCESS') {
          const status = decodeResponse('getFileInfo', reply.body)['fs'] as Plain;
          expect((status['permission'] as Plain)['perm']).toBe(modeOf(i));
        }
        return reply;
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client[Symbol.dispose]();
  }
}

function count(replies: readonly RawReply[]): { ok: number; refused: number; other: string[] } {
  const failed = replies.filter((reply) => reply.status !== 'SUCCESS');
  const other = failed.filter((reply) => !REFUSALS.includes(reply.exception));
  return {
    ok: replies.length - failed.length,
    refused: failed.length - other.length,
    other: other.map((reply) => `${reply.exception}: ${reply.message}`),
  };
}

/** A frame: 4 bytes of length, then the parts. */
function frame(...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

function rpcHeader(fields: object): Buffer {
  return encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId: 7,
    clientId: Buffer.alloc(16, 1),
    retryCount: 0,
    ...fields,
  });
}

const METHOD = encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
  methodName: 'getFileInfo',
  declaringClassProtocolName: 'org.apache.hadoop.hdfs.protocol.ClientProtocol',
  clientProtocolVersion: 1,
});
const REQUEST = encodeDelimited(messageType('hadoop.hdfs.GetFileInfoRequestProto'), { src: MOUNT });

const POISONS = [
  { what: 'a header that is none', bytes: frame(Buffer.from('ffffffffffffffffffff', 'hex')) },
  { what: 'an empty frame', bytes: frame() },
  { what: 'a frame longer than any server takes', bytes: Buffer.from('7fffffff00', 'hex') },
  { what: 'a negative length', bytes: Buffer.from('ffffff0000', 'hex') },
  { what: 'another kind of RPC', bytes: frame(rpcHeader({ rpcKind: 'RPC_WRITABLE' }), METHOD, REQUEST) },
  { what: 'no kind of RPC', bytes: frame(rpcHeader({ rpcKind: undefined }), METHOD, REQUEST) },
  { what: 'another operation', bytes: frame(rpcHeader({ rpcOp: 'RPC_CONTINUATION_PACKET' }), METHOD, REQUEST) },
  { what: 'a request to close the connection', bytes: frame(rpcHeader({ rpcOp: 'RPC_CLOSE_CONNECTION' })) },
  { what: 'a negative call id', bytes: frame(rpcHeader({ callId: -9 }), METHOD, REQUEST) },
  { what: 'a SASL message', bytes: frame(rpcHeader({ callId: -33 }), Buffer.from('020801', 'hex')) },
  { what: 'a second connection context', bytes: frame(rpcHeader({ callId: -3 }), Buffer.from('00', 'hex')) },
  { what: 'a header without a request', bytes: frame(rpcHeader({})) },
  { what: 'a request that is cut', bytes: frame(rpcHeader({}), METHOD, REQUEST.subarray(0, 3)) },
];

describe('answers of a NameNode that is well', () => {
  let rig: Rig;
  let endpoint: Endpoint;

  beforeAll(async () => {
    rig = await Rig.start({ mounts: [`${MOUNT}=ns0:${MOUNT}`] });
    await rig.makeTargets([`ns0:${MOUNT}`]);
    endpoint = await startEndpoint(rig);
    await makeDirectories(endpoint, rig.up.user);
  });

  afterAll(async () => {
    await endpoint?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  it.each(['own', 'equal', 'empty'] as const)(
    '64 clients in lockstep on equal call ids, %s client ids',
    async (ids) => {
      using lockstep = await Lockstep.connect(endpoint, USER, ids);
      for (let round = 0; round < ROUNDS; round++) {
        expect(count(await lockstep.ask())).toEqual({ ok: CLIENTS, refused: 0, other: [] });
      }
    },
  );

  // What a NameNode answers by closing the connection must not reach the one that the others share.
  it.each(POISONS)('63 clients beside one of the same user that sends $what', async ({ bytes }) => {
    using lockstep = await Lockstep.connect(endpoint, USER, 'own');
    for (let round = 0; round < 5; round++) {
      using poisoner = await RawClient.connect(endpoint, { user: USER });
      await poisoner.result({ method: 'getFileInfo', request: { src: MOUNT } });
      poisoner.sendBytes(bytes);
      expect(count(await lockstep.ask())).toEqual({ ok: CLIENTS, refused: 0, other: [] });
    }
  });
});

/** Refusals built while a request is read; they carry an empty client id, so that only the retry count tells whose they are. */
describe.each([
  {
    queue: 'FairCallQueue (an error for each call)',
    disconnects: false,
    conf: {
      'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
      'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
    },
  },
  { queue: 'a plain queue (the connection is closed)', disconnects: true, conf: {} },
])('a call queue that overflows: $queue', ({ disconnects, conf }) => {
  let rig: Rig;
  let endpoint: Endpoint;

  beforeAll(async () => {
    rig = await Rig.start({
      mounts: [`${MOUNT}=ns0:${MOUNT}`],
      // Few places for calls, so that a NameNode that is held up refuses most of the clients.
      conf: {
        ...conf,
        'ipc.backoff.enable': 'true',
        'dfs.namenode.handler.count': '2',
        'ipc.server.handler.queue.size': '8',
      },
    });
    await rig.makeTargets([`ns0:${MOUNT}`]);
    endpoint = await startEndpoint(rig);
    await makeDirectories(endpoint, rig.up.user);
  });

  afterAll(async () => {
    await endpoint?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  afterEach(async () => {
    await rig.ctl({ op: 'resume', ns: 'ns0', nn: 'nn0', mode: 'lock' }).catch(() => {});
  });

  it.each(['own', 'equal', 'empty'] as const)('%s client ids', async (ids) => {
    using lockstep = await Lockstep.connect(endpoint, USER, ids);
    await lockstep.ask();
    await callMuch(rig);
    const before = await readRefusals(rig);
    await rig.ctl({ op: 'hang', ns: 'ns0', nn: 'nn0', mode: 'lock' });
    const asked = lockstep.ask();
    asked.catch(() => {});
    // The refusals come while the lock is held; the calls that found a place are answered afterwards.
    const kept = ({ all, disconnected }: typeof before): number => all - disconnected;
    await waitUntil(
      async () => {
        const now = await readRefusals(rig);
        return disconnects ? now.disconnected > before.disconnected : kept(now) > kept(before);
      },
      'a refusal of the NameNode',
      REFUSAL_WITHIN_MS,
    );
    await rig.ctl({ op: 'resume', ns: 'ns0', nn: 'nn0', mode: 'lock' });
    const outcome = count(await asked);
    expect(outcome.other).toEqual([]);
    expect(outcome.ok + outcome.refused).toBe(CLIENTS);
    expect(outcome.ok).toBeGreaterThan(0);
    // Afterwards nothing is left over: no late reply is taken for that of the next call.
    for (let round = 0; round < 3; round++) {
      const { other } = count(await lockstep.ask());
      expect(other).toEqual([]);
    }
  });
});

async function callMuch(rig: Rig): Promise<void> {
  const [host = '', port] = (await rig.active('ns0')).rpc.split(':');
  using client = await RawClient.connect({ host, port: Number(port) }, { user: 'bulk' });
  await client.pipeline(CALLS_OF_ANOTHER_USER, 2, () => ({ method: 'getFileInfo', request: { src: '/' } }));
}

/** Calls that the NameNode refused since it started, and those of them for which it closed the connection. */
async function readRefusals(rig: Rig): Promise<{ all: number; disconnected: number }> {
  const metrics = (await rig.ctl({ op: 'metrics', ns: 'ns0', nn: 'nn0' })) as { rpc: Record<string, number> };
  const all = metrics.rpc['rpcClientBackoff'] ?? 0;
  return { all, disconnected: metrics.rpc['rpcClientBackoffDisconnected'] ?? 0 };
}

describe.skipIf(ENDPOINT === 'namenode')('an active that turns into an observer', () => {
  let rig: Rig;
  let endpoint: Endpoint;

  beforeAll(async () => {
    rig = await Rig.start({ mounts: [`${MOUNT}=ns0:${MOUNT}`], observers: 0 });
    await rig.makeTargets([`ns0:${MOUNT}`]);
    endpoint = await startEndpoint(rig);
    await makeDirectories(endpoint, rig.up.user);
  });

  afterAll(async () => {
    await endpoint?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  // An observer refuses a call without a state id while it reads it, also with an empty client id.
  it.each(['own', 'equal', 'empty'] as const)('refuses while it reads; %s client ids', async (ids) => {
    using lockstep = await Lockstep.connect(endpoint, USER, ids);
    const active = (await rig.active('ns0')).nn;
    const other = active === 'nn0' ? 'nn1' : 'nn0';
    await lockstep.ask();
    await rig.ctl({ op: 'transition', ns: 'ns0', nn: active, to: 'observer' });
    const asked = lockstep.ask();
    asked.catch(() => {});
    await rig.ctl({ op: 'transition', ns: 'ns0', nn: other, to: 'active' });
    const outcome = count(await asked);
    expect(outcome.other).toEqual([]);
    if (ENDPOINT === 'switchyard') expect(outcome.refused).toBe(0);
    expect(count(await lockstep.ask()).other).toEqual([]);
    await rig.ctl({ op: 'transition', ns: 'ns0', nn: active, to: 'standby' });
  });
});
