import {
  addChildren,
  compareNames,
  type EntryScan,
  entrySize,
  NO_CHILDREN_NUM,
  writeEntry,
} from '../../wire/listing-scan.ts';

/** Names of one page of a merged listing: what a worker does in one go. With many locations fewer, for each name is compared with all. */
const MAX_NAMES_PER_PAGE = 4_096;
const MIN_NAMES_PER_PAGE = 64;
const MAX_COMPARISONS_PER_PAGE = 16_384;
/** Mount points on one page: the destinations of each are asked. The listing goes on after the last of them. */
export const MAX_MOUNTS_PER_PAGE = 256;

/** A page of one location, as it came. */
export interface LocationPage {
  readonly body: Buffer;
  readonly scan: EntryScan;
  /** Whether clients see a name of this location; null: all. */
  readonly shows: ((name: string) => boolean) | null;
}

/** One name of the merged page. */
export interface Pick {
  /** Index of the page whose entry is shown, and of the entry in it; -1 when no location has the name. */
  page: number;
  entry: number;
  /** Children of the directory in all locations together; NO_CHILDREN_NUM leaves what the entry says. */
  childrenNum: number;
  /** Index into the mounts' names, -1 when none has it. */
  child: number;
}

export interface Merged {
  readonly picks: readonly Pick[];
  /** Right about zero: more than none as long as names are left, counted or only known to be there. */
  readonly remaining: number;
  /** The name that the next page starts after; null when nothing was looked at. */
  readonly end: Buffer | null;
}

export interface MergeOptions {
  /** Directories exist in all locations: of one name a file is shown before a directory, and children are added up. */
  readonly everywhere: boolean;
  readonly maxMounts: number;
}

/**
 * Every name of the pages and of `children` (names of mount points and of their ancestors, in order, after the last page) once, in byte order.
 * A location that has more than its page holds has told nothing about what follows its last name: the merged page ends there, at the
 * smallest of those last names, and names behind it belong to later pages.
 */
export function mergePages(
  pages: readonly LocationPage[],
  children: readonly Buffer[],
  { everywhere, maxMounts }: MergeOptions,
): Merged {
  const picks: Pick[] = [];
  /** By page: the next entry that clients see. */
  const cursors = Int32Array.from(pages, (page) => skipHidden(page, 0));
  const end = firstEnd(pages);
  const most = pages.length === 0 ? maxMounts : mostNames(pages.length);
  let child = 0;
  let isCut = false;
  while (!isCut) {
    let name: Buffer | null = null;
    let start = 0;
    let stop = 0;
    for (let i = 0; i < pages.length; i++) {
      const { body, scan } = pages[i] as LocationPage;
      const entry = cursors[i] as number;
      if (entry === scan.count) continue;
      const from = scan.nameStartOf(entry);
      const to = scan.nameEndOf(entry);
      if (name === null || compareNames(body, from, to, name, start, stop) < 0) {
        name = body;
        start = from;
        stop = to;
      }
    }
    const next = children[child];
    const order = next === undefined || name === null ? 0 : compareNames(next, 0, next.length, name, start, stop);
    if (next !== undefined && (name === null || order < 0)) {
      name = next;
      start = 0;
      stop = next.length;
    }
    if (name === null) break;
    const isChild = next !== undefined && order <= 0;
    const isBehind = end !== null && compareNames(name, start, stop, end, 0, end.length) > 0;
    isCut = isBehind || picks.length === most || (isChild && child === maxMounts);
    if (isCut) break;
    const pick = pickOf(pages, cursors, name, start, stop, everywhere);
    if (isChild) pick.child = child++;
    picks.push(pick);
  }
  let remaining = children.length - child;
  for (let i = 0; i < pages.length; i++) {
    const page = pages[i] as LocationPage;
    // An empty page says nothing about what it has left: the listing could not go on.
    if (page.scan.count > 0) remaining += page.scan.remaining;
    remaining += countLeft(page, cursors[i] as number);
  }
  return { picks, remaining, end: endOf(pages, children, picks) ?? end };
}

function mostNames(pages: number): number {
  const compared = Math.floor(MAX_COMPARISONS_PER_PAGE / pages);
  return Math.min(MAX_NAMES_PER_PAGE, Math.max(MIN_NAMES_PER_PAGE, compared));
}

/** Takes the name from all pages that have it next. */
function pickOf(
  pages: readonly LocationPage[],
  cursors: Int32Array,
  name: Buffer,
  start: number,
  stop: number,
  everywhere: boolean,
): Pick {
  const pick: Pick = { page: -1, entry: -1, childrenNum: NO_CHILDREN_NUM, child: -1 };
  let isDirectory = true;
  let sum = 0;
  let directories = 0;
  for (let i = 0; i < pages.length; i++) {
    const page = pages[i] as LocationPage;
    const { body, scan } = page;
    const entry = cursors[i] as number;
    if (entry === scan.count) continue;
    if (compareNames(body, scan.nameStartOf(entry), scan.nameEndOf(entry), name, start, stop) !== 0) continue;
    cursors[i] = skipHidden(page, entry + 1);
    const here = scan.isDirectory(entry);
    if (pick.page < 0 || (everywhere && isDirectory && !here)) {
      pick.page = i;
      pick.entry = entry;
      isDirectory = here;
    }
    if (here) {
      directories++;
      sum = addChildren(sum, scan.childrenOf(entry));
    }
  }
  if (everywhere && isDirectory && directories > 1) pick.childrenNum = sum;
  return pick;
}

/** The first entry from `at` on that clients see. */
function skipHidden({ body, scan, shows }: LocationPage, at: number): number {
  let entry = at;
  if (shows !== null) {
    while (entry < scan.count && !shows(body.toString('utf8', scan.nameStartOf(entry), scan.nameEndOf(entry)))) entry++;
  }
  return entry;
}

/** Entries from `cursor` on, which clients see if it is not the end. Those that are hidden behind it count as well. */
function countLeft({ scan }: LocationPage, cursor: number): number {
  return scan.count - cursor;
}

/** The smallest last name of the pages after which there are more. */
function firstEnd(pages: readonly LocationPage[]): Buffer | null {
  let end: Buffer | null = null;
  for (const { body, scan } of pages) {
    if (scan.remaining === 0 || scan.count === 0) continue;
    const last = body.subarray(scan.nameStartOf(scan.count - 1), scan.nameEndOf(scan.count - 1));
    if (end === null || Buffer.compare(last, end) < 0) end = last;
  }
  return end;
}

function endOf(pages: readonly LocationPage[], children: readonly Buffer[], picks: readonly Pick[]): Buffer | null {
  const last = picks.at(-1);
  return last === undefined ? null : nameOf(pages, children, last);
}

export function nameOf(pages: readonly LocationPage[], children: readonly Buffer[], pick: Pick): Buffer {
  if (pick.child >= 0) return children[pick.child] as Buffer;
  const { body, scan } = pages[pick.page] as LocationPage;
  return body.subarray(scan.nameStartOf(pick.entry), scan.nameEndOf(pick.entry));
}

/** The picked entries as fields 1 of a listing; `own` has the bytes (field and all) of names that are not shown as their entries. */
export function writePicks(
  pages: readonly LocationPage[],
  picks: readonly Pick[],
  own: ReadonlyMap<Pick, Buffer>,
): Buffer {
  let bytes = 0;
  for (const pick of picks) {
    const entry = own.get(pick);
    bytes += entry?.length ?? entrySize((pages[pick.page] as LocationPage).scan, pick.entry, pick.childrenNum);
  }
  const out = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const pick of picks) {
    const entry = own.get(pick);
    if (entry !== undefined) {
      at += entry.copy(out, at);
    } else {
      const { body, scan } = pages[pick.page] as LocationPage;
      at = writeEntry(out, at, body, scan, pick.entry, pick.childrenNum);
    }
  }
  return out;
}
