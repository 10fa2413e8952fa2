import type { FigureName } from '../../observer/shared/figures.ts';
import type { ApiParts } from './parts.ts';
import type { AnyRoute, ApiRoute } from './route.ts';
import { answer, list, TEXT } from './schema.ts';

const TXID = { type: 'integer', description: 'a transaction id; −1: unknown' } as const;

const OBSERVED_NAMENODE = answer(
  {
    id: TEXT,
    rpcAddress: TEXT,
    state: TEXT,
    lastTxid: { ...TXID, description: 'last transaction that it has written or applied; −1: unknown' },
    behind: { type: 'integer', description: 'transactions behind the active; −1: unknown' },
    requeued: { type: 'integer', description: 'calls that it has put back because it had not caught up; −1: unknown' },
    queueMs: { type: 'number', description: 'mean time of calls in its queue; −1: unknown' },
    leftAlone: { type: 'boolean', description: 'it failed as an observer and has not answered since' },
  },
  { title: 'ObservedNameNode' },
);

const MEANINGS: Readonly<Record<FigureName, string>> = {
  activeReads: 'answers of active NameNodes to reads that observers may answer, exceptions too',
  activeReadMs: 'ms from sending to answer, summed over activeReads',
  observerReads: 'answers of observers, exceptions too',
  observerReadMs: 'ms from sending to answer, summed over observerReads',
  floorLag: "transactions from the client's state id to what the router knew, summed over the reads sent to observers",
  withoutFloor: 'to the active: the client brought no state id for the nameservice',
  floorAbove: 'to the active: the client brought one above what the router knew',
  unknownState: "to the active: nothing was known of the active's state id",
  notFresh: 'to the active: it did not answer the router within the refresh period',
  withoutObserver: 'to the active: no observer was known, or all were left alone',
  retriedOnActive: 'the observer left the read to the active',
  tooFarBehind: 'the observer was too far behind',
  observerNotReady: 'the observer was in safe mode, or starting',
  observerStandby: 'the observer was a standby by then',
  observerTimedOut: 'the observer did not answer within switchyard.observer.patience',
  observerUnreachable: 'no connection to the observer, or it was lost',
  observerOlder: 'the observer answered with less than the client had seen',
  activeOlder: 'a NameNode asked as the active answered with less than the client had seen; another was asked, too',
  holds: 'times that an observer was left alone',
  probes: 'tries whether an observer that was left alone answers again',
  clientMsyncs: 'msyncs of clients, asked for by an application or by an auto-msync period: no request tells which',
  refreshes: 'msyncs of the router itself',
  refreshesFailed: 'those of them that failed',
};

const FIGURE_SCHEMAS = Object.fromEntries(
  Object.entries(MEANINGS).map(([name, description]) => [name, { type: 'number', description }]),
);

const OBSERVED = answer(
  {
    nameservice: TEXT,
    txid: { ...TXID, description: 'what this router knows the active to have reached; −1: nothing is known' },
    epoch: { type: 'integer', description: 'counts changes of the active NameNode, and times when it fell back' },
    provedMs: {
      type: ['integer', 'null'],
      description: 'ms since the active answered a change or an msync; null: never',
    },
    namenodes: list(OBSERVED_NAMENODE),
    figures: answer(FIGURE_SCHEMAS, {
      title: 'ObserverFigures',
      description:
        'since the start of the router. Of activeReads and observerReads the ms are sums; the others count: reads that went to the active, by ' +
        'reason; attempts at observers that went on elsewhere, by reason; observers left alone and probed; msyncs',
    }),
  },
  { title: 'ObservedNameservice' },
);

/** Reads from observers: what is known and what was done. */
export function observerRoutes({ observers }: ApiParts): AnyRoute[] {
  const readObservers: ApiRoute = {
    method: 'GET',
    path: '/observers',
    operation: 'listObservers',
    summary: 'nameservices whose observers serve reads: state ids, lags, and what became of reads',
    answer: answer({ nameservices: list(OBSERVED) }),
    run: () => ({ nameservices: observers() }),
  };
  return [readObservers];
}
