import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import { readMonitored } from '../../src/control/membership/addresses.ts';
import { MembershipFeed } from '../../src/control/membership/feed.ts';
import { type HeartbeatOptions, Heartbeats, type Report } from '../../src/control/membership/heartbeats.ts';
import { ControlBlock, createControlBlock, NameNodeState, UNKNOWN } from '../../src/shared/control-block.ts';
import type { Topology } from '../../src/shared/settings.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import type { MembershipRecord } from '../../src/state-store/records.ts';
import { DeafListener } from '../support/deaf-listener.ts';
import { JmxServer } from '../support/jmx-server.ts';
import { ScriptedNameNode } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

const HOST = '127.0.0.1';
const NOW = 1_700_000_000_000;

interface Line {
  readonly namenode: string;
  readonly msg: string;
  readonly reason?: string;
}

/** Heartbeats to NameNodes on these ports, all of ns0; what they report and write is kept. */
class Beating implements AsyncDisposable {
  readonly reports: Report[] = [];
  readonly records: MembershipRecord[] = [];
  readonly lines: Line[] = [];
  readonly heartbeats: Heartbeats;
  write: (record: MembershipRecord) => Promise<void> = (record) => {
    this.records.push(record);
    return Promise.resolve();
  };

  constructor(
    ports: readonly number[],
    keys: Readonly<Record<string, string>> = {},
    options: Partial<HeartbeatOptions> = {},
    ids: readonly string[] = ports.map((_, i) => `nn${i}`),
  ) {
    const namenodes = ports.map((port, i) => ({ id: ids[i] ?? '', host: HOST, port }));
    const topology: Topology = { nameservices: [{ id: 'ns0', namenodes }] };
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'test' }));
    this.heartbeats = new Heartbeats(
      readMonitored(new Configuration({ directory: null, overrides }), topology),
      {
        routerId: 'r1:8888',
        user: 'router',
        connectTimeoutMs: 1_000,
        intervalMs: 20,
        jmxIntervalMs: -1,
        healthTimeoutMs: 1_000,
        now: () => NOW,
        lookUpName: () => Promise.resolve('localhost'),
        ...options,
      },
      { onReport: (report) => this.reports.push(report), write: (record) => this.write(record) },
      pino({ level: 'info' }, { write: (line: string) => this.lines.push(JSON.parse(line) as Line) }),
    );
  }

  record(): Promise<MembershipRecord> {
    const { length } = this.records;
    return waitUntil(() => this.records[length], 'the next record');
  }

  said(namenode: string): string[] {
    return this.lines.filter((line) => line.namenode === namenode).map(({ msg }) => msg);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.heartbeats.stop();
  }
}

describe('heartbeats', () => {
  it('learn states, actives and block pools, and log each change of a NameNode once', async () => {
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 2, observers: 1 });
    const topology: Topology = { nameservices: simulator.nameservices };
    const lines: Line[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as Line) });
    const block = new ControlBlock(createControlBlock(1), 1);
    const feed = new MembershipFeed(topology, block, log, () => {});
    const heartbeats = new Heartbeats(
      readMonitored(new Configuration({ directory: null }), topology),
      {
        routerId: 'r1:8888',
        user: 'router',
        connectTimeoutMs: 1_000,
        intervalMs: 20,
        jmxIntervalMs: -1,
        healthTimeoutMs: 1_000,
      },
      { onReport: (report) => feed.onReport(report), write: null },
      log,
    );
    expect(block.activeOf(0)).toBe(UNKNOWN);
    await heartbeats.start();
    expect(block.activeOf(0)).toBe(0);
    expect([0, 1, 2].map((index) => block.stateOf(0, index))).toEqual([
      NameNodeState.ACTIVE,
      NameNodeState.STANDBY,
      NameNodeState.OBSERVER,
    ]);
    expect(feed.blockPools).toHaveLength(1);
    const said = (namenode: string): string[] =>
      lines.filter((line) => line.namenode === namenode).map(({ msg }) => msg);
    await simulator.control({ op: 'stop', nameservice: 'ns0', namenode: 'nn1' });
    await waitUntil(() => said('ns0.nn1').length === 2, 'the log tells that nn1 is gone');
    await simulator.control({ op: 'start', nameservice: 'ns0', namenode: 'nn1' });
    await waitUntil(() => said('ns0.nn1').length === 3, 'the log tells that nn1 is back');
    await heartbeats.stop();
    expect(said('ns0.nn1')).toEqual(['NameNode is standby', 'NameNode is unreachable', 'NameNode is standby']);
    expect(said('ns0.nn0')).toEqual(['NameNode is active']);
  });

  it('write a record with figures', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using jmx = await JmxServer.start();
    namenode.inSafeMode = true;
    const keys = { 'dfs.namenode.http-address.ns0.nn0': `${HOST}:${jmx.port}` };
    await using beating = new Beating([namenode.port], keys, { jmxIntervalMs: 0 });
    void beating.heartbeats.start();
    const { stats, ...record } = await beating.record();
    expect(record).toEqual({
      dateCreated: NOW,
      dateModified: NOW,
      lastContact: NOW,
      routerId: 'r1:8888',
      nameserviceId: 'ns0',
      namenodeId: 'nn0',
      clusterId: 'CID-scripted',
      blockPoolId: 'BP-nn',
      webAddress: `${HOST}:${jmx.port}`,
      rpcAddress: `localhost:${namenode.port}`,
      serviceAddress: `${HOST}:${namenode.port}`,
      lifelineAddress: `${HOST}:${namenode.port}`,
      webScheme: 'http',
      state: 'ACTIVE',
      safeMode: true,
    });
    expect(stats).toMatchObject({ totalSpace: 1_000, availableSpace: 600, corruptFilesCount: 7 });
    expect(beating.heartbeats.stats.size).toBe(1);
  });

  it('ask for figures no more often than told, and write the last ones', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using jmx = await JmxServer.start();
    const keys = { 'dfs.namenode.http-address.ns0.nn0': `${HOST}:${jmx.port}` };
    await using beating = new Beating([namenode.port], keys, { jmxIntervalMs: 60_000 });
    void beating.heartbeats.start();
    await waitUntil(() => beating.records.length >= 3, 'three records');
    expect(beating.records.every(({ stats }) => stats?.['numOfFiles'] === 11)).toBe(true);
    expect(jmx.requests).toBe(5);
  });

  it('report an unreachable NameNode, and no figures of it', async () => {
    const namenode = await ScriptedNameNode.start();
    await namenode.stop();
    await using jmx = await JmxServer.start();
    const keys = { 'dfs.namenode.http-address.ns0.nn0': `${HOST}:${jmx.port}` };
    await using beating = new Beating([namenode.port], keys, { jmxIntervalMs: 0 });
    void beating.heartbeats.start();
    expect(await beating.record()).toMatchObject({
      state: 'UNAVAILABLE',
      lastContact: 0,
      clusterId: '',
      blockPoolId: '',
      stats: null,
    });
    expect(beating.lines.find(({ msg }) => msg === 'NameNode is unreachable')?.reason).toContain('ECONNREFUSED');
  });

  it('write nothing for a NameNode that tells its namespace and not its state', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.holdsStateQuestions = true;
    await using beating = new Beating([namenode.port], {}, { healthTimeoutMs: 50 });
    await beating.heartbeats.start();
    expect(beating.reports[0]).toMatchObject({ state: null, registered: true });
    expect(beating.records).toEqual([]);
    namenode.holdsStateQuestions = false;
    expect((await beating.record()).state).toBe('ACTIVE');
    expect(beating.said('ns0.nn0')).toEqual(['NameNode is of unknown state', 'NameNode is active']);
  });

  it('take the state in ClientProtocol where they may not ask for the service status', async () => {
    await using namenode = await ScriptedNameNode.start('nn', 'observer');
    namenode.stateRefusal = ['org.apache.hadoop.security.AccessControlException', 'Superuser privilege is required'];
    await using beating = new Beating([namenode.port]);
    void beating.heartbeats.start();
    expect((await beating.record()).state).toBe('OBSERVER');
  });

  it('take a NameNode without high availability for active, and do not ask it again', async () => {
    await using namenode = await ScriptedNameNode.start('nn', 'standby');
    namenode.stateRefusal = ['org.apache.hadoop.ha.ServiceFailedException', 'HA for namenode is not enabled'];
    await using beating = new Beating([namenode.port]);
    void beating.heartbeats.start();
    await waitUntil(() => beating.records.length >= 3, 'three records');
    expect(beating.records.map(({ state }) => state)).toEqual(beating.records.map(() => 'ACTIVE'));
    expect(namenode.stateQuestions).toBe(1);
  });

  it('leave the id of a NameNode without one out of its record', async () => {
    await using namenode = await ScriptedNameNode.start('nn', 'standby');
    await using beating = new Beating([namenode.port], {}, {}, ['']);
    void beating.heartbeats.start();
    expect(await beating.record()).toMatchObject({ namenodeId: null, state: 'ACTIVE' });
    expect(namenode.stateQuestions).toBe(0);
  });

  it('go to the addresses for the purpose', async () => {
    await using namenode = await ScriptedNameNode.start('rpc');
    await using service = await ScriptedNameNode.start('service', 'standby');
    await using lifeline = await ScriptedNameNode.start('lifeline', 'observer');
    const keys = {
      'dfs.namenode.servicerpc-address.ns0.nn0': `${HOST}:${service.port}`,
      'dfs.namenode.lifeline.rpc-address.ns0.nn0': `${HOST}:${lifeline.port}`,
    };
    await using beating = new Beating([namenode.port], keys);
    void beating.heartbeats.start();
    expect(await beating.record()).toMatchObject({
      state: 'OBSERVER',
      blockPoolId: 'BP-service',
      rpcAddress: `localhost:${namenode.port}`,
      serviceAddress: `${HOST}:${service.port}`,
      lifelineAddress: `${HOST}:${lifeline.port}`,
    });
    expect(namenode.peers).toEqual([]);
  });
});

describe('a NameNode that hangs', () => {
  it('delays neither the others nor their next rounds, and is reported after its time limit', async () => {
    await using good = await ScriptedNameNode.start();
    await using hung = await ScriptedNameNode.start();
    const gone = await ScriptedNameNode.start();
    await gone.stop();
    await using _deaf = await DeafListener.listen(gone.port);
    hung.freeze();
    await using beating = new Beating([hung.port, good.port, gone.port]);
    const started = beating.heartbeats.start();
    await waitUntil(
      () => beating.records.filter(({ namenodeId }) => namenodeId === 'nn1').length >= 3,
      'three records of the good one',
    );
    await started;
    const first = (id: string): MembershipRecord | undefined =>
      beating.records.find(({ namenodeId }) => namenodeId === id);
    await waitUntil(() => first('nn0') && first('nn2'), 'records of the others');
    expect(first('nn0')?.state).toBe('UNAVAILABLE');
    expect(first('nn2')?.state).toBe('UNAVAILABLE');
    hung.thaw();
    await waitUntil(
      () => beating.records.some(({ namenodeId, state }) => namenodeId === 'nn0' && state === 'ACTIVE'),
      'it is active again',
    );
  });

  it('over HTTP holds up its record, and not what the data plane gets', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using jmx = await JmxServer.start();
    jmx.respond = () => {};
    const keys = { 'dfs.namenode.http-address.ns0.nn0': `${HOST}:${jmx.port}` };
    await using beating = new Beating([namenode.port], keys, { jmxIntervalMs: 0 });
    await beating.heartbeats.start();
    expect(beating.reports).toHaveLength(1);
    expect(beating.records).toEqual([]);
  });
});

describe('a State Store', () => {
  it('that fails is said once, and once when it works again', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using beating = new Beating([namenode.port]);
    const { write } = beating;
    let attempts = 0;
    beating.write = () => {
      attempts++;
      return Promise.reject(new Error('the disk is full'));
    };
    await beating.heartbeats.start();
    await waitUntil(() => attempts >= 3, 'three attempts');
    beating.write = write;
    await beating.record();
    await waitUntil(() => beating.said('ns0.nn0').length === 3, 'the log says that it works');
    expect(beating.said('ns0.nn0').slice(1)).toEqual([
      'a report about a NameNode could not be stored',
      'reports about a NameNode are stored again',
    ]);
  });

  it('that hangs does not hold up the questions', async () => {
    await using namenode = await ScriptedNameNode.start();
    await using beating = new Beating([namenode.port]);
    let attempts = 0;
    beating.write = () => {
      attempts++;
      return new Promise(() => {});
    };
    await beating.heartbeats.start();
    await waitUntil(() => beating.reports.length >= 3, 'three reports');
    expect(attempts).toBe(1);
  });
});
