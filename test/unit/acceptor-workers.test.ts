import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Acceptor } from '../../src/client/acceptor.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { ClientIdentity, WorkerLink } from '../../src/handoff/link.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { Counters, createCounters, readCounters } from '../../src/shared/counters.ts';
import { ByteClient, contextFrame, PREAMBLE } from '../support/client-bytes.ts';

/** An acceptor whose workers come later, or not in their order. */

const HOST = '127.0.0.1';
const IDENTITY: ClientIdentity = { user: 'alice', realUser: '', address: HOST, port: 1 };

let acceptor: Acceptor;
let counters: SharedArrayBuffer;
let notes: string[];

beforeEach(() => {
  const settings = readSettings(new Configuration({ directory: null, overrides: [] }), { nameservices: [] }, {});
  counters = createCounters(1);
  notes = [];
  acceptor = new Acceptor(
    { ...settings, rpcHost: HOST },
    new ControlBlock(createControlBlock(0), 0),
    new Counters(counters, 0),
    { authorize: () => {}, drained: () => {}, note: (text) => notes.push(text) },
  );
});

afterEach(() => acceptor.close());

function linkTo(worker: number): WorkerLink {
  return {
    worker,
    openClient: () => {},
    closeClient: () => {},
    call: () => true,
    flush: () => {},
    close: () => {},
  };
}

describe('without a worker', () => {
  it('none is chosen', () => {
    expect(acceptor.chooseWorker(IDENTITY)).toBe(null);
  });

  it('a client is closed, and the acceptor goes on', async () => {
    const listening = Promise.withResolvers<number>();
    acceptor.listen(0, listening.resolve, listening.reject);
    const port = await listening.promise;
    for (let i = 1; i <= 2; i++) {
      using client = await ByteClient.connect({ host: HOST, port });
      client.send(PREAMBLE, contextFrame({ user: 'alice' }));
      expect((await client.whole()).length).toBe(0);
      expect(readCounters(counters).clientsRefused).toBe(i);
    }
    expect(notes[0]).toContain('there is no worker yet');
  });
});

describe('with the second of two workers alone', () => {
  it('that one is chosen', () => {
    const link = linkTo(1);
    acceptor.addWorker(1, link);
    expect(acceptor.chooseWorker(IDENTITY)).toBe(link);
  });

  it('the death of the first is nothing to it', () => {
    acceptor.addWorker(1, linkTo(1));
    acceptor.onWorkerDown(0);
    expect(acceptor.chooseWorker(IDENTITY)?.worker).toBe(1);
  });
});
