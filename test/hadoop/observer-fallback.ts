import { afterAll, describe, expect, it } from 'vitest';
import type { RawCall } from '../support/raw-client.ts';
import { waitUntil } from '../support/wait.ts';
import type { CallsByRole, ObserverCluster } from './observer-cluster.ts';
import { LONG_AGO_MS, mountOf, type ObserverStage, TOO_FAR_TRANSACTIONS } from './observer-stage.ts';
import { StatefulClient } from './stateful-client.ts';
import { ENDPOINT } from './support.ts';

/**
 * What becomes of a read when the observers do not serve it: who answers, and how much later than an observer that does. The times are
 * reported, not judged.
 */

const NS = 'ns0';
const FILE = `${mountOf(NS)}/fallback`;
/** Reads by which the usual time is measured, and after the first one that met the trouble. */
const USUAL_READS = 15;
const LATER_READS = 15;
const RECOVERED_WITHIN_MS = 90_000;

type Outcome = 'observer' | 'active' | 'RetriableException';

interface Cause {
  readonly name: string;
  begin(cluster: ObserverCluster): Promise<void>;
  end(cluster: ObserverCluster): Promise<void>;
  /** Default: `list`. */
  readonly call?: RawCall;
  /** The client itself makes a change, which the observers then lack. */
  readonly afterChange?: boolean;
  readonly outcome: Outcome;
  /** Where Hadoop's Router comes to another end. */
  readonly java?: Outcome;
}

const open: RawCall = { method: 'getBlockLocations', request: { src: FILE, offset: 0, length: 1 << 20 } };
/** No getFileInfo: that is what routers send of themselves to see whether an observer serves again. */
const list: RawCall = {
  method: 'getListing',
  request: { src: FILE, startAfter: Buffer.alloc(0), needLocation: false },
};
const change: RawCall = { method: 'setTimes', request: { src: FILE, mtime: LONG_AGO_MS, atime: -1 } };

const each =
  (op: string, fields: Readonly<Record<string, unknown>> = {}) =>
  async (cluster: ObserverCluster): Promise<void> =>
    await cluster.ctlObservers(op, NS, fields);
const pause = each('pauseTailing');
const resume = each('resumeTailing');

async function startAgain(cluster: ObserverCluster): Promise<void> {
  await cluster.ctlObservers('start', NS);
  await cluster.ctlObservers('transition', NS, { to: 'observer' });
}

const CAUSES: readonly Cause[] = [
  {
    name: 'in safe mode, and the call can be answered there',
    begin: each('enterSafeMode'),
    end: each('leaveSafeMode'),
    outcome: 'observer',
  },
  {
    name: 'in safe mode, and no DataNode has told of the block',
    call: open,
    begin: async (cluster) => {
      await cluster.ctlObservers('enterSafeMode', NS);
      await cluster.ctlObservers('forgetDatanodes', NS);
    },
    end: async (cluster) => {
      await cluster.ctlObservers('admitDatanodes', NS);
      await cluster.ctlObservers('leaveSafeMode', NS);
    },
    outcome: 'active',
    java: 'RetriableException',
  },
  {
    name: 'no DataNode has told of the block',
    call: open,
    begin: each('forgetDatanodes'),
    end: each('admitDatanodes'),
    outcome: 'active',
  },
  {
    name: 'the file needs a new access time',
    call: open,
    begin: async (cluster) => {
      using client = await cluster.direct(NS);
      await client.result({ method: 'setTimes', request: { src: '/d/fallback', mtime: -1, atime: LONG_AGO_MS } });
      await cluster.settled(NS);
    },
    end: async () => {},
    outcome: 'active',
  },
  {
    name: 'too far behind',
    begin: async (cluster) => {
      await pause(cluster);
      await cluster.burnTransactions(NS, TOO_FAR_TRANSACTIONS);
    },
    end: resume,
    afterChange: true,
    outcome: 'active',
    java: 'RetriableException',
  },
  {
    name: 'a little behind, and it does not catch up',
    begin: pause,
    end: resume,
    afterChange: true,
    outcome: 'active',
  },
  {
    name: 'turned standby',
    begin: each('transition', { to: 'standby' }),
    end: each('transition', { to: 'observer' }),
    outcome: 'active',
  },
  {
    name: 'turned standby, and behind',
    begin: async (cluster) => {
      await pause(cluster);
      await cluster.ctlObservers('transition', NS, { to: 'standby' });
    },
    end: async (cluster) => {
      await resume(cluster);
      await cluster.ctlObservers('transition', NS, { to: 'observer' });
    },
    afterChange: true,
    outcome: 'active',
  },
  { name: 'hangs', begin: each('hang'), end: each('resume'), outcome: 'active' },
  {
    name: 'one of two is killed',
    begin: (cluster) => killFirst(cluster),
    end: async (cluster) => {
      const nn = cluster.observers(NS)[0];
      await cluster.rig.ctl({ op: 'start', ns: NS, nn });
      await cluster.rig.ctl({ op: 'transition', ns: NS, nn, to: 'observer' });
    },
    outcome: 'observer',
  },
  { name: 'both are killed', begin: each('stop'), end: startAgain, outcome: 'active' },
];

async function killFirst(cluster: ObserverCluster): Promise<void> {
  await cluster.rig.ctl({ op: 'stop', ns: NS, nn: cluster.observers(NS)[0] });
}

function middleOf(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Answered calls of this method, by who answered them. */
function answered({ active, observer }: CallsByRole, method: string): { active: number; observer: number } {
  return { active: active[method] ?? 0, observer: observer[method] ?? 0 };
}

export function defineFallbackTests(stage: () => ObserverStage): void {
  const table: string[][] = [
    ['cause', 'outcome', 'usual', 'first read', 'added', 'later: middle', 'later: longest', 'observers serve again'],
  ];

  describe('a read that observers do not serve', () => {
    it.each(CAUSES)('$name', async (cause) => {
      const { cluster, clients, routers, user } = stage();
      const call = cause.call ?? list;
      const outcome = ENDPOINT === 'java-router' ? (cause.java ?? cause.outcome) : cause.outcome;
      using client = await StatefulClient.connect(routers, user);
      /** One read; its time in ms, and how it was refused, if it was. */
      const read = async (): Promise<{ ms: number; refused: string }> => {
        const start = performance.now();
        const reply = await client.call(call);
        return { ms: performance.now() - start, refused: reply.exception.slice(reply.exception.lastIndexOf('.') + 1) };
      };
      /** Until all observers answer: what they are left alone for after the last cause has passed. */
      const untilServed = async (): Promise<void> => {
        const waitedFor = new Set(cluster.observers(NS));
        await waitUntil(
          async () => {
            const read = (): Promise<unknown> => client.result(call);
            for (const nn of await cluster.observersServing(NS, call.method, read)) waitedFor.delete(nn);
            return waitedFor.size === 0;
          },
          'observers serve',
          RECOVERED_WITHIN_MS,
        );
      };

      await using writer = await clients.open('plain', routers);
      await writer.run('write', FILE, { text: 'one block' });
      await cluster.settled(NS);
      await untilServed();
      const usual: number[] = [];
      for (let i = 0; i < USUAL_READS; i++) usual.push((await read()).ms);

      let first = { ms: 0, refused: '' };
      const later: number[] = [];
      await cause.begin(cluster);
      try {
        if (cause.afterChange === true) await client.result(change);
        const calls = await cluster.callsDuring(NS, async () => {
          first = await read();
        });
        expect(first.refused).toBe(outcome === 'RetriableException' ? outcome : '');
        const wanted = { active: outcome === 'active' ? 1 : 0, observer: outcome === 'observer' ? 1 : 0 };
        expect(answered(calls, call.method)).toEqual(wanted);
        if (ENDPOINT !== 'java-router') {
          // No observer was asked twice, nor the active.
          for (const refusal of ['standbyException', 'observerRetryOnActiveException', 'retriableException']) {
            expect(calls.observer[refusal] ?? 0, refusal).toBeLessThanOrEqual(2);
          }
          for (let i = 0; i < LATER_READS; i++) {
            const next = await read();
            expect(next.refused).toBe('');
            later.push(next.ms);
          }
        }
      } finally {
        await cause.end(cluster);
      }
      const ended = performance.now();
      await cluster.settled(NS);
      await untilServed();
      const again = performance.now() - ended;
      const ms = (value: number): string => `${value.toFixed(1)} ms`;
      table.push([
        cause.name,
        outcome,
        ms(middleOf(usual)),
        ms(first.ms),
        ms(first.ms - middleOf(usual)),
        later.length === 0 ? '' : ms(middleOf(later)),
        later.length === 0 ? '' : ms(Math.max(...later)),
        `${(again / 1000).toFixed(1)} s`,
      ]);
    });

    afterAll(() => console.log(table.map((row) => `| ${row.join(' | ')} |`).join('\n')));
  });
}
