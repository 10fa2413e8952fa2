import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { MAX_BLOCK_POOLS, MembershipFeed } from '../../src/control/membership/feed.ts';
import type { Report } from '../../src/control/membership/heartbeats.ts';
import { ControlBlock, createControlBlock, NameNodeState, UNKNOWN } from '../../src/shared/control-block.ts';
import type { MembershipState } from '../../src/state-store/records.ts';
import { membershipRecord } from './membership-samples.ts';

const TOPOLOGY = {
  nameservices: ['ns0', 'ns1'].map((id) => ({
    id,
    namenodes: ['nn0', 'nn1'].map((nn, i) => ({ id: nn, host: `${id}-${nn}`, port: 8020 + i })),
  })),
};

class Feeding {
  readonly block = new ControlBlock(createControlBlock(2), 2);
  readonly lines: string[] = [];
  readonly pools: [string, number][] = [];
  /** Workers prove by the clock of the system. */
  nowMs = Date.now();
  readonly feed = new MembershipFeed(
    TOPOLOGY,
    this.block,
    pino({ level: 'info' }, { write: (line: string) => this.lines.push((JSON.parse(line) as { msg: string }).msg) }),
    (pool, nameservice) => this.pools.push([pool, nameservice]),
    () => this.nowMs,
  );

  report(index: number, state: MembershipState | null, change: Partial<Report> = {}): void {
    const { id, host, port } = TOPOLOGY.nameservices[0]?.namenodes[index] ?? { id: '', host: '', port: 0 };
    const at = { host, port };
    this.feed.onReport({
      namenode: {
        nameservice: 0,
        index,
        nameserviceId: 'ns0',
        namenodeId: id,
        rpc: at,
        service: at,
        lifeline: at,
        web: at,
        webScheme: 'http',
        webAddress: `${host}:9870`,
      },
      state,
      registered: true,
      clusterId: 'CID-1',
      blockPoolId: 'BP-ns0',
      askedAtMs: this.nowMs,
      ...change,
    });
  }

  silence(index: number): void {
    this.report(index, 'UNAVAILABLE', { registered: false, blockPoolId: '', clusterId: '' });
  }

  /** As a worker does when a call was answered. */
  prove(index: number, state: number): void {
    if (state === NameNodeState.ACTIVE) this.block.setActive(0, index);
    else this.block.clearActive(0, index);
    this.block.proveState(0, index, state);
  }
}

describe('own heartbeats', () => {
  it('tell states and the active NameNode', () => {
    const f = new Feeding();
    f.report(0, 'STANDBY');
    f.report(1, 'ACTIVE');
    expect(f.block.activeOf(0)).toBe(1);
    expect([f.block.stateOf(0, 0), f.block.stateOf(0, 1)]).toEqual([NameNodeState.STANDBY, NameNodeState.ACTIVE]);
    f.report(1, 'STANDBY');
    expect(f.block.activeOf(0)).toBe(UNKNOWN);
  });

  it('do not undo what a call was answered after they had asked', () => {
    const f = new Feeding();
    f.report(0, 'ACTIVE');
    f.prove(0, NameNodeState.STANDBY);
    f.prove(1, NameNodeState.ACTIVE);
    // The clock has gone on by now.
    f.nowMs = Date.now() + 10;
    f.report(0, 'ACTIVE', { askedAtMs: f.nowMs - 5_000 });
    f.report(1, 'STANDBY', { askedAtMs: f.nowMs - 5_000 });
    expect(f.block.activeOf(0)).toBe(1);
    expect([f.block.stateOf(0, 0), f.block.stateOf(0, 1)]).toEqual([NameNodeState.STANDBY, NameNodeState.ACTIVE]);
    // What was asked afterwards counts.
    f.report(1, 'STANDBY');
    expect(f.block.activeOf(0)).toBe(UNKNOWN);
  });

  it('count although the clock was set back', () => {
    const f = new Feeding();
    f.prove(1, NameNodeState.ACTIVE);
    f.nowMs = Date.now() - 300_000;
    f.report(1, 'STANDBY');
    expect(f.block.activeOf(0)).toBe(UNKNOWN);
  });

  it('that get no answer leave the active NameNode, until another one is active', () => {
    const f = new Feeding();
    f.report(0, 'ACTIVE');
    f.silence(0);
    expect(f.block.activeOf(0)).toBe(0);
    f.silence(1);
    expect(f.block.stateOf(0, 1)).toBe(NameNodeState.UNAVAILABLE);
    f.report(1, 'ACTIVE');
    expect(f.block.activeOf(0)).toBe(1);
  });

  it('of a NameNode without a state leave it as it was', () => {
    const f = new Feeding();
    f.report(0, 'STANDBY');
    f.report(0, null);
    expect(f.block.stateOf(0, 0)).toBe(NameNodeState.STANDBY);
    expect(f.feed.blockPools).toEqual([['BP-ns0', 0]]);
  });
});

describe("other routers' reports", () => {
  it('count where this router knows nothing, or older things', () => {
    const f = new Feeding();
    const dateModified = f.nowMs;
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified })]);
    expect(f.block.activeOf(0)).toBe(1);
    f.nowMs += 1_000;
    f.report(1, 'STANDBY');
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified })]);
    expect(f.block.stateOf(0, 1)).toBe(NameNodeState.STANDBY);
    // The clock of the store is five minutes ahead.
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified: f.nowMs + 300_000 })]);
    expect(f.block.stateOf(0, 1)).toBe(NameNodeState.STANDBY);
    f.nowMs += 20_000;
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified: f.nowMs - 1_000 })]);
    expect(f.block.activeOf(0)).toBe(1);
  });

  it('count for a NameNode that cannot be reached from here', () => {
    const f = new Feeding();
    f.silence(1);
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified: f.nowMs - 1_000 })]);
    expect(f.block.activeOf(0)).toBe(1);
  });

  it('that it cannot be reached leave the active NameNode', () => {
    const f = new Feeding();
    f.report(0, 'ACTIVE');
    f.silence(0);
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn0', state: 'UNAVAILABLE', dateModified: f.nowMs + 1 })]);
    expect(f.block.activeOf(0)).toBe(0);
  });

  it('do not undo what a call was answered since', () => {
    const f = new Feeding();
    f.prove(1, NameNodeState.STANDBY);
    f.nowMs = Date.now() + 10;
    f.feed.onRecords([membershipRecord({ namenodeId: 'nn1', dateModified: f.nowMs - 60_000 })]);
    expect(f.block.activeOf(0)).toBe(UNKNOWN);
    expect(f.feed.namenodesOf('ns0')?.map(({ state }) => state)).toEqual(['STANDBY']);
  });

  it('of NameNodes that are not configured are listed, said once, and not used', () => {
    const f = new Feeding();
    const records = [membershipRecord({ nameserviceId: 'ns9', blockPoolId: 'BP-9' }), membershipRecord()];
    f.feed.onRecords(records);
    f.feed.onRecords(records);
    expect(f.feed.namenodesOf('ns9')).toHaveLength(1);
    expect(f.feed.namenodesOf('ns8')).toBeNull();
    expect(f.lines.filter((line) => line.includes('not configured here'))).toHaveLength(1);
    expect(f.pools).toEqual([['BP-ns0', 0]]);
  });

  it('give block pools, which own heartbeats correct', () => {
    const f = new Feeding();
    f.feed.onRecords([membershipRecord({ nameserviceId: 'ns1', blockPoolId: 'BP-ns0' })]);
    expect(f.feed.blockPools).toEqual([['BP-ns0', 1]]);
    f.report(0, 'ACTIVE');
    f.feed.onRecords([membershipRecord({ nameserviceId: 'ns1', blockPoolId: 'BP-ns0' })]);
    expect(f.feed.blockPools).toEqual([['BP-ns0', 0]]);
  });

  it('fill no memory with block pools', () => {
    const f = new Feeding();
    const many = Array.from({ length: MAX_BLOCK_POOLS + 10 }, (_, i) =>
      membershipRecord({ blockPoolId: `BP-${i}`, routerId: `r${i}:1` }),
    );
    f.feed.onRecords(many);
    f.feed.onRecords(many);
    expect(f.feed.blockPools).toHaveLength(MAX_BLOCK_POOLS);
    expect(f.lines.filter((line) => line.includes('block pools'))).toHaveLength(1);
  });

  it('give the free space of the newest report with figures', () => {
    const f = new Feeding();
    const at = (dateModified: number, availableSpace: number | bigint): ReturnType<typeof membershipRecord> =>
      membershipRecord({ dateModified, stats: { availableSpace }, routerId: `r${dateModified}:1` });
    f.feed.onRecords([at(3, 300), at(4, 400n), at(5, -1), membershipRecord({ dateModified: 6 })]);
    expect(f.feed.availableBytes).toEqual([['ns0', 400]]);
  });
});

it('disabled nameservices have a bit each, known ones or not', () => {
  const f = new Feeding();
  expect(f.block.anyDisabled).toBe(false);
  f.feed.onDisabled(['ns1', 'elsewhere']);
  expect([f.block.anyDisabled, f.block.isDisabled(0), f.block.isDisabled(1), f.block.isDisabled(2)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(f.feed.disabled).toEqual(['elsewhere', 'ns1']);
  f.feed.onRecords([membershipRecord({ nameserviceId: 'ns1' })]);
  expect(f.feed.namenodesOf('ns1')?.map(({ state }) => state)).toEqual(['DISABLED']);
  expect(f.feed.activeNameservices).toEqual([]);
  f.feed.onDisabled([]);
  expect([f.block.anyDisabled, f.block.isDisabled(1)]).toEqual([false, false]);
  expect(f.lines).toEqual([
    'nameservice ns1 is disabled',
    'nameservice elsewhere is disabled',
    'nameservice ns1 is enabled',
    'nameservice elsewhere is enabled',
  ]);
});
