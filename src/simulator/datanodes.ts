/**
 * DataNodes as one nameservice sees them. Several nameservices may have the same node, each with its own figures. No DataNode runs: the
 * nodes are there to be reported, and to be chosen as places of blocks.
 */
import type { Plain } from '../wire/messages.ts';

export const MAX_DATANODES = 1024;
const GIGABYTE = 1024 ** 3;

export type AdminState =
  | 'NORMAL'
  | 'DECOMMISSION_INPROGRESS'
  | 'DECOMMISSIONED'
  | 'ENTERING_MAINTENANCE'
  | 'IN_MAINTENANCE';

/** What differs from nameservice to nameservice. */
export interface DataNodeFigures {
  readonly dfsUsedBytes?: number;
  readonly blockPoolUsedBytes?: number;
  readonly nonDfsUsedBytes?: number;
  /** Time of the last heartbeat, milliseconds; default: start of the simulator. */
  readonly lastUpdateMs?: number;
  readonly xceivers?: number;
  readonly blocks?: number;
  /** False: no heartbeat for too long. */
  readonly isLive?: boolean;
  readonly isSlow?: boolean;
  readonly adminState?: AdminState;
}

export interface SimulatedDataNode extends DataNodeFigures {
  readonly uuid: string;
  readonly ip?: string;
  readonly host?: string;
  readonly xferPort?: number;
  readonly infoPort?: number;
  readonly ipcPort?: number;
  readonly rack?: string;
  readonly capacityBytes?: number;
  readonly storageType?: string;
  /** Nameservices that it serves; left out: all. */
  readonly nameservices?: readonly string[];
  /** Figures that override the node's own, by nameservice. */
  readonly figures?: Readonly<Record<string, DataNodeFigures>>;
}

/** DatanodeReportTypeProto. */
export type ReportType = 'ALL' | 'LIVE' | 'DEAD' | 'DECOMMISSIONING' | 'ENTERING_MAINTENANCE' | 'IN_MAINTENANCE';

/** Blocks that the nameservice keeps on a node. */
export interface Stored {
  readonly bytes: number;
  readonly blocks: number;
}

const NOTHING_STORED: Stored = { bytes: 0, blocks: 0 };

export class DataNode {
  readonly uuid: string;
  readonly ip: string;
  readonly xferPort: number;
  readonly rack: string;
  readonly capacityBytes: number;
  readonly storageType: string;
  readonly storageUuid: string;
  readonly figures: Required<DataNodeFigures>;
  readonly #id: Plain;

  constructor(node: SimulatedDataNode, nameservice: string, startedMs: number) {
    this.uuid = node.uuid;
    this.ip = node.ip ?? '127.0.0.1';
    this.xferPort = node.xferPort ?? 9866;
    this.rack = node.rack ?? '/default-rack';
    this.capacityBytes = node.capacityBytes ?? 1024 * GIGABYTE;
    this.storageType = node.storageType ?? 'DISK';
    this.storageUuid = `DS-${node.uuid}`;
    this.#id = {
      ipAddr: this.ip,
      hostName: node.host ?? 'localhost',
      datanodeUuid: node.uuid,
      xferPort: this.xferPort,
      infoPort: node.infoPort ?? 9864,
      ipcPort: node.ipcPort ?? 9867,
    };
    this.figures = {
      dfsUsedBytes: 0,
      blockPoolUsedBytes: 0,
      nonDfsUsedBytes: 0,
      lastUpdateMs: startedMs,
      xceivers: 0,
      blocks: 0,
      isLive: true,
      isSlow: false,
      adminState: 'NORMAL',
      ...figuresOf(node),
      ...node.figures?.[nameservice],
    };
  }

  /** Whether new blocks may go there. */
  get takesBlocks(): boolean {
    return this.figures.isLive && this.figures.adminState === 'NORMAL';
  }

  isOfType(type: ReportType): boolean {
    const { isLive, adminState } = this.figures;
    switch (type) {
      case 'ALL':
        return true;
      case 'LIVE':
        return isLive;
      case 'DEAD':
        return !isLive;
      case 'DECOMMISSIONING':
        return isLive && adminState === 'DECOMMISSION_INPROGRESS';
      default:
        return isLive && adminState === type;
    }
  }

  usedBytes(stored: Stored): number {
    return this.figures.dfsUsedBytes + stored.bytes;
  }

  remainingBytes(stored: Stored): number {
    return Math.max(0, this.capacityBytes - this.usedBytes(stored) - this.figures.nonDfsUsedBytes);
  }

  /** DatanodeInfoProto. */
  info(stored: Stored = NOTHING_STORED): Plain {
    const { figures } = this;
    return {
      id: this.#id,
      capacity: this.capacityBytes,
      dfsUsed: this.usedBytes(stored),
      remaining: this.remainingBytes(stored),
      blockPoolUsed: figures.blockPoolUsedBytes + stored.bytes,
      lastUpdate: figures.lastUpdateMs,
      xceiverCount: figures.xceivers,
      location: this.rack,
      nonDfsUsed: figures.nonDfsUsedBytes,
      adminState: figures.adminState,
      cacheCapacity: 0,
      cacheUsed: 0,
      lastUpdateMonotonic: figures.lastUpdateMs,
      lastBlockReportTime: figures.lastUpdateMs,
      lastBlockReportMonotonic: figures.lastUpdateMs,
      numBlocks: figures.blocks + stored.blocks,
    };
  }

  /** StorageReportProto: each node has one storage. */
  storageReport(stored: Stored): Plain {
    const { figures } = this;
    return {
      storageUuid: this.storageUuid,
      failed: false,
      capacity: this.capacityBytes,
      dfsUsed: this.usedBytes(stored),
      remaining: this.remainingBytes(stored),
      blockPoolUsed: figures.blockPoolUsedBytes + stored.bytes,
      storage: { storageUuid: this.storageUuid, state: 'NORMAL', storageType: this.storageType },
      nonDfsUsed: figures.nonDfsUsedBytes,
    };
  }

  /** `127.0.0.1:9866`, as texts name a node. */
  toString(): string {
    return `${this.ip}:${this.xferPort}`;
  }
}

/** The figures that a node names itself, none that are only there as undefined. */
function figuresOf(node: SimulatedDataNode): DataNodeFigures {
  const { dfsUsedBytes, blockPoolUsedBytes, nonDfsUsedBytes, lastUpdateMs, xceivers, blocks } = node;
  return {
    ...(dfsUsedBytes === undefined ? {} : { dfsUsedBytes }),
    ...(blockPoolUsedBytes === undefined ? {} : { blockPoolUsedBytes }),
    ...(nonDfsUsedBytes === undefined ? {} : { nonDfsUsedBytes }),
    ...(lastUpdateMs === undefined ? {} : { lastUpdateMs }),
    ...(xceivers === undefined ? {} : { xceivers }),
    ...(blocks === undefined ? {} : { blocks }),
    ...(node.isLive === undefined ? {} : { isLive: node.isLive }),
    ...(node.isSlow === undefined ? {} : { isSlow: node.isSlow }),
    ...(node.adminState === undefined ? {} : { adminState: node.adminState }),
  };
}

/** The nodes that serve a nameservice. */
export function datanodesOf(
  nodes: readonly SimulatedDataNode[],
  nameservice: string,
  startedMs: number,
): readonly DataNode[] {
  return nodes
    .filter((node) => node.nameservices?.includes(nameservice) ?? true)
    .map((node) => new DataNode(node, nameservice, startedMs));
}

/** Nodes without anything special: one to a rack, each in all nameservices. */
export function plainDataNodes(count: number): SimulatedDataNode[] {
  return Array.from({ length: count }, (_, at) => ({
    uuid: `datanode-${at}`,
    host: `datanode-${at}`,
    xferPort: 9866 + 10 * at,
    infoPort: 9864 + 10 * at,
    ipcPort: 9867 + 10 * at,
    rack: `/rack-${at}`,
  }));
}
