import type { ListedNamenode } from '../../control/membership/election.ts';
import type { KnownDatanodes } from './datanodes.ts';

/** Sums over the enabled nameservices, of what the first NameNode in the list of each reports. */
export interface Totals {
  /** Bytes. */
  readonly capacity: bigint;
  readonly remaining: bigint;
  readonly provided: bigint;
  /** DataNodes, each once. */
  readonly live: number;
  readonly dead: number;
  readonly stale: number;
  readonly decommissioning: number;
  readonly decommissionedLive: number;
  readonly decommissionedDead: number;
  readonly inMaintenanceLive: number;
  readonly inMaintenanceDead: number;
  readonly enteringMaintenance: number;
  /** Of any other count, by its name in the reports. */
  count(field: string): number;
}

/** Counts of DataNodes by their names in the reports. */
const NODE_FIELDS = {
  live: 'numOfActiveDatanodes',
  dead: 'numOfDeadDatanodes',
  decommissioning: 'numOfDecommissioningDatanodes',
  decommissionedLive: 'numOfDecomActiveDatanodes',
  decommissionedDead: 'numOfDecomDeadDatanodes',
  inMaintenanceLive: 'numOfInMaintenanceLiveDataNodes',
  inMaintenanceDead: 'numOfInMaintenanceDeadDataNodes',
  enteringMaintenance: 'numOfEnteringMaintenanceDataNodes',
} as const;
type NodeCount = keyof typeof NODE_FIELDS;

/**
 * A DataNode that serves several nameservices is counted once, with its space. Nameservices whose DataNodes are not known are added as they
 * report themselves. What a NameNode could not tell (−1) adds nothing.
 */
export function addUp(lists: ReadonlyMap<string, readonly ListedNamenode[]>, datanodes: KnownDatanodes): Totals {
  const firsts = [...lists].map(([id, [first]]) => ({ id, stats: first?.record.stats ?? {} }));
  const sum = (field: string, of = firsts): bigint =>
    of.reduce((total, { stats }) => {
      const value = BigInt(stats[field] ?? 0);
      return value > 0n ? total + value : total;
    }, 0n);
  const isKnown = datanodes.nameservices;
  const unknown = firsts.filter(({ id }) => !isKnown.has(id));
  const counts = Object.fromEntries(
    Object.entries(NODE_FIELDS).map(([name, field]) => [name, Number(sum(field, unknown))]),
  ) as Record<NodeCount, number>;
  let capacity = sum('totalSpace', unknown);
  let remaining = sum('availableSpace', unknown);
  for (const { isLive, info } of datanodes.nodes) {
    counts[isLive ? 'live' : 'dead']++;
    const special = specialCount(info.adminState, isLive);
    if (special !== null) counts[special]++;
    if (!isLive) continue;
    capacity += BigInt(info.capacity);
    remaining += BigInt(info.remaining);
  }
  return {
    ...counts,
    capacity,
    remaining,
    provided: sum('providedSpace'),
    stale: Math.min(counts.live, Number(sum('numOfStaleDatanodes'))),
    count: (field) => Number(sum(field)),
  };
}

function specialCount(state: string, isLive: boolean): NodeCount | null {
  switch (state) {
    case 'DECOMMISSION_INPROGRESS':
      return 'decommissioning';
    case 'DECOMMISSIONED':
      return isLive ? 'decommissionedLive' : 'decommissionedDead';
    case 'ENTERING_MAINTENANCE':
      return 'enteringMaintenance';
    case 'IN_MAINTENANCE':
      return isLive ? 'inMaintenanceLive' : 'inMaintenanceDead';
    default:
      return null;
  }
}
