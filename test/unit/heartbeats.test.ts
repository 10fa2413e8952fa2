import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { Heartbeats } from '../../src/control/heartbeats.ts';
import { ControlBlock, createControlBlock, NameNodeState, UNKNOWN } from '../../src/shared/control-block.ts';
import type { Settings } from '../../src/shared/settings.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { waitUntil } from '../support/wait.ts';

const settings = { routerUser: 'router', connectTimeoutMs: 2000 } as Settings;

describe('heartbeats', () => {
  it('learn states, actives and block pools, and log each change of a NameNode once', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 2, observers: 1 });
    const lines: { namenode: string; msg: string; level: number }[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const block = new ControlBlock(createControlBlock(1), 1);
    const pools: string[] = [];
    const heartbeats = new Heartbeats(settings, { nameservices: simulator.nameservices }, block, log, 20, (pool) =>
      pools.push(pool),
    );
    expect(block.activeOf(0)).toBe(UNKNOWN);
    await heartbeats.start();
    expect(block.activeOf(0)).toBe(0);
    expect([0, 1, 2].map((index) => block.stateOf(0, index))).toEqual([
      NameNodeState.ACTIVE,
      NameNodeState.STANDBY,
      NameNodeState.OBSERVER,
    ]);
    expect(pools).toHaveLength(1);
    expect(heartbeats.blockPools).toEqual([[pools[0], 0]]);
    const said = (namenode: string): string[] =>
      lines.filter((line) => line.namenode === namenode).map(({ msg }) => msg);
    expect(said('ns0.nn1')).toEqual(['NameNode is standby']);

    await simulator.control({ op: 'stop', nameservice: 'ns0', namenode: 'nn1' });
    await waitUntil(() => said('ns0.nn1').length === 2, 'the log tells that nn1 is gone');
    await simulator.control({ op: 'start', nameservice: 'ns0', namenode: 'nn1' });
    await waitUntil(() => said('ns0.nn1').length === 3, 'the log tells that nn1 is back');
    heartbeats.stop();
    expect(said('ns0.nn1')).toEqual(['NameNode is standby', 'NameNode is unreachable', 'NameNode is standby']);
    expect(said('ns0.nn0')).toEqual(['NameNode is active']);
  });
});
