import { createHash } from 'node:crypto';
import type { Engine } from '../../call/engine.ts';
import { Failure } from '../../call/failure.ts';
import type { Topology } from '../../shared/settings.ts';
import { servedNameservices } from '../everywhere/nameservices.ts';
import { Refused } from '../refused.ts';

/** Ids of a nameservice are below 2 to this power: at ten thousand new inodes a second they last for 55 years. */
export const ID_BITS = 44n;
/** The rest of a positive long. */
export const TAG_BITS = 19;

const LARGEST_TAG = 2 ** TAG_BITS - 1;
const ID_MASK = (1n << ID_BITS) - 1n;

/** Where an id of a client leads. */
export interface OwnId {
  readonly nameservice: number;
  readonly id: bigint;
}

/**
 * Each nameservice gives out its inode numbers and the ids of its cache directives by itself. Towards clients an id is
 *
 *   (tag of the nameservice << ID_BITS) | id in the nameservice
 *
 * so that ids of different nameservices differ, can be compared, and lead back to where they come from. The tag is made from the name of the
 * nameservice: all routers give the same ids, also when others are added. With one nameservice ids stay as they are.
 */
export class NameserviceIds {
  readonly #tags: readonly number[];
  /** The only enabled nameservice, -1 when there are several or none. */
  readonly #only: number;
  readonly #names: readonly string[];

  constructor(names: readonly string[], enabled: readonly number[]) {
    this.#names = names;
    this.#tags = tagsOf(names);
    this.#only = enabled.length === 1 ? (enabled[0] as number) : -1;
  }

  /** In the order of their clients' ids. */
  inOrder(nameservices: Iterable<number>): number[] {
    return [...nameservices].sort((a, b) => this.tagOf(a) - this.tagOf(b));
  }

  /** Throws Refused for an id that has no room. */
  toClient(nameservice: number, id: bigint): bigint {
    if (this.#only === nameservice) return id;
    if (id < 0n || id > ID_MASK) {
      const name = this.#names[nameservice] ?? `#${nameservice}`;
      throw new Refused(Failure.IO, `${name} has an id that is too large for a router of several nameservices: ${id}`);
    }
    return (BigInt(this.tagOf(nameservice)) << ID_BITS) | id;
  }

  /** Null for an id that no nameservice can have given. */
  fromClient(id: bigint): OwnId | null {
    const tag = Number(id >> ID_BITS);
    const nameservice = tag === 0 ? this.#only : this.#tags.indexOf(tag);
    return nameservice < 0 || id <= 0n ? null : { nameservice, id: id & ID_MASK };
  }

  /**
   * The id in a nameservice behind which a list goes on that ended at `cursor`: 0 from its start, null when the list is beyond the nameservice.
   * A cursor of no nameservice, which came from a router that had one only, starts anew: nothing is lost.
   */
  positionOf(cursor: bigint, nameservice: number): bigint | null {
    if (cursor <= 0n) return 0n;
    const tag = Number(cursor >> ID_BITS);
    if (tag === 0) return this.#only === nameservice ? cursor : 0n;
    const own = this.tagOf(nameservice);
    if (own < tag) return null;
    return own === tag ? cursor & ID_MASK : 0n;
  }

  tagOf(nameservice: number): number {
    return this.#tags[nameservice] ?? LARGEST_TAG;
  }
}

const known = new WeakMap<Topology, NameserviceIds>();

export function nameserviceIdsOf(engine: Engine): NameserviceIds {
  let ids = known.get(engine.topology);
  if (ids === undefined) {
    const names = engine.topology.nameservices.map((_, index) => engine.nameserviceName(index));
    ids = new NameserviceIds(names, servedNameservices(engine));
    known.set(engine.topology, ids);
  }
  return ids;
}

/** From 1 on; where two names have the same, the later one in their order takes the next that is free. */
function tagsOf(names: readonly string[]): number[] {
  const tags = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of [...names].sort()) {
    let tag = (createHash('sha256').update(name).digest().readUInt32BE(0) % LARGEST_TAG) + 1;
    while (taken.has(tag)) tag = (tag % LARGEST_TAG) + 1;
    taken.add(tag);
    tags.set(name, tag);
  }
  return names.map((name) => tags.get(name) as number);
}
