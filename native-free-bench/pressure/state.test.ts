import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { printTable } from '../harness/table.ts';
import type { RunningPeer } from './peers.ts';
import { flatten, moreStages, mostOfEach, printStages, readStages } from './state.ts';

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

it('reads the stages from the router', async () => {
  const asked: string[] = [];
  await using server = await serve((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-type', 'application/json').end('{"window":{"used":5}}');
  });
  expect(await readStages(peerAt(server))).toEqual({ 'window.used': 5 });
  expect(asked).toEqual(['/api/v1/queues']);
});

it('takes a router without that page for one that does not tell, and any other answer for a mistake', async () => {
  let status = 404;
  await using server = await serve((_, response) => {
    response.statusCode = status;
    response.end();
  });
  expect(await readStages(peerAt(server))).toEqual({});
  expect(await readStages({ ...peerAt(server), http: '' })).toEqual({});
  status = 500;
  await expect(readStages(peerAt(server))).rejects.toThrow('ring: /api/v1/queues answers with 500');
});

it('compares stages', () => {
  expect(mostOfEach([{ a: 1, b: 5 }, { a: 3 }])).toEqual({ a: 3, b: 5 });
  expect(moreStages({ a: 1, b: 5 }, { a: 3, b: 5, c: 1, d: 0 })).toEqual({ a: 2, c: 1 });
});

it('prints the stages that held something', () => {
  const runs = [{ name: 'hung, ring', fullest: { queued: 9, window: 4, ring: 0 }, left: { window: 1 } }];
  const [table = ''] = printStages(printTable, runs);
  expect(table).toContain('How full the stages of the router were');
  expect(table).toMatch(/hung, ring +queued +9 +0$/m);
  expect(table).toMatch(/hung, ring +window +4 +1$/m);
  expect(table).not.toMatch(/ ring +0/);
  expect(printStages(printTable, [{ name: 'x', fullest: {}, left: {} }])).toEqual([]);
});
