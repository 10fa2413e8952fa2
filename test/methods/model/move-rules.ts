import { join } from '../../support/plain-view.ts';
import { type Forced, isBelow, type MountRules, nameOf, parentOf } from './mount-rules.ts';
import type { World } from './world.ts';

const ACROSS: Forced = { className: 'IOException', text: 'not allowed' };

/**
 * Why a rename is refused because of the mount table, null when it is not: a mount point or what is above one, a read-only mount, no
 * nameservice, or a file (any part of a directory) whose nameservice does not have the new path.
 */
export async function renameRefusal(
  world: World,
  rules: MountRules,
  method: 'rename' | 'rename2',
  from: string,
  to: string,
): Promise<Forced | null> {
  const refusal = rules.refusalOfChange(method, from) ?? rules.refusalOfChange(method, to, false);
  if (refusal !== null) return refusal;
  const direct = (await across(world, rules, from, to)) ?? (await parentUnknown(world, rules, method, from, to));
  if (direct !== null || method === 'rename2' || isBelow(to, from) || to === from) return direct;
  // The old rename moves into a directory.
  const { fs } = await world.plain
    .call<{ fs?: { fileType: string } }>('ClientProtocol.getFileInfo', { src: to })
    .catch(() => ({ fs: undefined }));
  if (fs?.fileType !== 'IS_DIR') return null;
  const final = join(to, nameOf(from));
  if (rules.isSkeleton(final) || parentOf(from) === to) return null;
  const { fs: source } = await world.plain
    .call<{ fs?: object }>('ClientProtocol.getFileInfo', { src: from })
    .catch(() => ({ fs: undefined }));
  return source === undefined ? null : await across(world, rules, from, final);
}

/**
 * With one location for each path the NameNode does all of it, and it does not know a directory above the new path that only mount points
 * make visible. With several the router looks there itself, and makes it.
 */
async function parentUnknown(
  world: World,
  rules: MountRules,
  method: 'rename' | 'rename2',
  from: string,
  to: string,
): Promise<Forced | null> {
  const parent = parentOf(to);
  if (rules.isSeveral(from) || rules.isSeveral(to) || rules.isSkeleton(to) || !rules.isSkeleton(parent)) return null;
  if ((await world.holders(rules.locations(parent))).length > 0) return null;
  return method === 'rename'
    ? { className: '', text: '', isFalse: true }
    : { className: 'FileNotFoundException', text: '' };
}

async function across(world: World, rules: MountRules, from: string, to: string): Promise<Forced | null> {
  const sources = rules.locations(from);
  const reached = new Set(rules.locations(to).map(({ nameservice }) => nameservice));
  const isReached = ({ nameservice }: { readonly nameservice: string }): boolean => reached.has(nameservice);
  if (!sources.some(isReached)) return ACROSS;
  if (sources.length === 1) return null;
  const holders = await world.holders(sources);
  const file = holders.find(({ isDirectory }) => !isDirectory);
  if (file !== undefined) return isReached(file.location) ? null : ACROSS;
  if (holders.length === 0) return null;
  const needed = rules.isEverywhere(from) ? sources : holders.map(({ location }) => location);
  return needed.every(isReached) ? null : ACROSS;
}

/** The same for concat: all files in one nameservice. */
export async function concatRefusal(
  world: World,
  rules: MountRules,
  target: string,
  sources: readonly string[],
): Promise<Forced | null> {
  for (const path of [target, ...sources]) {
    const refusal = rules.refusalOfChange('concat', path);
    if (refusal !== null) return refusal;
  }
  let common: Set<string> | null = null;
  let isMissing = false;
  for (const path of [target, ...sources]) {
    const locations = rules.locations(path);
    const holders = locations.length === 1 ? [] : (await world.holders(locations)).map(({ location }) => location);
    isMissing ||= locations.length > 1 && holders.length === 0;
    const nameservices = new Set((holders.length === 0 ? locations : holders).map(({ nameservice }) => nameservice));
    common = common === null ? nameservices : common.intersection(nameservices);
  }
  const elsewhere: Forced = { className: 'IOException', text: 'Cannot concatenate source file' };
  // Whether it is missing, or would be in another nameservice: both are true.
  if (isMissing) return { className: 'FileNotFoundException', text: '', or: elsewhere };
  return common?.size === 0 ? { className: 'IOException', text: '' } : null;
}
