import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startFromOptions } from '../../src/commands/start.ts';
import { printTable } from '../harness/table.ts';
import type { RunningPeer } from './peers.ts';
import {
  flatten,
  moreStages,
  mostOfEach,
  printCounts,
  printStages,
  readQueues,
  readState,
  sumCounts,
} from './state.ts';

async function serve(answer: RequestListener): Promise<Server & AsyncDisposable> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return Object.assign(server, { [Symbol.asyncDispose]: close });
}

function peerAt(server: Server): RunningPeer {
  return {
    peer: 'ring',
    port: 0,
    http: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    child: undefined,
  };
}

it('finds every number of an answer by its place', () => {
  const answer = {
    rings: [{ fill: 3 }, { fill: 0 }],
    nameservices: [{ nameservice: 'ns0', queued: 7, lanes: { reads: 2 }, state: 'open' }],
    isDraining: false,
  };
  expect(flatten(answer)).toEqual({
    'rings.0.fill': 3,
    'rings.1.fill': 0,
    'nameservices.ns0.queued': 7,
    'nameservices.ns0.lanes.reads': 2,
  });
});

it('asks the router', async () => {
  const asked: string[] = [];
  let status = 200;
  await using server = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.statusCode = status;
    response.setHeader('content-type', 'application/json').end('{"rings":{"calls":5}}');
  });
  const peer = peerAt(server);
  expect(await readQueues(peer)).toEqual({ 'rings.calls': 5 });
  expect(asked).toEqual(['/api/v1/queues']);
  expect(await readQueues({ ...peer, http: '' })).toEqual({});
  status = 500;
  await expect(readQueues(peer)).rejects.toThrow('ring: /api/v1/queues answers with 500');
});

/** Of the router itself: the names in its answer are those that are looked for. */
it('tells what stands in the stages of a router from what was refused', async () => {
  const router = await startFromOptions({
    configDir: null,
    mounts: ['/data=ns0:/'],
    rpc: '127.0.0.1:0',
    acceptors: 1,
    workers: 1,
    set: [
      'dfs.nameservices=ns0',
      // Nothing listens there: no call is made.
      'dfs.namenode.rpc-address.ns0=127.0.0.1:1',
      'dfs.federation.router.http-address=127.0.0.1:0',
      'dfs.federation.router.monitor.localnamenode.enable=false',
    ],
    log: pino({ level: 'silent' }),
  });
  onTestFinished(async () => void (await router.drain()));
  const child = { pid: process.pid } as RunningPeer['child'];
  const { stages, counts, rssBytes } = await readState({ peer: 'ring', port: 0, http: `http://${router.http}`, child });
  expect(rssBytes).toBeGreaterThan(0);
  expect(Object.keys(stages).toSorted()).toEqual([
    'clients.callsOutstanding',
    'clients.open',
    'clients.paused',
    'clients.unreadKib',
    'nameservices.ns0.inFlight',
    'nameservices.ns0.waiting',
    'nameservices.ns0.window',
    'rings.calls',
    'rings.replies',
  ]);
  expect(counts).toMatchObject({ 'clients.closed.slowReader': 0, 'nameservices.ns0.refused.full': 0 });
});

it('compares stages', () => {
  expect(mostOfEach([{ a: 1, b: 5 }, { a: 3 }])).toEqual({ a: 3, b: 5 });
  expect(moreStages({ a: 1, b: 5 }, { a: 3, b: 5, c: 1, d: 0, 'x.window': 64 })).toEqual({ a: 2, c: 1 });
});

it('sums what was refused', () => {
  const leg = (before: number, after: number) => ({
    before: { rssBytes: 0, sockets: 0, stages: {}, counts: { full: before, late: 1 } },
    after: { rssBytes: 0, sockets: 0, stages: {}, counts: { full: after, late: 1 } },
  });
  const sums = sumCounts([leg(1, 3), leg(5, 9)]);
  expect(sums).toEqual({ full: 6 });
  expect(printCounts('storm, ring', sums)).toEqual(['- storm, ring, as the router tells: full 6']);
  expect(printCounts('storm, ring', {})).toEqual([]);
});

it('prints the stages that held something', () => {
  const runs = [{ name: 'hung, ring', fullest: { queued: 9, open: 4, ring: 0, 'ns0.window': 64 }, left: { open: 1 } }];
  const [table = ''] = printStages(printTable, runs);
  expect(table).toContain('How full the stages of the router were');
  expect(table).toMatch(/hung, ring +queued +9 +0$/m);
  expect(table).toMatch(/hung, ring +open +4 +1$/m);
  expect(table).toMatch(/hung, ring +ns0\.window +64$/m);
  expect(table).not.toMatch(/ ring +0/);
  expect(printStages(printTable, [{ name: 'x', fullest: {}, left: {} }])).toEqual([]);
});
