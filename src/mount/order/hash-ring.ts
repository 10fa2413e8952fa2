import { hash } from 'node:crypto';

/**
 * The consistent hash of Java routers. Every nameservice has POINTS_PER_NAME points on a ring, `NAME/0`, `NAME/1` …; a key belongs to the
 * nameservice of the first point at or behind it, behind the last to that of the first. Points and keys are MD5 of the text, each of its
 * UTF-16 code units in UTF-8 by itself, compared as unsigned bytes.
 */
export const POINTS_PER_NAME = 100;
const DIGEST_BYTES = 16;

/** Points of all rings kept in a thread, 18 bytes each. Beyond it the oldest rings are dropped, and made again when they are asked for. */
export const MAX_RING_POINTS = 1 << 20;

/** Characters of two code units, which UTF-8 writes as one and Hadoop as two; without them the bytes are the same. */
const SURROGATE = /[\ud800-\udfff]/;

export class HashRing {
  /** Digests in ascending order. */
  readonly #points: Buffer;
  /** Position in the names of each point's owner. */
  readonly #owners: Uint16Array;

  /** `names` are distinct, at least one and at most 65,536. Their order does not change who owns a key. */
  constructor(names: readonly string[]) {
    const digests: Buffer[] = [];
    for (const name of names) {
      for (let i = 0; i < POINTS_PER_NAME; i++) digests.push(digestKey(`${name}/${i}`));
    }
    const order = Uint32Array.from(digests.keys()).sort((a, b) =>
      Buffer.compare(digests[a] as Buffer, digests[b] as Buffer),
    );
    this.#points = Buffer.allocUnsafeSlow(digests.length * DIGEST_BYTES);
    this.#owners = new Uint16Array(digests.length);
    for (let i = 0; i < order.length; i++) {
      const point = order[i] as number;
      (digests[point] as Buffer).copy(this.#points, i * DIGEST_BYTES);
      this.#owners[i] = Math.floor(point / POINTS_PER_NAME);
    }
  }

  get points(): number {
    return this.#owners.length;
  }

  /** Position in the names of the owner of a key. */
  ownerOf(key: string): number {
    const digest = digestKey(key);
    let low = 0;
    let high = this.#owners.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareDigest(this.#points, middle * DIGEST_BYTES, digest) < 0) low = middle + 1;
      else high = middle;
    }
    return this.#owners[low === this.#owners.length ? 0 : low] as number;
  }
}

/** MD5 of a key, 16 bytes. */
export function digestKey(key: string): Buffer {
  return hash('md5', SURROGATE.test(key) ? encodeCodeUnits(key) : key, 'buffer');
}

/** The rings of a thread by their names. */
export class RingCache {
  readonly #maxPoints: number;
  readonly #rings = new Map<string, HashRing>();
  #points = 0;

  constructor(maxPoints: number) {
    this.#maxPoints = maxPoints;
  }

  /** Points of all rings that are kept. */
  get points(): number {
    return this.#points;
  }

  /** The ring of distinct names. The same names in another order are another ring. */
  ringOf(names: readonly string[]): HashRing {
    let key = '';
    // With their lengths in it, no two lists of names give one key.
    for (const name of names) key += `${name.length}:${name}`;
    const known = this.#rings.get(key);
    if (known !== undefined) return known;
    const made = new HashRing(names);
    this.#makeRoom(made.points);
    this.#rings.set(key, made);
    this.#points += made.points;
    return made;
  }

  #makeRoom(points: number): void {
    for (const [oldest, ring] of this.#rings) {
      if (this.#points + points <= this.#maxPoints) return;
      this.#rings.delete(oldest);
      this.#points -= ring.points;
    }
  }
}

/** UTF-8, but each UTF-16 code unit by itself: 1 to 3 bytes. U+0000 is one byte, unlike in Java's own modified UTF-8. */
function encodeCodeUnits(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(3 * text.length);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      bytes[at++] = unit;
    } else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >>> 6);
      bytes[at++] = 0x80 | (unit & 0x3f);
    } else {
      bytes[at++] = 0xe0 | (unit >>> 12);
      bytes[at++] = 0x80 | ((unit >>> 6) & 0x3f);
      bytes[at++] = 0x80 | (unit & 0x3f);
    }
  }
  return bytes.subarray(0, at);
}

/** Below 0 when the digest at `at` lies before the other, 0 when they are the same. */
function compareDigest(points: Buffer, at: number, digest: Buffer): number {
  for (let i = 0; i < DIGEST_BYTES; i++) {
    const difference = (points[at + i] as number) - (digest[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
