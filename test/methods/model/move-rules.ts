import { join } from '../../support/plain-view.ts';
import { ANY_REFUSAL, type Forced, isBelow, type MountRules, nameOf, parentOf } from './mount-rules.ts';
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
  if (parentOf(from) === to) return null;
  const { fs: source } = await world.plain
    .call<{ fs?: object }>('ClientProtocol.getFileInfo', { src: from })
    .catch(() => ({ fs: undefined }));
  if (source === undefined) return null;
  // A read-only mount point in it: whatever else there is against it.
  const readOnly = rules.refusalOfChange(method, final, false);
  if (readOnly !== null) return readOnly;
  return rules.isSkeleton(final) ? null : await across(world, rules, from, final);
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
  let common: ReadonlySet<string> | null = null;
  let isMissing = false;
  for (const path of [target, ...sources]) {
    const locations = rules.locations(path);
    const holders =
      locations.length === 1
        ? []
        : (await world.holders(locations)).filter(({ isDirectory }) => !isDirectory).map(({ location }) => location);
    isMissing ||= locations.length > 1 && holders.length === 0;
    const nameservices = new Set((holders.length === 0 ? locations : holders).map(({ nameservice }) => nameservice));
    common = new Set([...nameservices].filter((each) => common?.has(each) ?? true));
  }
  // Which of the reasons is told first depends on who is asked.
  if (isMissing) return { className: ANY_REFUSAL, text: '' };
  return common?.size === 0 ? { className: 'IOException', text: '' } : null;
}

/**
 * Renames that leave directories which are not one any more, as by the Java Router; they are not made.
 *
 * - With HASH and LOCAL what is renamed stays in its nameservice, and its new directory is made there when it is in another one.
 * - Where directories exist everywhere one that came from fewer nameservices is made in the others when it is needed there, as a new one of
 *   who needs it.
 */
export async function partsDirectories(
  world: World,
  rules: MountRules,
  from: string,
  to: string,
  isFile: boolean,
): Promise<boolean> {
  if (!rules.isSeveral(to)) return false;
  const reached = rules.locations(to).map(({ nameservice }) => nameservice);
  if (rules.isEverywhere(to)) {
    const sources = rules.locations(from).map(({ nameservice }) => nameservice);
    return !isFile && !reached.every((each) => sources.includes(each));
  }
  const sources = (await holdersOf(world, rules, from)).map(({ nameservice }) => nameservice);
  if (sources.length > 1) return true;
  const isElsewhere = (some: readonly Holder[]): boolean =>
    some.length > 0 && !some.some(({ nameservice }) => sources.includes(nameservice));
  const parent = parentOf(to);
  if (!rules.isSkeleton(parent) && isElsewhere(await holdersOf(world, rules, parent))) return true;
  return !isFile && isElsewhere(await holdersOf(world, rules, to));
}

interface Holder {
  readonly nameservice: string;
}

async function holdersOf(world: World, rules: MountRules, path: string): Promise<Holder[]> {
  return (await world.holders(rules.locations(path))).map(({ location }) => location);
}
