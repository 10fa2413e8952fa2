import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { type Carrier, HistoryClient } from '../support/history/client.ts';
import { History, NO_VERSION, Outcome } from '../support/history/history.ts';
import { ACTIVE, OBSERVER, Scene, STANDBY } from '../support/history/scene.ts';

const opened: (Disposable | AsyncDisposable)[] = [];
afterEach(() => disposeOpened(opened));

describe('a client of NameNodes', () => {
  let simulator: Simulator;
  let history: History;

  beforeEach(async () => {
    simulator = await startSimulator({ nameservices: ['ns0'], superuser: 'hdfs', observers: 1 });
    opened.push(simulator);
    history = new History({ nameservices: ['ns0'], filesPerNameservice: 2, clients: 1 });
  });

  /** To the NameNodes in this order. */
  function connect(carrier: Carrier, namenodes: readonly { namenode: string }[], giveUpMs?: number): HistoryClient {
    const all = simulator.nameservices[0]!.namenodes;
    const client = new HistoryClient({
      history,
      index: 0,
      carrier,
      routers: namenodes.map(
        ({ namenode }) =>
          () =>
            all.find(({ id }) => id === namenode)!,
      ),
      pathOf: (file) => `/f${file}`,
      ...(giveUpMs === undefined ? {} : { giveUpMs }),
    });
    opened.push(client);
    return client;
  }

  it('records which version it wrote and read, and whose', async () => {
    const client = connect('none', [ACTIVE]);
    await client.read(0, 0);
    await client.write(0, 0);
    await client.write(1, 0);
    await client.read(0, 0);
    expect([...history.version.slice(0, 4)]).toEqual([
      NO_VERSION,
      expect.any(Number),
      expect.any(Number),
      history.version[1],
    ]);
    expect(history.version[2]).toBeGreaterThan(history.version[1]!);
    expect([...history.write.slice(0, 4)]).toEqual([-1, 1, 2, 1]);
  });

  it('sends a call again as the same one when its answer is lost', async () => {
    const client = connect('none', [ACTIVE]);
    await simulator.control({ op: 'loseAnswers', ...ACTIVE, method: 'create', times: 2 });
    expect(await client.write(0, 0)).toBe(true);
    await client.read(0, 0);
    expect(client.trouble.resent).toBe(2);
    expect((await simulator.control({ op: 'counts' }))['ns0 nn0 create']).toBe(1);
    expect(history.version[1]).toBe(history.version[0]);
    const calls = await simulator.control({ op: 'calls', method: 'create' });
    expect(calls.map(({ callId, retryCount }) => [callId, retryCount])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
  });

  it('goes on to the next one when the first is standby', async () => {
    const client = connect('none', [STANDBY, ACTIVE]);
    expect(await client.write(0, 0)).toBe(true);
    expect(history.router[0]).toBe(1);
  });

  it('gives up after a while', async () => {
    const client = connect('none', [STANDBY], 50);
    expect(await client.write(0, 0)).toBe(false);
    expect(history.outcome[0]).toBe(Outcome.FAILED);
    expect([...client.trouble.reasons.keys()]).toEqual([
      expect.stringContaining('org.apache.hadoop.ipc.StandbyException: Operation category WRITE is not supported'),
    ]);
  });

  it('tells an observer the greatest state id that it has got', async () => {
    const client = connect('direct', [ACTIVE, OBSERVER]);
    await client.write(0, 0);
    await client.read(0, 1);
    await client.write(1, 0);
    await client.read(0, 1);
    const calls = await simulator.control({ op: 'calls', namenode: OBSERVER.namenode });
    const [first, second] = calls.map(({ stateId }) => Number(stateId));
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first!);
  });
});

describe('a client of two routers', () => {
  it('carries what it has seen from one to the other', async () => {
    await using scene = await Scene.start();
    const client = scene.connect('federated');
    await client.read(0, 0);
    await client.read(0, 1);
    await client.write(0, 0);
    // Above what router 1 knows, so to the active; what its answer tells makes the next one an observer's.
    await client.read(0, 1);
    await client.read(0, 1);
    const reads = await scene.control({ op: 'calls', method: 'getFileInfo' });
    const status = await scene.control({ op: 'status' });
    expect(reads.map(({ namenode }) => namenode)).toEqual(['nn0', 'nn0', 'nn0', 'nn2']);
    expect(reads.at(-1)?.stateId).toBe(String(status.find(({ namenode }) => namenode === 'nn0')?.stateId));
    expect(scene.report.count).toBe(0);
  });
});
