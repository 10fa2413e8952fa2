import { once } from 'node:events';
import net from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stopAll } from '../harness/children.ts';
import { bytesField, delimited, FrameReader, framed, numberField, PREAMBLE_BYTES } from '../harness/frames.ts';
import { RequestFields, readRequest } from '../harness/namenode-replies.ts';
import { type RunningStub, startStub } from '../harness/running-stub.ts';
import { Caller, type CallerOptions, getFileInfo, getListing, LOST } from './caller.ts';

let stub: RunningStub;

beforeAll(async () => {
  stub = await startStub(undefined, process.env);
});

afterAll(stopAll);

function options(port: number, others: Partial<CallerOptions> = {}): CallerOptions {
  return {
    port,
    kinds: [getFileInfo('/a'), getListing('/b')],
    connections: 3,
    users: ['alice', 'bob'],
    ratePerSecond: 1_000,
    inFlight: 100,
    ...others,
  };
}

/** Waits until the caller has had so many answers. */
function answers(count: number): { readonly seen: Promise<void>; readonly onAnswer: () => void } {
  const seen = Promise.withResolvers<void>();
  let left = count;
  return { seen: seen.promise, onAnswer: () => void (--left === 0 && seen.resolve()) };
}

/** A server that says something about each call. */
async function serve(reply: (callId: number, socket: net.Socket) => void): Promise<net.Server & AsyncDisposable> {
  const fields = new RequestFields();
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    const reader = new FrameReader(PREAMBLE_BYTES, (buffer, start, end) => {
      readRequest(buffer, start, end, fields);
      if (fields.callId >= 0) reply(fields.callId, socket);
    });
    socket.on('data', (chunk: Buffer) => reader.feed(chunk, chunk.length));
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return Object.assign(server, { [Symbol.asyncDispose]: close });
}

function portOf(server: net.Server): number {
  return (server.address() as net.AddressInfo).port;
}

function refusal(callId: number): Buffer {
  return framed(
    delimited(
      Buffer.concat([
        numberField(1, callId),
        numberField(2, 1),
        bytesField(4, 'org.apache.hadoop.ipc.StandbyException'),
        bytesField(5, 'busy\n\tat somewhere'),
      ]),
    ),
  );
}

it('counts every call that was answered', async () => {
  const { seen, onAnswer } = answers(50);
  await stub.takeStats();
  const caller = await new Caller(options(stub.port, { onAnswer })).start();
  await seen;
  const tally = await caller.stop(5_000);
  expect(tally).toMatchObject({ refused: {}, lost: 0, unanswered: 0, twice: 0, unsent: 0 });
  expect(tally.succeeded).toBe(tally.asked);
  expect(tally.successP50Ms).toBeGreaterThan(0);
  expect(tally.successMaxMs).toBeGreaterThanOrEqual(tally.successP50Ms);
  const { calls, connections } = await stub.takeStats();
  // Half of the calls, on all connections.
  expect(Math.abs(calls * 2 - tally.asked)).toBeLessThanOrEqual(3);
  expect(connections).toBe(3);
});

it('counts refusals by class, with the first line of what they say', async () => {
  await using server = await serve((callId, socket) => socket.write(refusal(callId)));
  const { seen, onAnswer } = answers(10);
  const caller = await new Caller(options(portOf(server), { onAnswer })).start();
  await seen;
  const tally = await caller.stop(5_000);
  const className = 'org.apache.hadoop.ipc.StandbyException';
  expect(tally.refused).toEqual({ [className]: tally.asked });
  expect(tally.messages).toEqual({ [className]: 'busy' });
  expect(tally.succeeded).toBe(0);
});

it('notices a second answer to the same call', async () => {
  await using server = await serve((callId, socket) => socket.write(Buffer.concat([refusal(callId), refusal(callId)])));
  const { seen, onAnswer } = answers(10);
  const caller = await new Caller(options(portOf(server), { connections: 1, onAnswer })).start();
  await seen;
  const { asked, twice } = await caller.stop(5_000);
  expect(twice).toBeGreaterThanOrEqual(9);
  expect(twice).toBeLessThanOrEqual(asked);
});

it('counts calls whose connection is gone, and opens it again', async () => {
  let lost = 0;
  const two = Promise.withResolvers<void>();
  await using server = await serve((_, socket) => socket.destroy());
  const onAnswer: CallerOptions['onAnswer'] = (_kind, _sentAtMs, error) => {
    if (error === LOST && ++lost >= 2) two.resolve();
  };
  const caller = await new Caller(options(portOf(server), { connections: 1, inFlight: 1, onAnswer })).start();
  await two.promise;
  const tally = await caller.stop(5_000);
  expect(tally.lost).toBe(lost);
  expect(tally.asked).toBe(lost);
  expect(tally.unsent).toBeGreaterThan(0);
});

it('makes no more calls than may be in flight, and says which were never answered', async () => {
  const six = Promise.withResolvers<void>();
  let asked = 0;
  await using server = await serve(() => {
    if (++asked === 6) six.resolve();
  });
  const caller = await new Caller(options(portOf(server), { inFlight: 2 })).start();
  await six.promise;
  expect(caller.outstanding).toBe(6);
  expect(await caller.stop(0)).toMatchObject({ asked: 6, unanswered: 6, succeeded: 0, lost: 0 });
});
