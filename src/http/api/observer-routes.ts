import { FIGURES } from '../../observer/shared/figures.ts';
import type { ApiParts } from './parts.ts';
import type { AnyRoute, ApiRoute } from './route.ts';
import { answer, list } from './schema.ts';

const TEXT = { type: 'string' } as const;
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
    figures: answer(Object.fromEntries(FIGURES.map((name) => [name, { type: 'number' }])), {
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
