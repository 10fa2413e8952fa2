import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Acceptor } from '../../src/client/acceptor.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { CallFields, WorkerLink } from '../../src/handoff/link.ts';
import { ReplyFlag } from '../../src/handoff/link.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { Counters, createCounters, readCounters } from '../../src/shared/counters.ts';
import { encodeError, Status } from '../../src/wire/reply-head.ts';
import { ByteClient, callFrame, contextFrame, PREAMBLE, readReply } from '../support/client-bytes.ts';
import { waitUntil } from '../support/wait.ts';

/** A worker that answers a call with the last word of its connection. */

const HOST = '127.0.0.1';

interface TakenCall {
  readonly connection: number;
  readonly generation: number;
  readonly slot: number;
  readonly callId: number;
}

/** A worker of whose answers the test decides. */
class ToldWorker implements WorkerLink {
  readonly worker = 0;
  readonly calls: TakenCall[] = [];
  /** Connections that it was told the end of. */
  readonly closed: number[] = [];
  onCall: (call: TakenCall) => void = () => {};

  openClient(): void {}

  closeClient(connection: number): void {
    this.closed.push(connection);
  }

  call({ connection, generation, slot, callId }: CallFields): boolean {
    const call = { connection, generation, slot, callId };
    this.calls.push(call);
    this.onCall(call);
    return true;
  }

  flush(): void {}
  close(): void {}
}

let acceptor: Acceptor;
let worker: ToldWorker;
let counters: SharedArrayBuffer;
let client: ByteClient;

beforeEach(async () => {
  const settings = readSettings(new Configuration({ directory: null, overrides: [] }), { nameservices: [] }, {});
  counters = createCounters(1);
  const block = new ControlBlock(createControlBlock(0), 0);
  const host = { authorize: () => {}, drained: () => {}, note: () => {} };
  acceptor = new Acceptor({ ...settings, rpcHost: HOST }, block, new Counters(counters, 0), host);
  worker = new ToldWorker();
  acceptor.addWorker(0, worker);
  const listening = Promise.withResolvers<number>();
  acceptor.listen(0, listening.resolve, listening.reject);
  client = await ByteClient.connect({ host: HOST, port: await listening.promise });
  client.send(PREAMBLE, contextFrame({ user: 'alice' }));
});

afterEach(() => {
  client[Symbol.dispose]();
  acceptor.close();
});

function answer(call: TakenCall, flags: number): void {
  const { connection, generation, slot, callId } = call;
  const status = flags === ReplyFlag.CLOSE ? Status.FATAL : Status.ERROR;
  const className = 'org.apache.hadoop.ipc.RetriableException';
  const bytes = encodeError({ callId, status, detail: 4, className, message: 'Server too busy' });
  acceptor.onReply(worker, connection, generation, slot, flags, bytes, 0, bytes.length, false);
}

async function nextHeader(): Promise<object> {
  const { callId, status } = readReply(await client.nextFrame()).header;
  return { callId, status };
}

function send(...callIds: number[]): void {
  client.send(...callIds.map((callId) => callFrame({ callId })));
}

describe('a FATAL of a worker', () => {
  it('ends the connection once it has left', async () => {
    send(7);
    await waitUntil(() => worker.calls.length === 1, 'the call is at the worker');
    answer(worker.calls[0] as TakenCall, ReplyFlag.CLOSE);
    expect(await nextHeader()).toEqual({ callId: 7, status: 'FATAL' });
    await client.whole();
    expect(client.ended).toBe('FIN');
    expect(readCounters(counters)).toMatchObject({ clientsDisconnected: 1, repliesWritten: 1 });
    // A client that stays is not waited for.
    await waitUntil(() => acceptor.openConnections === 0, 'the connection is gone');
    expect(worker.closed).toEqual([0]);
  });

  it('does so from within the hand-over too, where the inline link answers', async () => {
    worker.onCall = (call) => answer(call, ReplyFlag.CLOSE);
    send(7, 8, 9);
    expect(await nextHeader()).toEqual({ callId: 7, status: 'FATAL' });
    await client.whole();
    expect(worker.calls.length).toBe(1);
    expect(acceptor.outstanding.count).toBe(0);
  });

  it('comes first; what is in flight is answered behind it, what comes later is not read', async () => {
    send(0, 1, 2);
    await waitUntil(() => worker.calls.length === 3, 'the calls are at the worker');
    const [first, second, third] = worker.calls as [TakenCall, TakenCall, TakenCall];
    answer(second, ReplyFlag.CLOSE);
    expect(await nextHeader()).toEqual({ callId: 1, status: 'FATAL' });
    send(3);
    const read = client.socket.bytesWritten;
    await waitUntil(() => bytesReadOf(first.connection) === read, 'the later call has arrived');
    answer(first, 0);
    expect(await nextHeader()).toEqual({ callId: 0, status: 'ERROR' });
    expect(client.ended).toBe('');
    answer(third, 0);
    expect(await nextHeader()).toEqual({ callId: 2, status: 'ERROR' });
    await client.whole();
    expect(worker.calls.length).toBe(3);
    expect(readCounters(counters)).toMatchObject({ callsRead: 3, repliesWritten: 3 });
  });

  it('lets the worker know when the client goes, as Java clients do, with calls in flight', async () => {
    send(0, 1);
    await waitUntil(() => worker.calls.length === 2, 'the calls are at the worker');
    const [first, second] = worker.calls as [TakenCall, TakenCall];
    answer(first, ReplyFlag.CLOSE);
    expect(await nextHeader()).toEqual({ callId: 0, status: 'FATAL' });
    client.socket.end();
    await waitUntil(() => worker.closed.length === 1, 'the worker is told');
    answer(second, 0);
    expect(await nextHeader()).toEqual({ callId: 1, status: 'ERROR' });
    await waitUntil(() => acceptor.openConnections === 0, 'the connection is gone');
    expect(acceptor.outstanding.count).toBe(0);
  });

  it('of several calls counts once, and the death of the worker ends the rest', async () => {
    send(0, 1, 2);
    await waitUntil(() => worker.calls.length === 3, 'the calls are at the worker');
    const [first, second] = worker.calls as [TakenCall, TakenCall, TakenCall];
    answer(first, ReplyFlag.CLOSE);
    answer(second, ReplyFlag.CLOSE);
    acceptor.onWorkerDown(0);
    const answered = [await nextHeader(), await nextHeader(), await nextHeader()];
    expect(answered).toEqual([
      { callId: 0, status: 'FATAL' },
      { callId: 1, status: 'FATAL' },
      { callId: 2, status: 'ERROR' },
    ]);
    await client.whole();
    expect(readCounters(counters).clientsDisconnected).toBe(1);
  });
});

function bytesReadOf(connection: number): number {
  return acceptor.connectionOf(connection)?.socket.bytesRead ?? 0;
}
