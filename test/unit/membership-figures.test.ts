import pino from 'pino';
import { describe, expect, it } from 'vitest';
import type { MonitoredNamenode } from '../../src/control/membership/addresses.ts';
import { FiguresGatherer } from '../../src/control/membership/figures.ts';
import type { MountOrder } from '../../src/mount/entry.ts';
import type { FigureData } from '../../src/mount/order/figures.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { type NameNodeCall, ScriptedNameNode, STANDBY } from '../support/scripted-namenode.ts';
import { waitUntil } from '../support/wait.ts';

function monitoredOf(nameservice: number, index: number, port: number, host = '127.0.0.1'): MonitoredNamenode {
  const service = { host: '127.0.0.1', port };
  return {
    nameservice,
    index,
    nameserviceId: `ns${nameservice}`,
    namenodeId: `nn${index}`,
    rpc: { host, port },
    service,
    lifeline: service,
    web: service,
    webScheme: 'http',
    webAddress: `${host}:9870`,
  };
}

/** Answers DataNode reports with these addresses. */
function reporting(...addresses: string[]): (call: NameNodeCall) => void {
  return (call) => {
    const di = addresses.map((ipAddr) => ({
      id: { ipAddr, hostName: ipAddr, datanodeUuid: ipAddr, xferPort: 9866, infoPort: 9864, ipcPort: 9867 },
    }));
    call.succeed({ di });
  };
}

class Gathering implements Disposable {
  readonly got: FigureData[] = [];
  readonly lines: string[] = [];
  readonly block = new ControlBlock(createControlBlock(2), 2);
  available: FigureData['available'] = [['ns0', 5]];
  readonly gatherer: FiguresGatherer;

  constructor(namenodes: readonly MonitoredNamenode[], local: readonly string[] = []) {
    this.gatherer = new FiguresGatherer(
      {
        user: 'router',
        connectTimeoutMs: 1_000,
        periodMs: 20,
        localAddresses: new Set(local),
        lookUpHost: (host) => Promise.resolve(host === 'named' ? ['10.0.0.9'] : []),
      },
      {
        namenodes,
        block: this.block,
        availableBytes: () => this.available,
        onFigures: (figures) => this.got.push(figures),
      },
      pino({ level: 'info' }, { write: (line: string) => this.lines.push((JSON.parse(line) as { msg: string }).msg) }),
    );
  }

  use(...orders: MountOrder[]): void {
    this.gatherer.useOrders(new Set(orders));
  }

  next(): Promise<FigureData> {
    const { length } = this.got;
    return waitUntil(() => this.got[length], 'the next figures');
  }

  [Symbol.dispose](): void {
    this.gatherer.stop();
  }
}

describe('figures', () => {
  it('are gathered only while a mount point goes by them', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = reporting('10.0.0.1');
    using gathering = new Gathering([monitoredOf(0, 0, namenode.port)]);
    gathering.use('HASH', 'RANDOM');
    gathering.use('SPACE');
    expect(await gathering.next()).toEqual({ clients: [], available: [['ns0', 5]] });
    expect(namenode.calls).toEqual([]);
    gathering.use('SPACE', 'LOCAL');
    await waitUntil(() => gathering.got.some(({ clients }) => clients.length > 0), 'addresses');
    gathering.use();
    const { length } = gathering.got;
    await waitUntil(() => namenode.openPeers().length === 0, 'nothing is asked any more');
    expect(gathering.got.length - length).toBeLessThanOrEqual(1);
  });

  it('name the nameservice of DataNodes and NameNodes, those on this host by the loopback address too', async () => {
    await using first = await ScriptedNameNode.start();
    await using second = await ScriptedNameNode.start();
    first.handler = reporting('10.0.0.1', '10.0.0.2');
    second.handler = reporting('10.0.1.1');
    using gathering = new Gathering(
      [monitoredOf(0, 0, first.port, 'named'), monitoredOf(1, 0, second.port, '10.0.1.9')],
      ['10.0.1.9'],
    );
    gathering.use('LOCAL');
    const { clients, available } = await gathering.next();
    expect(available).toEqual([]);
    expect(clients).toEqual([
      ['10.0.0.1', 'ns0'],
      ['10.0.0.2', 'ns0'],
      ['10.0.1.1', 'ns1'],
      ['10.0.0.9', 'ns0'],
      ['10.0.1.9', 'ns1'],
      ['127.0.0.1', 'ns1'],
    ]);
  });

  it('come from the active NameNode, else from one that answers', async () => {
    await using standby = await ScriptedNameNode.start();
    await using active = await ScriptedNameNode.start();
    standby.handler = (call) => call.fail(STANDBY, 'not me');
    active.handler = reporting('10.0.0.1');
    using gathering = new Gathering([monitoredOf(0, 0, standby.port), monitoredOf(0, 1, active.port)]);
    gathering.block.setActive(0, 1);
    gathering.use('LOCAL');
    await gathering.next();
    expect(standby.calls).toEqual([]);
    gathering.block.setActive(0, 0);
    await standby.waitForCall({ method: 'getDatanodeReport' });
    expect((await gathering.next()).clients).toContainEqual(['10.0.0.1', 'ns0']);
  });

  it('stay as they were while a nameservice does not tell, and the log says it once', async () => {
    await using namenode = await ScriptedNameNode.start();
    namenode.handler = reporting('10.0.0.1');
    using gathering = new Gathering([monitoredOf(0, 0, namenode.port)]);
    gathering.use('LOCAL');
    await gathering.next();
    namenode.handler = (call) => call.fail('org.apache.hadoop.security.AccessControlException', 'not you');
    await waitUntil(() => gathering.lines.length > 0, 'the log says it');
    for (let i = 0; i < 3; i++) expect((await gathering.next()).clients).toContainEqual(['10.0.0.1', 'ns0']);
    expect(gathering.lines).toHaveLength(1);
  });
});
