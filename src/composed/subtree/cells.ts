import type { Place, Region } from './regions.ts';

/**
 * Which subtrees to add up, and which to take away again, so that everything a client can see counts once.
 *
 * The tops of regions and of what mount points hide cut the tree of a nameservice into cells: a cell is what lies at or below its path and
 * not at or below another one's. All of a cell is seen, or none of it: it is when some region contains it without hiding it. The total over
 * what is seen is the sum, over all cells, of weight × (what a NameNode counts at and below the cell's path), with
 *
 *   weight = (the cell is seen ? 1 : 0) − (the cell around it is seen ? 1 : 0)
 *
 * So destinations inside one another, the same destination twice, or a mount that hides a real directory need no rules of their own.
 */
export interface Cell {
  readonly nameservice: number;
  readonly path: string;
  readonly prefixBytes: number;
  /** The client's path that led here, for messages. */
  readonly clientPath: string;
  /** The cell around it, null for none. */
  readonly around: Cell | null;
  /** The place whose part it is, null when nobody sees it: of several the one that starts highest. */
  readonly owner: Owner | null;
  readonly weight: -1 | 0 | 1;
  /** Whose top it is. */
  readonly topOf: readonly Owner[];
}

/** Place number `place` of a region. */
export interface Owner {
  readonly region: number;
  readonly place: number;
}

interface Marker {
  readonly key: string;
  readonly place: Place;
  readonly clientPath: string;
  readonly opens: Owner[];
  readonly closes: Owner[];
}

/** The cells of all regions; a cell comes after those around it. */
export function cutCells(regions: readonly Region[]): Cell[] {
  const markers = collectMarkers(regions);
  const cells: Cell[] = [];
  const open: { key: string; cell: Cell; covers: readonly Owner[] }[] = [];
  for (const { key, place, clientPath, opens, closes } of markers) {
    while (open.length > 0 && !key.startsWith((open.at(-1) as { key: string }).key)) open.pop();
    const around = open.at(-1) ?? null;
    const covers = coversOf(regions, around?.covers ?? [], opens, closes);
    const seen = covers.length > 0 ? 1 : 0;
    const seenAround = around !== null && around.covers.length > 0 ? 1 : 0;
    const cell: Cell = {
      nameservice: place.nameservice,
      path: place.path,
      prefixBytes: place.prefixBytes,
      clientPath,
      around: around?.cell ?? null,
      owner: covers[0] ?? null,
      weight: (seen - seenAround) as Cell['weight'],
      topOf: opens,
    };
    cells.push(cell);
    open.push({ key, cell, covers });
  }
  return cells;
}

/** One for each path of a nameservice, each before those below it. */
function collectMarkers(regions: readonly Region[]): Marker[] {
  const markers = new Map<string, Marker>();
  const markerOf = (place: Place, clientPath: string): Marker => {
    const key = keyOf(place);
    let marker = markers.get(key);
    if (marker === undefined) {
      marker = { key, place, clientPath, opens: [], closes: [] };
      markers.set(key, marker);
    }
    return marker;
  };
  // Tops first: where a top and a hidden directory are one path, messages name the client's path that can be seen.
  for (const [region, { clientPath, places }] of regions.entries()) {
    for (const [place, top] of places.entries()) markerOf(top, clientPath).opens.push({ region, place });
  }
  for (const [region, { places, hidden }] of regions.entries()) {
    for (const [place, { shadows }] of places.entries()) {
      for (const [i, shadow] of shadows.entries()) markerOf(shadow, hidden[i] as string).closes.push({ region, place });
    }
  }
  return [...markers.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Ends behind every component with a character below all others, so that keys sort a directory directly before what is below it. */
function keyOf({ nameservice, path }: Place): string {
  return `${nameservice}\0${path === '/' ? '' : `${path.slice(1).replaceAll('/', '\0')}\0`}`;
}

/** The places that contain a cell and do not hide it, the highest first. */
function coversOf(
  regions: readonly Region[],
  around: readonly Owner[],
  opens: readonly Owner[],
  closes: readonly Owner[],
): readonly Owner[] {
  if (opens.length === 0 && closes.length === 0) return around;
  const left = around.filter((owner) => !closes.some((closed) => isSame(owner, closed)));
  const covers = [...left, ...opens];
  // A place that hides nothing contains all below it: those behind it never matter.
  const solid = covers.findIndex(({ region }) => (regions[region] as Region).hidden.length === 0);
  return solid < 0 ? covers : covers.slice(0, solid + 1);
}

export function isSame(a: Owner, b: Owner): boolean {
  return a.region === b.region && a.place === b.place;
}
