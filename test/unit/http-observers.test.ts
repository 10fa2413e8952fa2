import { expect, it } from 'vitest';
import { viewObservers } from '../../src/http/api/view-observers.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { observedNs0 } from '../support/observed.ts';

it('shows what is known of nameservices that take part in reads from observers', () => {
  const [ns0, ...others] = observedNs0();
  expect(others).toEqual([]);
  expect(ns0).toMatchObject({ nameservice: 'ns0', txid: 1000, epoch: 1 });
  expect(ns0?.provedMs).toBeGreaterThanOrEqual(0);
  expect(ns0?.namenodes).toEqual([
    {
      id: 'nn0',
      rpcAddress: '127.0.0.1:8020',
      state: 'ACTIVE',
      lastTxid: -1,
      behind: -1,
      requeued: -1,
      queueMs: -1,
      leftAlone: false,
    },
    {
      id: 'nn1',
      rpcAddress: '127.0.0.1:8021',
      state: 'OBSERVER',
      lastTxid: 988,
      behind: 12,
      requeued: 7,
      queueMs: 1.5,
      leftAlone: true,
    },
  ]);
  expect(ns0?.figures).toMatchObject({ observerReads: 7, activeReads: 0 });
});

it('shows nothing where observers take no part', () => {
  const settings = { enabled: [false], maxStateIds: 5, refreshMs: 15_000, patienceMs: 2_000 };
  const block = new ControlBlock(createControlBlock(1), 1);
  const topology = { nameservices: [{ id: 'ns0', namenodes: [] }] };
  expect(viewObservers(topology, { observers: settings }, block, { namenodes: [] }, null)).toEqual([]);
});
