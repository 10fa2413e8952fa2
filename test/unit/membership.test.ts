import { describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { Membership } from '../../src/control/membership/membership.ts';
import type { FigureData } from '../../src/mount/order/figures.ts';
import { ControlBlock, createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';
import type { Settings } from '../../src/shared/settings.ts';
import { encodeDisabledNameservice, encodeMembership } from '../../src/state-store/records.ts';
import { JmxServer } from '../support/jmx-server.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { ScriptedNameNode } from '../support/scripted-namenode.ts';
import { StoreRouter } from '../support/store-routers.ts';
import { waitUntil } from '../support/wait.ts';
import { membershipRecord } from './membership-samples.ts';

const HOST = '127.0.0.1';
const ROUTER = 'dfs.federation.router';

/** Membership of one router of several on a store; its loads are begun by the test. */
class Member implements AsyncDisposable {
  readonly block = new ControlBlock(createControlBlock(1), 1);
  readonly pools: [string, number][] = [];
  readonly figures: FigureData[] = [];
  readonly router: StoreRouter | null;
  readonly membership: Membership;

  constructor(
    memory: MemoryStore | null,
    ports: readonly number[],
    routerId = 'r1:8888',
    keys: Readonly<Record<string, string>> = {},
  ) {
    this.router = memory === null ? null : new StoreRouter(memory, routerId);
    const all = {
      [`${ROUTER}.heartbeat.interval`]: '20',
      [`${ROUTER}.router-resolver.update-period`]: '20',
      [`${ROUTER}.namenode.heartbeat.jmx.interval`]: '-1',
      ...keys,
    };
    const namenodes = ports.map((port, i) => ({ id: `nn${i}`, host: HOST, port }));
    this.membership = new Membership({
      configuration: new Configuration({
        directory: null,
        overrides: Object.entries(all).map(([key, value]) => ({ key, value, origin: 'test' })),
      }),
      settings: { routerId, routerUser: 'router', connectTimeoutMs: 1_000 } as Settings,
      topology: { nameservices: [{ id: 'ns0', namenodes }] },
      block: this.block,
      log: (this.router ?? new StoreRouter(new MemoryStore())).log,
      store: this.router?.store ?? null,
      onBlockPool: (pool, nameservice) => this.pools.push([pool, nameservice]),
      onFigures: (figures) => this.figures.push(figures),
    });
  }

  async start(): Promise<void> {
    await this.router?.store.start();
    await this.membership.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.membership.stop();
    await this.router?.[Symbol.asyncDispose]();
  }
}

/** A port on which nobody listens. */
async function deadPort(): Promise<number> {
  const gone = await ScriptedNameNode.start();
  await gone.stop();
  return gone.port;
}

describe('membership', () => {
  it('puts reports into the store, from which a router learns that cannot reach the NameNode', async () => {
    await using namenode = await ScriptedNameNode.start();
    const memory = new MemoryStore();
    await using near = new Member(memory, [namenode.port]);
    await using far = new Member(memory, [await deadPort()], 'r2:8888');
    await far.start();
    expect(far.block.stateOf(0, 0)).toBe(NameNodeState.UNAVAILABLE);
    await near.start();
    await waitUntil(() => memory.names('MembershipState').length === 2, 'a record of each router');
    expect(memory.names('MembershipState')).toEqual(['nn0-ns0-r1_8888', 'nn0-ns0-r2_8888']);
    await near.membership.stop();
    await far.membership.stop();
    // Both reports have one vote: the newest counts.
    memory.write('MembershipState', 'nn0-ns0-r1_8888', encodeMembership(membershipRecord({ namenodeId: 'nn0' })));
    await using later = new Member(memory, [await deadPort()], 'r3:8888', {
      [`${ROUTER}.namenode.heartbeat.enable`]: 'false',
    });
    await later.start();
    expect(later.block.activeOf(0)).toBe(0);
    expect(later.pools).toEqual([['BP-ns0', 0]]);
    expect(later.membership.feed.namenodesOf('ns0')?.[0]?.record.routerId).toBe('r1:8888');
    expect(memory.names('MembershipState')).toHaveLength(2);
  });

  it('takes in reports and disabled nameservices at each change of the store', async () => {
    await using namenode = await ScriptedNameNode.start('nn', 'standby');
    const memory = new MemoryStore();
    await using member = new Member(memory, [namenode.port]);
    await member.start();
    expect(member.block.anyDisabled).toBe(false);
    const disabled = { dateCreated: 1, dateModified: 1, nameserviceId: 'ns0' };
    memory.write('DisabledNameservice', 'ns0', encodeDisabledNameservice(disabled));
    await waitUntil(() => member.block.isDisabled(0), 'it is disabled');
    memory.erase('DisabledNameservice', 'ns0');
    await waitUntil(() => !member.block.anyDisabled, 'it is enabled');
    await waitUntil(() => member.membership.feed.namenodesOf('ns0')?.[0]?.state === 'STANDBY', 'its report is listed');
  });

  it('asks NameNodes without a store whatever the key says, for nobody else does', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using member = new Member(null, [namenode.port], 'r1:8888', {
      [`${ROUTER}.namenode.heartbeat.enable`]: 'false',
    });
    await member.start();
    expect(member.block.activeOf(0)).toBe(0);
    expect(member.pools).toEqual([['BP-nn', 0]]);
  });

  it('gives the free space of own figures for the order SPACE', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using jmx = await JmxServer.start();
    await using member = new Member(null, [namenode.port], 'r1:8888', {
      [`${ROUTER}.namenode.heartbeat.jmx.interval`]: '0',
      'dfs.namenode.http-address.ns0.nn0': `${HOST}:${jmx.port}`,
    });
    await member.start();
    member.membership.useOrders(new Set(['SPACE']));
    await waitUntil(() => member.figures.at(-1)?.available.length === 1, 'figures');
    expect(member.figures.at(-1)).toEqual({ clients: [], available: [['ns0', 600]] });
  });
});
