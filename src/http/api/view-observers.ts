import { formatAddress } from '../../config/address.ts';
import type { Membership } from '../../control/membership/membership.ts';
import type { ObserverLags } from '../../control/observers/observer-lags.ts';
import { State } from '../../observer/rules.ts';
import type { FigureName } from '../../observer/shared/figures.ts';
import type { StateWords } from '../../observer/shared/state-words.ts';
import { Clock } from '../../shared/clock.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import type { Settings, Topology } from '../../shared/settings.ts';
import type { ObservedView } from './parts.ts';
import { stateName } from './view-nameservices.ts';

/** What reads from observers are seen by; null when no nameservice takes part. */
export interface ObserverSources {
  readonly words: StateWords;
  readonly lags: Pick<ObserverLags, 'lags'> | null;
  /** By nameservice. */
  figures(): readonly Readonly<Record<FigureName, number>>[];
}

/** The nameservices that take part, from what is in memory: no NameNode is asked. */
export function viewObservers(
  { nameservices }: Topology,
  { observers }: Pick<Settings, 'observers'>,
  block: ControlBlock,
  { namenodes }: Pick<Membership, 'namenodes'>,
  sources: ObserverSources | null,
): ObservedView[] {
  if (sources === null) return [];
  const { words } = sources;
  const figures = sources.figures();
  const lags = new Map((sources.lags?.lags ?? []).map((lag) => [lag.namenode, lag]));
  const { stamp } = new Clock();
  return nameservices.flatMap(({ id }, nameservice) => {
    if (observers.enabled[nameservice] !== true) return [];
    const { txid, epoch } = words.read(nameservice, new State());
    const provedMs = words.ageOf(nameservice, stamp);
    return [
      {
        nameservice: id,
        txid,
        epoch,
        provedMs: Number.isFinite(provedMs) ? Math.max(0, provedMs) : null,
        namenodes: namenodes
          .filter((namenode) => namenode.nameservice === nameservice)
          .map((namenode) => {
            const { lastTxid, behind, requeued, queueMs } = lags.get(namenode) ?? NO_LAG;
            return {
              id: namenode.namenodeId,
              rpcAddress: formatAddress(namenode.rpc.host, namenode.rpc.port),
              state: stateName(block, namenode),
              lastTxid,
              behind,
              requeued,
              queueMs,
              leftAlone: words.isSuspect(nameservice, namenode.index),
            };
          }),
        figures: figures[nameservice] as Readonly<Record<FigureName, number>>,
      },
    ];
  });
}

const NO_LAG = { lastTxid: -1, behind: -1, requeued: -1, queueMs: -1 } as const;
