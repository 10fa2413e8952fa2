import type { Composition } from '../composition.ts';
import { type Cell, isSame } from './cells.ts';
import type { Region, RegionPlace } from './regions.ts';
import { countShared } from './shared-directories.ts';

/** Directories of one region that NameNodes count. */
interface Counts {
  /** By place: directories of the parts that the place owns. */
  readonly own: bigint[];
  /** By place: directories at and below its top, 0 where it has none. */
  readonly tops: bigint[];
}

/**
 * Directories that are counted once in each of several locations of a mount, and seen once. Throws Refused.
 *
 * Where directories exist everywhere all locations count the same, and those that do are taken to have the same. Elsewhere, and where they
 * do not (a directory came from a mount with another order, or could not be made in one of them), those that several have are looked for.
 * Of directories everywhere that are too many to look at, the location with most is taken to have them all.
 */
export async function countTwice(
  c: Composition,
  regions: readonly Region[],
  cells: readonly Cell[],
  directoriesBelow: (cell: Cell) => bigint,
  partial: boolean,
): Promise<bigint> {
  let twice = 0n;
  for (const [i, counts] of countPlaces(regions, cells, directoriesBelow).entries()) {
    if (counts === null) continue;
    const { clientPath, places, everywhere, hidden } = regions[i] as Region;
    if (everywhere && counts.own.every((count) => count === counts.own[0])) {
      twice += allButMost(counts.own);
      continue;
    }
    const having = places.filter((_, place) => (counts.tops[place] as bigint) > 0n);
    // The top alone has nothing to share.
    const filled: RegionPlace[] = places.filter((_, place) => (counts.tops[place] as bigint) > 1n);
    const shared =
      filled.length > 1
        ? await countShared(c, { clientPath, places: filled }, { hidden, partial })
        : { twice: 0n, isWhole: true };
    if (everywhere && !shared.isWhole) twice += allButMost(counts.own);
    else twice += shared.twice + (having.length > 1 ? BigInt(having.length - 1) : 0n);
  }
  return twice;
}

function allButMost(counts: readonly bigint[]): bigint {
  let sum = 0n;
  let most = 0n;
  for (const count of counts) {
    sum += count;
    if (count > most) most = count;
  }
  return sum - most;
}

/** By region; null for those with one place. */
function countPlaces(
  regions: readonly Region[],
  cells: readonly Cell[],
  directoriesBelow: (cell: Cell) => bigint,
): (Counts | null)[] {
  const counted = regions.map(({ places }): Counts | null =>
    places.length > 1 ? { own: places.map(() => 0n), tops: places.map(() => 0n) } : null,
  );
  for (const cell of cells) {
    for (const [at, sign] of [
      [cell, 1n],
      [cell.around, -1n],
    ] as const) {
      const owner = at?.owner ?? null;
      const counts = owner === null ? null : (counted[owner.region] ?? null);
      if (owner === null || counts === null) continue;
      const directories = directoriesBelow(cell);
      counts.own[owner.place] = (counts.own[owner.place] as bigint) + sign * directories;
      if (at === cell && cell.topOf.some((top) => isSame(top, owner))) counts.tops[owner.place] = directories;
    }
  }
  return counted;
}
