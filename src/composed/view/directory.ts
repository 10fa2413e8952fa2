import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '../../call/failure.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import {
  ENTRIES_OK,
  EntryScan,
  entrySize,
  isInOrder,
  NO_CHILDREN_NUM,
  scanListing,
  writeEntry,
} from '../../wire/listing-scan.ts';
import { type Answer, type Failed, tellingFailure } from '../answer.ts';
import { type AskOptions, type Composition, MAX_PARTS_AT_ONCE, type Target } from '../composition.ts';
import { type Located, requireTargets } from '../locate.ts';
import { Refused } from '../refused.ts';
import type { Request } from '../request.ts';
import { strayTrashOfHome } from '../trash.ts';
import { unreadable } from '../unreadable.ts';
import { failoverWaitMs } from '../waiting.ts';
import { askHomeTrash } from './home-trash.ts';
import { isMissing } from './is-missing.ts';
import { type LocationPage, MAX_MOUNTS_PER_PAGE, mergePages, nameOf, type Pick, writePicks } from './merge.ts';
import { askChildren, describeChild, type MountChild, renamedEntry, syntheticEntry } from './mount-children.ts';

const SLASH = 0x2f;
const NOTHING = Buffer.alloc(0);

/** One page of a listing. */
export interface Listed {
  /** The entries as fields 1 of a listing, one behind the other. */
  readonly entries: Buffer;
  readonly count: number;
  /** Where the next page starts. Empty when there are no entries, or when the path is a file. */
  readonly lastName: Buffer;
  readonly remaining: number;
}

/** A listing that one client asked for: the request is made anew for each page that is asked of the locations. */
export interface ListingRequest {
  readonly startAfter: Buffer;
  readonly located: boolean;
  requestAfter(startAfter: Buffer): Request;
}

/** Nameservices that gave their pages, and how. */
interface Gathered {
  readonly pages: readonly LocationPage[];
  /** The path is this file. */
  readonly file: LocationPage | null;
  readonly failures: readonly Failed[];
  /** A NameNode's words for a path that is not there. */
  readonly missing: Refused | null;
}

/**
 * A page of the directory at `place`: what all its locations have and the mount points in it, every name once, in byte order. Null when there
 * is no such path. A location that fails is left out when `dfs.federation.router.client.allow-partial-listing` allows it and another one has
 * the directory. With mount points below, these alone are the first page when no location can be asked; a later page belongs to a listing
 * that has begun with more, and fails.
 */
export async function listPage(c: Composition, place: Located, asked: ListingRequest): Promise<Listed | null> {
  const { path, unresolved, mountsBelow, atMount } = place;
  if (unresolved !== null && !mountsBelow && !atMount) requireTargets(place);
  if (asked.startAfter[0] === SLASH) {
    throw new Refused(
      Failure.UNSUPPORTED,
      `A listing of ${path}, which is made of several places, goes on after a name, not after an inode: ${asked.startAfter}`,
    );
  }
  let { startAfter } = asked;
  for (;;) {
    const isFirst = startAfter.length === 0;
    const gathered = await gather(c, place, asked.requestAfter(startAfter), startAfter);
    const { pages, file, failures, missing } = gathered;
    let isWhole = false;
    if (failures.length > 0) isWhole = checkFailures(c, place, gathered, isFirst);
    if (file !== null && !mountsBelow) return fileOf(file);
    if (pages.length === 0 && !mountsBelow && !atMount) {
      if (missing !== null) throw missing;
      return null;
    }
    // A listing of mount points alone cannot go on: it is given whole.
    const maxMounts = isWhole ? Number.MAX_SAFE_INTEGER : MAX_MOUNTS_PER_PAGE;
    // One more than a page holds tells that there are more.
    const children = childrenAfter(c, place, startAfter, maxMounts + 1);
    const merged = mergePages(pages, children, { everywhere: place.everywhere, maxMounts });
    if (merged.picks.length === 0 && merged.remaining > 0 && merged.end !== null) {
      // All of these names are hidden: the client could not go on after an empty page.
      startAfter = Buffer.from(merged.end);
      continue;
    }
    const { picks, entries } = await fillIn(c, path, pages, children, merged.picks, asked.located);
    const last = merged.end === null || merged.picks.length === 0 ? NOTHING : Buffer.from(merged.end);
    return { entries, count: picks.length, lastName: last, remaining: merged.remaining };
  }
}

async function gather(c: Composition, place: Located, request: Request, startAfter: Buffer): Promise<Gathered> {
  const { targets, mountsBelow, trash } = place;
  const stray = strayTrashOfHome(c.engine, c.call, place.path);
  const inHome = stray === null ? null : askHomeTrash(c, stray, startAfter);
  const isFirst = startAfter.length === 0;
  const othersAnswer = c.engine.settings.allowPartialListing && ((mountsBelow && isFirst) || targets.length > 1);
  const options: AskOptions = othersAnswer ? {} : { unreachedMs: failoverWaitMs(c.engine) };
  const found: Page[] = [];
  for (let at = 0; at < targets.length; at += MAX_PARTS_AT_ONCE) {
    const some = targets.slice(at, at + MAX_PARTS_AT_ONCE);
    found.push(...(await Promise.all(some.map((target) => askPage(c, request, target, startAfter, options)))));
  }
  const pages: LocationPage[] = [];
  const failures: Failed[] = [];
  let file: LocationPage | null = null;
  let missing: Refused | null = null;
  for (const [i, { answer, scan }] of found.entries()) {
    if (!answer.ok) {
      if (!isMissing(answer, place)) failures.push(answer);
      else missing ??= answer.refused;
    } else if (scan.hasListing) {
      const shows = trash === null ? null : (name: string): boolean => trash.shows(name, i);
      const page = { body: answer.body, scan, shows };
      const isFile = scan.count === 1 && scan.nameStartOf(0) === scan.nameEndOf(0);
      if (!isFile) pages.push(page);
      // As for its status: a file wins where directories exist everywhere, else the first location that has the path.
      else if (place.everywhere || pages.length === 0) file ??= page;
    }
  }
  const trashOfHome = await inHome;
  if (trashOfHome !== null && file === null && (pages.length > 0 || place.atMount || mountsBelow)) {
    if (trashOfHome.page !== null) pages.push(trashOfHome.page);
    failures.push(...trashOfHome.failures);
  }
  return { pages, file, failures, missing };
}

interface Page {
  readonly answer: Answer;
  readonly scan: EntryScan;
}

/**
 * Each page is scanned when it comes, so that no turn of the thread has to do with all of them. One that is out of order, or does not go on
 * behind `startAfter`, would lose or repeat names, or never end.
 */
async function askPage(
  c: Composition,
  request: Request,
  target: Target,
  startAfter: Buffer,
  options: AskOptions,
): Promise<Page> {
  const answer = await c.ask(request, target, options);
  const scan = new EntryScan();
  if (!answer.ok) return { answer, scan };
  const { body } = answer;
  if (scanListing(body, 0, body.length, scan) !== ENTRIES_OK)
    return { answer: unreadable(c, answer, request.method, 'is not valid'), scan };
  if (isInOrder(body, scan, startAfter)) return { answer, scan };
  return { answer: unreadable(c, answer, request.method, 'is not in order behind the last page'), scan };
}

/** Throws what the client is to know of the failures, if anything. True when the mount points alone are to be the answer. */
function checkFailures(c: Composition, place: Located, { pages, file, failures }: Gathered, isFirst: boolean): boolean {
  const { targets, mountsBelow, path } = place;
  const failure = tellingFailure(failures) as Refused;
  if (c.engine.settings.allowPartialListing) {
    if (pages.length > 0 || file !== null) {
      const names = failures.map(({ nameservice }) => c.engine.nameserviceName(nameservice));
      c.engine.note(`A listing of ${path} is given without ${names.join(', ')}: ${failure.message.split('\n', 1)[0]}`);
      return false;
    }
    if (mountsBelow && isFirst && failures.every(({ unavailable }) => unavailable)) return true;
  }
  const isAlone = targets.length < 2 && failures.every(({ nameservice }) => nameservice === targets[0]?.nameservice);
  throw isAlone ? failure : naming(c, failures, failure);
}

/** The failure with the name of its nameservice in the first line of its text. */
function naming(c: Composition, failures: readonly Failed[], failure: Refused): Refused {
  const failed = failures.find(({ refused }) => refused === failure);
  if (failed === undefined || failed.unavailable) return failure;
  const [first = '', ...rest] = failure.message.split('\n');
  const text = [`${first} (nameservice ${c.engine.nameserviceName(failed.nameservice)})`, ...rest].join('\n');
  return new Refused(failure.className, text, failure.detail);
}

/** The first names that mount points put into the directory, behind `startAfter`, by the mount table of this moment. */
function childrenAfter(c: Composition, { path, mountsBelow }: Located, startAfter: Buffer, most: number): Buffer[] {
  if (!mountsBelow) return [];
  const names: Buffer[] = [];
  for (const child of (c.engine.resolver.snapshot as MountSnapshot).childrenOf(path, startAfter, most) ?? []) {
    const name = Buffer.from(child);
    if (Buffer.compare(name, startAfter) > 0) names.push(name);
  }
  return names;
}

/**
 * The bytes of the page. A mount point is shown as its destination; an ancestor of mount points as the directory that is really there, else as
 * what it is made of.
 */
async function fillIn(
  c: Composition,
  path: string,
  pages: readonly LocationPage[],
  children: readonly Buffer[],
  picks: readonly Pick[],
  located: boolean,
): Promise<{ picks: readonly Pick[]; entries: Buffer }> {
  const described = new Map<Pick, MountChild>();
  const shown: Pick[] = [];
  for (const pick of picks) {
    if (pick.child < 0) {
      shown.push(pick);
      continue;
    }
    const child = describeChild(c, path, nameOf(pages, children, pick));
    if (child !== null) described.set(pick, child);
    // A name whose mount points have gone since is what the locations have of it.
    if (child !== null || pick.page >= 0) shown.push(pick);
    if (described.size % MAX_MOUNTS_PER_PAGE === MAX_MOUNTS_PER_PAGE - 1) await nextTurn();
  }
  const mounts = [...described].filter(([, child]) => child.isMount);
  const statuses = await askChildren(
    c,
    mounts.map(([, child]) => child),
    located,
  );
  const found = new Map(mounts.map(([pick], i) => [pick, statuses[i] ?? null]));
  const own = new Map<Pick, Buffer>();
  for (const [pick, child] of described) {
    const status = found.get(pick) ?? null;
    const isReal = !child.isMount && pick.page >= 0 && (pages[pick.page] as LocationPage).scan.isDirectory(pick.entry);
    if (status !== null) own.set(pick, renamedEntry(status, child.name));
    else if (!isReal) own.set(pick, syntheticEntry(child.synthetic));
    if (own.size % MAX_MOUNTS_PER_PAGE === MAX_MOUNTS_PER_PAGE - 1) await nextTurn();
  }
  return { picks: shown, entries: writePicks(pages, shown, own) };
}

/** A file is its own listing. */
function fileOf({ body, scan }: LocationPage): Listed {
  const entries = Buffer.allocUnsafe(entrySize(scan, 0, NO_CHILDREN_NUM));
  writeEntry(entries, 0, body, scan, 0, NO_CHILDREN_NUM);
  return { entries, count: 1, lastName: NOTHING, remaining: 0 };
}
