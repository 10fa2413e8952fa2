import type { DatanodeInfo } from '../../control/hdfs-client.ts';
import { float32, jsonText } from './values.ts';

/** A DataNode as the nameservice has it that heard from it last. */
export interface Datanode {
  /** ip:xferPort; the same for all nameservices that it serves. */
  readonly address: string;
  /** It is, for one nameservice at least. */
  readonly isLive: boolean;
  readonly info: DatanodeInfo;
}

/** What the NameNodes of one nameservice said. */
export interface DatanodeReport {
  readonly live: readonly DatanodeInfo[];
  readonly dead: readonly DatanodeInfo[];
}

/** DataNodes of all nameservices, each once. */
export interface KnownDatanodes {
  readonly nodes: readonly Datanode[];
  /** Nameservices whose DataNodes these are; of others nothing is known. */
  readonly nameservices: ReadonlySet<string>;
}

/** Values of AdminState and what Java calls them. */
const ADMIN_STATES: Readonly<Record<string, string>> = {
  NORMAL: 'In Service',
  DECOMMISSION_INPROGRESS: 'Decommission In Progress',
  DECOMMISSIONED: 'Decommissioned',
  ENTERING_MAINTENANCE: 'Entering Maintenance',
  IN_MAINTENANCE: 'In Maintenance',
};
/** Values that no DataNode report has, as the Java Router gives them. */
const UNREPORTED = { version: 'UNKNOWN', numBlocks: -1, blockScheduled: -1, volfails: -1 } as const;
const DEFAULT_RACK = '/default-rack';

/** Of several reports of one DataNode a live one counts, then the newest. */
export function mergeReports(reports: ReadonlyMap<string, DatanodeReport>): KnownDatanodes {
  const nodes = new Map<string, Datanode>();
  for (const { live, dead } of reports.values()) {
    for (const [infos, isLive] of [
      [live, true],
      [dead, false],
    ] as const) {
      for (const info of infos) {
        const address = `${info.id.ipAddr}:${info.id.xferPort}`;
        const known = nodes.get(address);
        const isBetter =
          known === undefined || (known.isLive === isLive ? info.lastUpdate > known.info.lastUpdate : isLive);
        if (isBetter) nodes.set(address, { address, isLive, info });
      }
    }
  }
  return { nodes: [...nodes.values()], nameservices: new Set(reports.keys()) };
}

/** JSON of a list of DataNodes as LiveNodes has it: an object by host and port. */
export function nodesText(nodes: readonly Datanode[], nowMs: number): string {
  const fields = nodes.map(({ address, info }) => {
    const { id, capacity, dfsUsed, blockPoolUsed } = info;
    return `${JSON.stringify(`${id.hostName}:${id.xferPort}`)}:${numbersAsThey({
      infoAddr: `${id.ipAddr}:${id.infoPort}`,
      infoSecureAddr: `${id.ipAddr}:${id.infoSecurePort}`,
      xferaddr: address,
      location: info.location === undefined || info.location === '' ? DEFAULT_RACK : info.location,
      lastContact: Math.max(0, Math.trunc((nowMs - info.lastUpdate) / 1000)),
      usedSpace: dfsUsed,
      used: dfsUsed,
      adminState: ADMIN_STATES[info.adminState] ?? info.adminState,
      nonDfsUsedSpace: info.nonDfsUsed ?? 0,
      capacity,
      remaining: info.remaining,
      blockPoolUsed,
      blockPoolUsedPercent: percentOf(blockPoolUsed, capacity),
      blockPoolUsedPercentStdDev: 0,
      ...UNREPORTED,
    })}`;
  });
  return `{${fields.join(',')}}`;
}

/** How evenly live DataNodes are filled, as `NodeUsage` has it. */
export function usageText(nodes: readonly Datanode[]): string {
  const used = nodes
    .filter(({ isLive }) => isLive)
    .map(({ info }) => percentOf(info.dfsUsed, info.capacity))
    .sort((a, b) => a - b);
  const mean = used.reduce((sum, each) => sum + each, 0) / Math.max(1, used.length);
  const variance = used.reduce((sum, each) => sum + (each - mean) ** 2, 0) / Math.max(1, used.length);
  const text = (percent: number): string => `${percent.toFixed(2)}%`;
  return jsonText({
    nodeUsage: {
      min: text(used[0] ?? 0),
      median: text(used[used.length >> 1] ?? 0),
      max: text(used.at(-1) ?? 0),
      stdDev: text(Math.sqrt(variance)),
    },
  });
}

function percentOf(part: number | bigint, whole: number | bigint): number {
  return Number(whole) <= 0 ? 0 : float32((Number(part) * 100) / Number(whole));
}

/** JSON in which 64-bit values are numbers, however large. */
function numbersAsThey(fields: Readonly<Record<string, string | number | bigint>>): string {
  const items = Object.entries(fields).map(
    ([name, value]) => `"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`,
  );
  return `{${items.join(',')}}`;
}
