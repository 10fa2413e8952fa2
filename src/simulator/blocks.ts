/** Blocks of files and what they take up on DataNodes. Nobody keeps their bytes: a block is its numbers. */
import type { Plain } from '../wire/messages.ts';
import type { DataNode } from './datanodes.ts';
import type { ErasureCodingPolicy } from './erasure-coding-policies.ts';
import type { File } from './inodes.ts';
import { storageTypesOf } from './storage-policies.ts';

export interface Block {
  readonly poolId: string;
  readonly id: number;
  generationStamp: number;
  /** Length as the client reported it last. */
  bytes: number;
  nodes: readonly DataNode[];
  /** False while the client writes it: until then it counts as full. */
  isCommitted: boolean;
  /** Nodes whose replica was reported as bad. */
  readonly corrupt: Set<DataNode>;
}

/** Where blocks are, in an answer: no blocks at all, their DataNodes, or blocks without DataNodes. */
export type BlockPlaces = 'left out' | 'known' | 'unknown';

/** Blocks of files that are striped over DataNodes have negative numbers in HDFS. */
export const FIRST_BLOCK_ID = 2 ** 30 + 1;
export const FIRST_GENERATION_STAMP = 1001;

/** Without Kerberos there are no block tokens: all of theirs are empty. */
const NO_TOKEN: Plain = { identifier: Buffer.alloc(0), password: Buffer.alloc(0), kind: '', service: '' };

/** ExtendedBlockProto. */
function extendedBlock(block: Block): Plain {
  return { poolId: block.poolId, blockId: block.id, generationStamp: block.generationStamp, numBytes: block.bytes };
}

/** `BP-1-127.0.0.1-2:blk_3_4`, as texts name a block. */
export function describeBlock(block: Pick<Block, 'poolId' | 'id' | 'generationStamp'>): string {
  return `${block.poolId}:blk_${block.id}_${block.generationStamp}`;
}

/** LocatedBlockProto; a striped block says which of its units each node has. */
export function locatedBlock(
  block: Block,
  offset: number,
  policy: ErasureCodingPolicy | null,
  places: BlockPlaces = 'known',
): Plain {
  const isKnown = places === 'known';
  const isCorrupt = isKnown && block.nodes.length > 0 && block.corrupt.size === block.nodes.length;
  // While one replica is good, bad ones are not offered.
  const nodes = isCorrupt ? block.nodes : block.nodes.filter((node) => isKnown && !block.corrupt.has(node));
  return {
    b: extendedBlock(block),
    offset,
    locs: nodes.map((node) => node.info()),
    corrupt: isCorrupt,
    blockToken: NO_TOKEN,
    isCached: nodes.map(() => false),
    storageTypes: nodes.map((node) => node.storageType),
    storageIDs: nodes.map((node) => node.storageUuid),
    ...(policy === null
      ? {}
      : {
          blockIndices: Buffer.from(nodes.map((node) => block.nodes.indexOf(node))),
          blockTokens: nodes.map(() => NO_TOKEN),
        }),
  };
}

/** LocatedBlocksProto of a file. */
export function locatedBlocksOf(file: File, places: BlockPlaces): Plain {
  let offset = 0;
  const blocks = file.blocks.map((block) => {
    const located = locatedBlock(block, offset, file.erasureCodingPolicy, places);
    offset += block.bytes;
    return located;
  });
  const last = blocks.at(-1);
  const policy = file.erasureCodingPolicy;
  return {
    fileLength: offset,
    blocks,
    underConstruction: file.writer !== null,
    ...(last === undefined ? {} : { lastBlock: last }),
    isLastBlockComplete: file.blocks.at(-1)?.isCommitted === true,
    ...(policy === null ? {} : { ecPolicy: policy.reference() }),
  };
}

/** Bytes of all replicas, or of data and parity, that one block of this length takes. */
export function spaceOfBlock(bytes: number, replication: number, policy: ErasureCodingPolicy | null): number {
  if (policy === null) {
    return bytes * replication;
  }
  if (bytes === 0) {
    return 0;
  }
  const { dataUnits, parityUnits, cellBytes } = policy;
  const stripeBytes = dataUnits * cellBytes;
  const fullStripes = Math.floor((bytes - 1) / stripeBytes);
  const lastStripeBytes = bytes - fullStripes * stripeBytes;
  return bytes + (fullStripes * cellBytes + Math.min(cellBytes, lastStripeBytes)) * parityUnits;
}

/** What the blocks of a file take on all DataNodes; one that is being written counts as full. */
export function spaceOf(file: File): number {
  let space = 0;
  for (const block of file.blocks) {
    const bytes = block.isCommitted ? block.bytes : Math.max(block.bytes, file.blockSize);
    space += spaceOfBlock(bytes, file.replication, file.erasureCodingPolicy);
  }
  return space;
}

/** Bytes by storage type that `bytes` of a file's content count for; none without a storage policy of its own or from above. */
export function typeSpace(policyId: number, replication: number, bytes: number): Map<string, number> {
  const space = new Map<string, number>();
  for (const type of storageTypesOf(policyId, replication)) {
    space.set(type, (space.get(type) ?? 0) + bytes);
  }
  return space;
}
