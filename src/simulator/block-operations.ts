/** Blocks of files that are being written: where they go, what becomes of them. */

import { messageOf, messagesOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { Block } from './blocks.ts';
import { describeBlock, locatedBlock } from './blocks.ts';
import type { DataNode } from './datanodes.ts';
import type { File } from './inodes.ts';
import { checkOpenFile } from './open-files.ts';
import type { Site } from './operation.ts';
import { checkSuperuser } from './permission-check.ts';
import { spaceOfNewBlock, verifySpace } from './quotas.ts';

/** Files of one answer to listCorruptFileBlocks. */
const MAX_CORRUPT_FILES = 100;
/** Numbers of striped blocks are negative, with room for the units of each. */
const STRIPED_UNITS = 16;

export function addBlock(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot add block to ${src}`);
  const { namespace } = site;
  const file = checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'clientName'));
  const previous = messageOf(request, 'previous');
  const known = checkPrevious(site, file, previous, src);
  if (known !== null) {
    return { block: locatedBlock(known, file.length - known.bytes, file.erasureCodingPolicy) };
  }
  const excluded = new Set(messagesOf(request, 'excludeNodes').map(uuidOf));
  const candidates = site.namenode.datanodes.filter((node) => node.takesBlocks && !excluded.has(node.uuid));
  checkEnoughNodes(site, src, file, candidates.length, excluded.size);
  commitLastBlock(site, file, previous);
  verifySpace(file.parent, () => spaceOfNewBlock(file));
  const policy = file.erasureCodingPolicy;
  const number = namespace.takeBlockId();
  const block: Block = {
    poolId: site.namenode.blockPoolId,
    id: policy === null ? number : -number * STRIPED_UNITS,
    generationStamp: namespace.takeGenerationStamp(),
    bytes: 0,
    nodes: rotate(candidates, number).slice(
      0,
      policy === null ? file.replication : policy.dataUnits + policy.parityUnits,
    ),
    isCommitted: false,
    corrupt: new Set(),
  };
  const offset = file.length;
  file.blocks.push(block);
  namespace.logEdit();
  return { block: locatedBlock(block, offset, policy) };
}

/**
 * The client names the block before the new one. When that is the last but one, the answer to its first request was lost: the block it
 * asks for is there. Null: there is none yet.
 */
function checkPrevious(site: Site, file: File, previous: Plain | undefined, src: string): Block | null {
  if (previous !== undefined) {
    checkPool(site, previous);
  }
  const id = previous === undefined ? undefined : numberOf(previous, 'blockId');
  const last = file.blocks.at(-1);
  if (last?.id === id) {
    return null;
  }
  if (last !== undefined && file.blocks.at(-2)?.id === id) {
    if (last.bytes > 0) {
      throw ioException(
        `Request looked like a retry to allocate block ${describeBlock(last)} but it already contains ${last.bytes} bytes`,
      );
    }
    return last;
  }
  // Closed and opened again, a file may get a new block although its last one is not named.
  if (previous === undefined && last?.isCommitted === true) {
    return null;
  }
  throw ioException(
    `Cannot allocate block in ${src}: passed 'previous' block ${previous === undefined ? 'null' : describe(previous)} ` +
      `does not match actual last block in file ${last === undefined ? 'null' : describeBlock(last)}`,
  );
}

function checkEnoughNodes(site: Site, src: string, file: File, found: number, excluded: number): void {
  const policy = file.erasureCodingPolicy;
  const needed = policy === null ? 1 : policy.dataUnits;
  if (found >= needed) {
    return;
  }
  const what = policy === null ? 'minReplication nodes' : `required nodes for ${policy.name}`;
  const running = site.namenode.datanodes.filter((node) => node.figures.isLive).length;
  throw ioException(
    `File ${src} could only be written to ${found} of the ${needed} ${what}. ` +
      `There are ${running} datanode(s) running and ${excluded} node(s) are excluded in this operation.`,
  );
}

/** Same block, same nodes: NameNodes that apply the edit choose alike. */
function rotate<T>(all: readonly T[], by: number): T[] {
  const start = all.length === 0 ? 0 : by % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}

/** Takes over what the client says of its last block. Nothing when it names none, or the file has none. */
export function commitLastBlock(site: Site, file: File, committed: Plain | undefined): void {
  const last = file.blocks.at(-1);
  if (committed === undefined || last === undefined) {
    return;
  }
  checkPool(site, committed);
  if (last.id !== numberOf(committed, 'blockId') || last.isCommitted) {
    return;
  }
  if (last.generationStamp !== numberOf(committed, 'generationStamp')) {
    throw ioException(
      `Commit block with mismatching GS. NN has ${describeBlock(last)}, client submits ${describe(committed)}`,
    );
  }
  last.bytes = numberOf(committed, 'numBytes');
  last.isCommitted = true;
}

/** Gives back the last block of a file; another block is none of the file's, and nothing changes. */
export function abandonBlock(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const given = messageOf(request, 'b') ?? {};
  site.checkSafeMode(`Cannot abandon block ${describe(given)} for file${src}`);
  const file = checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'holder'));
  const last = file.blocks.at(-1);
  if (last !== undefined && last.id === numberOf(given, 'blockId') && !last.isCommitted) {
    file.blocks.pop();
    site.namespace.logEdit();
  }
  return {};
}

/** More nodes for a block whose pipeline lost some; as many as there are. */
export function getAdditionalDatanode(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  const given = messageOf(request, 'blk') ?? {};
  site.checkSafeMode(`Cannot add datanode; src=${src}, blk=${describe(given)}`);
  checkPool(site, given);
  const file = checkOpenFile(site, src, numberOf(request, 'fileId'), textOf(request, 'clientName'));
  const existing = nodesNamed(site, messagesOf(request, 'existings').map(uuidOf));
  const unwanted = new Set([...existing.map((node) => node.uuid), ...messagesOf(request, 'excludes').map(uuidOf)]);
  const candidates = site.namenode.datanodes.filter((node) => node.takesBlocks && !unwanted.has(node.uuid));
  const added = rotate(candidates, Math.abs(numberOf(given, 'blockId'))).slice(
    0,
    numberOf(request, 'numAdditionalNodes'),
  );
  return { block: locatedBlock(toBlock(given, [...existing, ...added]), 0, file.erasureCodingPolicy) };
}

/** A new generation stamp for a block that is being written. */
export function updateBlockForPipeline(site: Site, request: Plain): Plain {
  const given = messageOf(request, 'block') ?? {};
  const { file, block } = blockInWriting(site, given, textOf(request, 'clientName'));
  const generationStamp = site.namespace.takeGenerationStamp();
  site.namespace.logEdit();
  const renewed = { ...toBlock(given, []), id: block.id, generationStamp };
  return { block: locatedBlock(renewed, 0, file.erasureCodingPolicy) };
}

/** The pipeline goes on with other nodes. */
export function updatePipeline(site: Site, request: Plain): Plain {
  const oldBlock = messageOf(request, 'oldBlock') ?? {};
  const newBlock = messageOf(request, 'newBlock') ?? {};
  const { block } = blockInWriting(site, oldBlock, textOf(request, 'clientName'));
  if (numberOf(newBlock, 'blockId') !== numberOf(oldBlock, 'blockId')) {
    throw new RemoteException(
      JAVA.ASSERTION,
      `${describe(oldBlock)} and ${describe(newBlock)} has different block identifier`,
    );
  }
  const generationStamp = numberOf(newBlock, 'generationStamp');
  if (generationStamp <= block.generationStamp) {
    throw ioException(
      `Update ${describe(oldBlock)} but the new block ${describe(newBlock)} does not have a larger generation stamp ` +
        `than the last block ${describeBlock(block)}`,
    );
  }
  const bytes = numberOf(newBlock, 'numBytes');
  if (bytes < block.bytes) {
    throw ioException(
      `Update ${describe(oldBlock)} (size=${block.bytes}) to a smaller size block ${describe(newBlock)} (size=${bytes})`,
    );
  }
  block.nodes = nodesNamed(
    site,
    messagesOf(request, 'newNodes').map((id) => textOf(id, 'datanodeUuid')),
  );
  block.generationStamp = generationStamp;
  block.bytes = bytes;
  site.namespace.logEdit();
  return {};
}

function blockInWriting(site: Site, given: Plain, holder: string): { file: File; block: Block } {
  site.checkSafeMode(`Cannot get a new generation stamp and an access token for block ${describe(given)}`);
  checkPool(site, given);
  const found = findBlock(site, numberOf(given, 'blockId'));
  if (found === null) {
    throw ioException(`${describe(given)} does not exist.`);
  }
  if (found.block.isCommitted) {
    throw ioException(`Unexpected BlockUCState: ${describe(given)} is COMPLETE but not UNDER_CONSTRUCTION`);
  }
  if (found.file.writer?.holder !== holder) {
    throw new RemoteException(
      JAVA.LEASE_EXPIRED,
      `Lease mismatch: ${describe(given)} is accessed by a non lease holder ${holder}`,
    );
  }
  return found;
}

function findBlock(site: Site, id: number): { file: File; block: Block } | null {
  for (const file of site.namespace.files()) {
    const block = file.blocks.find((one) => one.id === id);
    if (block !== undefined) {
      return { file, block };
    }
  }
  return null;
}

/** Clients report replicas whose checksums were wrong. What only DataNodes know is no edit. */
export function reportBadBlocks(site: Site, request: Plain): Plain {
  for (const bad of messagesOf(request, 'blocks')) {
    const given = messageOf(bad, 'b') ?? {};
    const found = findBlock(site, numberOf(given, 'blockId'));
    for (const info of messagesOf(bad, 'locs')) {
      const uuid = uuidOf(info);
      const node = site.namenode.datanodes.find((one) => one.uuid === uuid);
      if (found === null) {
        continue;
      }
      if (node === undefined) {
        const id = messageOf(info, 'id') ?? {};
        throw ioException(
          `Cannot mark ${describeBlock(found.block)} as corrupt because datanode ` +
            `${textOf(id, 'ipAddr')}:${numberOf(id, 'xferPort')} (${uuid}) does not exist`,
        );
      }
      if (found.block.nodes.includes(node)) {
        found.block.corrupt.add(node);
      }
    }
  }
  return {};
}

/** Files below a path with a block that has no good replica left. The cookie counts the corrupt blocks that were looked at. */
export function listCorruptFileBlocks(site: Site, request: Plain): Plain {
  const below = textOf(request, 'path');
  checkSuperuser(site.caller, 'listCorruptFileBlocks');
  const cookie = Number(textOf(request, 'cookie'));
  let looked = Number.isInteger(cookie) && cookie > 0 ? cookie : 0;
  const files: string[] = [];
  for (const file of filesWithMissingBlocks(site).slice(looked)) {
    looked++;
    const path = file.path();
    if (path.startsWith(below)) {
      files.push(path);
    }
    if (files.length >= Math.min(MAX_CORRUPT_FILES, site.settings.listingLimit)) {
      break;
    }
  }
  return { corrupt: { files, cookie: String(looked) } };
}

/** Once for each such block. */
function filesWithMissingBlocks(site: Site): File[] {
  return [...site.namespace.files()].flatMap((file) => file.blocks.filter(isMissing).map(() => file));
}

/** No replica is good. */
export function isMissing(block: Block): boolean {
  return block.nodes.length > 0 && block.corrupt.size === block.nodes.length;
}

function checkPool(site: Site, given: Plain): void {
  const pool = textOf(given, 'poolId');
  const own = site.namenode.blockPoolId;
  if (pool !== own) {
    throw ioException(`Unexpected BlockPoolId ${pool} - expected ${own}`);
  }
}

function nodesNamed(site: Site, uuids: readonly string[]): DataNode[] {
  return uuids.flatMap((uuid) => site.namenode.datanodes.filter((node) => node.uuid === uuid));
}

/** Of DatanodeInfoProto. */
function uuidOf(info: Plain): string {
  return textOf(messageOf(info, 'id') ?? {}, 'datanodeUuid');
}

function toBlock(given: Plain, nodes: readonly DataNode[]): Block {
  return {
    poolId: textOf(given, 'poolId'),
    id: numberOf(given, 'blockId'),
    generationStamp: numberOf(given, 'generationStamp'),
    bytes: numberOf(given, 'numBytes'),
    nodes,
    isCommitted: false,
    corrupt: new Set(),
  };
}

function describe(given: Plain): string {
  return describeBlock(toBlock(given, []));
}
