/** What a NameNode says about its DataNodes and about the blocks on them. */

import { messageOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import { isMissing } from './block-operations.ts';
import type { Block } from './blocks.ts';
import type { DataNode, ReportType, Stored } from './datanodes.ts';
import type { Site } from './operation.ts';
import { checkSuperuser } from './permission-check.ts';

const DEFAULT_MIN_BLOCK_BYTES = 10 * 1024 * 1024;
/** The "keys" of a NameNode whose block tokens are off. */
const NO_BLOCK_KEYS: Plain = {
  isBlockTokenEnabled: false,
  keyUpdateInterval: 0,
  tokenLifeTime: 0,
  currentKey: { keyId: 0, expiryDate: 0, keyBytes: Buffer.alloc(0) },
  allKeys: [],
};

export function getDatanodeReport(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'datanodeReport');
  const stored = storedByNode(site);
  return { di: nodesOf(site, request).map((node) => node.info(stored.get(node))) };
}

export function getDatanodeStorageReport(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'getDatanodeStorageReport');
  const stored = storedByNode(site);
  return {
    datanodeStorageReports: nodesOf(site, request).map((node) => ({
      datanodeInfo: node.info(stored.get(node)),
      storageReports: [node.storageReport(stored.get(node) ?? { bytes: 0, blocks: 0 })],
    })),
  };
}

export function getSlowDatanodeReport(site: Site): Plain {
  const stored = storedByNode(site);
  const slow = site.namenode.datanodes.filter((node) => node.figures.isLive && node.figures.isSlow);
  return { datanodeInfoProto: slow.map((node) => node.info(stored.get(node))) };
}

function nodesOf(site: Site, request: Plain): DataNode[] {
  const type = textOf(request, 'type') as ReportType;
  return site.namenode.datanodes.filter((node) => node.isOfType(type));
}

/** What this nameservice keeps on each node. */
function storedByNode(site: Site): Map<DataNode, Stored> {
  const stored = new Map<DataNode, Stored>();
  for (const { block, nodeBytes } of allBlocks(site)) {
    for (const node of block.nodes) {
      const { bytes, blocks } = stored.get(node) ?? { bytes: 0, blocks: 0 };
      stored.set(node, { bytes: bytes + nodeBytes, blocks: blocks + 1 });
    }
  }
  return stored;
}

interface PlacedBlock {
  readonly block: Block;
  /** Nodes that the block should be on. */
  readonly wanted: number;
  /** Bytes that the block has on each of them. */
  readonly nodeBytes: number;
  readonly isStriped: boolean;
}

function* allBlocks(site: Site): Generator<PlacedBlock> {
  // Without DataNodes no file has a block, and large namespaces are not walked for nothing.
  if (site.namenode.datanodes.length === 0) {
    return;
  }
  for (const file of site.namespace.files()) {
    const policy = file.erasureCodingPolicy;
    for (const block of file.blocks) {
      yield {
        block,
        wanted: policy === null ? file.replication : policy.dataUnits + policy.parityUnits,
        nodeBytes: policy === null ? block.bytes : Math.ceil(block.bytes / policy.dataUnits),
        isStriped: policy !== null,
      };
    }
  }
}

export function getFsStats(site: Site): Plain {
  const stored = storedByNode(site);
  let capacity = 0;
  let used = 0;
  let remaining = 0;
  for (const node of site.namenode.datanodes) {
    if (node.figures.isLive) {
      const own = stored.get(node) ?? { bytes: 0, blocks: 0 };
      capacity += node.capacityBytes;
      used += node.usedBytes(own);
      remaining += node.remainingBytes(own);
    }
  }
  const all = [...allBlocks(site)];
  const health = healthOf(all);
  return {
    capacity,
    used,
    remaining,
    under_replicated: health.lowRedundancy,
    corrupt_blocks: health.corrupt,
    missing_blocks: health.missing,
    missing_repl_one_blocks: health.missingSingle,
    blocks_in_future: 0,
    pending_deletion_blocks: 0,
  };
}

export function getFsReplicatedBlockStats(site: Site): Plain {
  const health = healthOf([...allBlocks(site)].filter((one) => !one.isStriped));
  return {
    low_redundancy: health.lowRedundancy,
    corrupt_blocks: health.corrupt,
    missing_blocks: health.missing,
    missing_repl_one_blocks: health.missingSingle,
    blocks_in_future: 0,
    pending_deletion_blocks: 0,
    highest_prio_low_redundancy_blocks: health.highestPriority,
  };
}

export function getFsECBlockGroupStats(site: Site): Plain {
  const health = healthOf([...allBlocks(site)].filter((one) => one.isStriped));
  return {
    low_redundancy: health.lowRedundancy,
    corrupt_blocks: health.corrupt,
    missing_blocks: health.missing,
    blocks_in_future: 0,
    pending_deletion_blocks: 0,
    highest_prio_low_redundancy_blocks: health.highestPriority,
  };
}

interface Health {
  lowRedundancy: number;
  /** With a replica that is bad. */
  corrupt: number;
  /** Without a good one. */
  missing: number;
  missingSingle: number;
  /** With one good replica where there should be more. */
  highestPriority: number;
}

function healthOf(blocks: readonly PlacedBlock[]): Health {
  const health: Health = { lowRedundancy: 0, corrupt: 0, missing: 0, missingSingle: 0, highestPriority: 0 };
  for (const { block, wanted } of blocks) {
    if (!block.isCommitted) {
      continue;
    }
    const good = block.nodes.filter((node) => node.figures.isLive && !block.corrupt.has(node)).length;
    health.corrupt += block.corrupt.size > 0 ? 1 : 0;
    health.lowRedundancy += good < wanted ? 1 : 0;
    health.highestPriority += good === 1 && wanted > 1 ? 1 : 0;
    if (good === 0 || isMissing(block)) {
      health.missing++;
      health.missingSingle += wanted === 1 ? 1 : 0;
    }
  }
  return health;
}

/** Blocks of a node, for balancers: as many as make up a size. */
export function getBlocks(site: Site, request: Plain): Plain {
  const id = messageOf(request, 'datanode') ?? {};
  const size = numberOf(request, 'size');
  const least = numberOf(request, 'minBlockSize', DEFAULT_MIN_BLOCK_BYTES);
  for (const value of size <= 0 ? [size] : least < 0 ? [least] : []) {
    throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `Unexpected not positive size: ${value}`);
  }
  checkSuperuser(site.caller, 'getBlocks');
  site.checkSafeMode('Cannot execute getBlocks');
  const node = site.namenode.datanodes.find((one) => one.uuid === textOf(id, 'datanodeUuid'));
  if (node === undefined) {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      `Datanode ${textOf(id, 'ipAddr')}:${numberOf(id, 'xferPort')} not found.`,
    );
  }
  const type = textOf(request, 'storageType');
  const blocks: Plain[] = [];
  let total = 0;
  for (const { block, nodeBytes, isStriped } of allBlocks(site)) {
    if (total >= size) {
      break;
    }
    if (isStriped || !block.nodes.includes(node) || nodeBytes < least || (type !== '' && type !== node.storageType)) {
      continue;
    }
    total += nodeBytes;
    blocks.push({
      block: { blockId: block.id, genStamp: block.generationStamp, numBytes: block.bytes },
      datanodeUuids: block.nodes.map((one) => one.uuid),
      storageUuids: block.nodes.map((one) => one.storageUuid),
      storageTypes: block.nodes.map((one) => one.storageType),
    });
  }
  return { blocks: { blocks } };
}

export function getBlockKeys(site: Site): Plain {
  checkSuperuser(site.caller, 'getBlockKeys');
  return { keys: NO_BLOCK_KEYS };
}
