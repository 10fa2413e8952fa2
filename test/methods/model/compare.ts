import { RemoteError } from '../../../src/control/rpc-client.ts';
import type { Plain } from '../../../src/wire/messages.ts';
import type { MethodClient } from '../../support/method-cluster.ts';
import { join } from '../../support/plain-view.ts';
import type { MountRules } from './mount-rules.ts';
import { HOME, isInTrash } from './trash.ts';

/** What a call came to. `error` is the exception's class without its package. */
export type Outcome = { readonly value: Plain } | { readonly error: string; readonly text: string };

/** Plain data that is the same from both. */
export type Comparable = Readonly<Record<string, unknown>>;

/** Times below are those that a sequence has set; others are the moment of the change, which differs between two NameNodes. */
const LATEST_SET_MS = 1_000;

export async function ask(client: MethodClient, method: string, request: object): Promise<Outcome> {
  try {
    return { value: await client.call(`ClientProtocol.${method}`, request) };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const { className, text } = error;
    return { error: className.slice(className.lastIndexOf('.') + 1), text: text.split('\n', 1)[0] ?? '' };
  }
}

/** All pages of a listing, and what was wrong with them; null when there is no such path. */
export async function listAll(
  client: MethodClient,
  src: string,
  needLocation: boolean,
): Promise<{ entries: Plain[]; faults: string[] } | null | { error: string; text: string }> {
  const entries: Plain[] = [];
  const faults: string[] = [];
  let startAfter = Buffer.alloc(0);
  for (;;) {
    const outcome = await ask(client, 'getListing', { src, startAfter, needLocation });
    if ('error' in outcome) return outcome;
    const listing = outcome.value['dirList'] as { partialListing: Plain[]; remainingEntries: number } | undefined;
    if (listing === undefined) return null;
    for (const entry of listing.partialListing) {
      const name = Buffer.from(entry['path'] as Buffer);
      if (name.length > 0 && Buffer.compare(name, startAfter) <= 0) faults.push(`${name} comes after ${startAfter}`);
      startAfter = name;
      entries.push(entry);
    }
    if (listing.remainingEntries === 0) return { entries, faults };
    if (listing.partialListing.length === 0) {
      faults.push(`an empty page after ${startAfter}, although ${listing.remainingEntries} remain`);
      return { entries, faults };
    }
  }
}

/**
 * What of a file status must be the same. Left out:
 *
 * - inode numbers, and the moment of changes: each NameNode has its own;
 * - times of directories: each location has its own, and mount points have none;
 * - owner, group and permission of mount points and of directories above them: those of a record, of the target, or of nothing at all;
 * - numbers of children where mount points are among them, which the NameNode does not know. Where several nameservices have a directory
 *   it counts the directories of each: then it is only whether there are any;
 * - of the trash, who made it and its size: each nameservice has its own, wherever the home directory is.
 */
export function comparable(status: Plain, path: string, rules: MountRules): Comparable {
  const isDirectory = status['fileType'] === 'IS_DIR';
  const isSkeleton = rules.isSkeleton(path);
  const same: Record<string, unknown> = {
    fileType: status['fileType'],
    length: Number(status['length']),
    replication: status['block_replication'],
    blocksize: Number(status['blocksize']),
  };
  if (!isSkeleton && !isInTrash(path)) {
    same['owner'] = status['owner'];
    same['group'] = status['group'];
    same['perm'] = (status['permission'] as Plain)['perm'];
    same['storagePolicy'] = status['storagePolicy'];
  }
  if (!isDirectory) {
    const mtime = Number(status['modification_time']);
    same['mtime'] = mtime < LATEST_SET_MS ? mtime : 'when it was changed';
    if (status['locations'] !== undefined) same['locations'] = comparableBlocks(status['locations'] as Plain);
  } else if (!rules.mountsBelow(path) && !isInTrash(path) && path !== HOME) {
    const children = Number(status['childrenNum']);
    if (!rules.isSeveral(path)) same['children'] = children;
    else if (!isSkeleton) same['children'] = children > 0 ? 'some' : 'none';
  }
  return same;
}

export function comparableEntries(entries: readonly Plain[], path: string, rules: MountRules): [string, Comparable][] {
  return entries.map((entry): [string, Comparable] => {
    const name = String(entry['path']);
    return [name, comparable(entry, join(path, name), rules)];
  });
}

/** Without block numbers, pools and DataNodes, of which each NameNode gives its own. */
export function comparableBlocks(located: Plain): Comparable {
  const blocks = (located['blocks'] as Plain[]).map((block) => [
    Number(block['offset']),
    Number((block['b'] as Plain)['numBytes']),
    (block['locs'] as unknown[]).length,
  ]);
  return { fileLength: Number(located['fileLength']), underConstruction: located['underConstruction'], blocks };
}

/**
 * Directories of the trash are in several nameservices, each of which counts its own: only their files are compared. Limits only where no mount point is: the root of a NameNode has one that other directories do not have.
 */
export function comparableSummary(summary: Plain, path: string, rules: MountRules): Comparable {
  const limits = rules.isSkeleton(path) ? [] : ['quota', 'spaceQuota'];
  const same: Record<string, string> = {};
  const directories = isInTrash(path) ? [] : ['directoryCount'];
  for (const field of ['length', 'fileCount', 'spaceConsumed', ...directories, ...limits]) {
    same[field] = String(summary[field]);
  }
  return same;
}

export function comparableXAttrs(xAttrs: readonly Plain[]): string[] {
  return xAttrs.map(({ namespace, name, value }) => `${namespace}.${name}=${value}`).sort();
}

/** As text for people. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'bigint') return Number(each);
    const bytes = each as { type?: unknown; data?: number[] } | null;
    return typeof bytes === 'object' && bytes?.type === 'Buffer' ? Buffer.from(bytes.data ?? []).toString() : each;
  });
}
