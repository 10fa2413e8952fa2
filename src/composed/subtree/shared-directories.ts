import { ENTRIES_OK, EntryScan, isInOrder, scanListing } from '../../wire/listing-scan.ts';
import type { AskOptions, Composition } from '../composition.ts';
import { clientMethod } from '../request.ts';
import { unreadable } from '../unreadable.ts';
import { failoverWaitMs } from '../waiting.ts';
import type { Place } from './regions.ts';

/** Pages of listings that one call reads for this; directories that none of them has shown count in each location. */
export const MAX_SHARED_PAGES = 1_000;
/** Directories that are known to be in several locations and are still to be listed; at the bound further ones are not looked into. */
export const MAX_SHARED_WAITING = 10_000;

const GET_LISTING = clientMethod('getListing');
const START = Buffer.alloc(0);

export interface SharedWalk {
  /** Mount points, which hide what the locations have there. */
  readonly hidden: readonly string[];
  /** A location that cannot be asked is left out. */
  readonly partial: boolean;
}

export interface Shared {
  readonly twice: bigint;
  /** All of them were looked at. */
  readonly isWhole: boolean;
}

interface Directory {
  readonly clientPath: string;
  /** Where it is: two places or more. */
  readonly places: readonly Place[];
}

/**
 * How many directories below `top` are counted too often because several places have them: a directory in three places counts twice too often.
 * A mount whose order does not put directories everywhere has such ones all the same: with LOCAL clients make their own, and others come by a
 * rename or from an order that the mount had before. Only directories that are shared are listed. Throws Refused.
 */
export async function countShared(c: Composition, top: Directory, { hidden, partial }: SharedWalk): Promise<Shared> {
  const hides = new Set(hidden);
  const options: AskOptions = partial ? {} : { unreachedMs: failoverWaitMs(c.engine) };
  const waiting: Directory[] = [top];
  const budget = { pages: MAX_SHARED_PAGES };
  let twice = 0n;
  let isWhole = true;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { clientPath, places } = next;
    const lists = places.map((place) => new DirectoryNames(c, clientPath, place, { options, partial, budget }));
    await Promise.all(lists.map((list) => list.advance()));
    for (;;) {
      const name = smallestOf(lists);
      if (name === null) break;
      const having = lists.filter((list) => list.isAt(name));
      if (having.length > 1) {
        const text = name.toString();
        const path = join(clientPath, text);
        if (!hides.has(path)) {
          twice += BigInt(having.length - 1);
          const below = having.map(({ place }) => ({ ...place, path: join(place.path, text) }));
          if (waiting.length < MAX_SHARED_WAITING) waiting.push({ clientPath: path, places: below });
          else isWhole = false;
        }
      }
      for (const list of having) if (!list.step()) await list.advance();
    }
  }
  isWhole &&= budget.pages >= 0;
  if (!isWhole) {
    c.engine.note(
      `A summary of ${top.clientPath} may not count each directory once: too many are in several nameservices`,
    );
  }
  return { twice, isWhole };
}

function smallestOf(lists: readonly DirectoryNames[]): Buffer | null {
  let smallest: Buffer | null = null;
  for (const { name } of lists) {
    if (name !== null && (smallest === null || Buffer.compare(name, smallest) < 0)) smallest = name;
  }
  return smallest;
}

function join(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

interface Reading {
  readonly options: AskOptions;
  readonly partial: boolean;
  /** Of all lists of the call. */
  readonly budget: { pages: number };
}

/** The names of the directories in one directory, in byte order, page by page. */
class DirectoryNames {
  readonly place: Place;
  readonly #c: Composition;
  readonly #clientPath: string;
  readonly #reading: Reading;
  readonly #scan = new EntryScan();
  #body: Buffer = START;
  #entry = -1;
  #hasMore = true;
  /** Null behind the last one. */
  name: Buffer | null = null;

  constructor(c: Composition, clientPath: string, place: Place, reading: Reading) {
    this.#c = c;
    this.#clientPath = clientPath;
    this.place = place;
    this.#reading = reading;
  }

  isAt(name: Buffer): boolean {
    return this.name?.equals(name) === true;
  }

  /** To the next name of the page; false at its end. */
  step(): boolean {
    const scan = this.#scan;
    for (this.#entry++; this.#entry < scan.count; this.#entry++) {
      if (!scan.isDirectory(this.#entry)) continue;
      this.name = this.#nameAt(this.#entry);
      return true;
    }
    this.name = null;
    return false;
  }

  /** To the first name of the pages that follow, if any. */
  async advance(): Promise<void> {
    this.name = null;
    while (this.#hasMore) {
      await this.#readPage();
      if (this.step()) return;
    }
  }

  async #readPage(): Promise<void> {
    const { options, partial, budget } = this.#reading;
    const scan = this.#scan;
    const startAfter = scan.count === 0 ? START : this.#nameAt(scan.count - 1);
    this.#hasMore = false;
    this.#entry = -1;
    scan.clear();
    if (budget.pages-- <= 0) return;
    const { nameservice, path, prefixBytes } = this.place;
    const target = { nameservice, path: Buffer.from(path), prefixBytes };
    const request = this.#c.other(GET_LISTING, { src: this.#clientPath, startAfter, needLocation: false });
    const answer = await this.#c.ask(request, target, options);
    if (!answer.ok) {
      // It has gone since it was counted; or who would not let the caller look has said so before.
      if (answer.unavailable && !partial) throw answer.refused;
      return;
    }
    this.#body = answer.body;
    const isRead = scanListing(answer.body, 0, answer.body.length, scan) === ENTRIES_OK;
    if (!isRead || !isInOrder(answer.body, scan, startAfter)) {
      throw unreadable(this.#c, answer, GET_LISTING, 'is not valid, or not in order behind the last page').refused;
    }
    this.#hasMore = scan.remaining > 0 && scan.count > 0;
  }

  #nameAt(entry: number): Buffer {
    return this.#body.subarray(this.#scan.nameStartOf(entry), this.#scan.nameEndOf(entry));
  }
}
