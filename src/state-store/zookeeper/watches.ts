import { EventType, type WatchEvent, type WatchPaths } from './protocol.ts';

/** Most watches of one kind. At the bound nodes are read without a watch: their changes are seen by polling. */
export const MAX_WATCHES = 200_000;
/** Most bytes of paths in one request that asks for watches again: a server takes 1 MiB, older ones half of it. */
export const SET_WATCHES_BYTES = 256 * 1024;

const LENGTH_BYTES = 4;

/** Watches that the server holds for this session, by path. Each fires once. */
export class Watches {
  readonly #data = new Set<string>();
  readonly #children = new Set<string>();

  get count(): number {
    return this.#data.size + this.#children.size;
  }

  /** Whether one more watch of each kind can be held. */
  get hasRoom(): boolean {
    return Math.max(this.#data.size, this.#children.size) < MAX_WATCHES;
  }

  hasData(path: string): boolean {
    return this.#data.has(path);
  }

  hasChildren(path: string): boolean {
    return this.#children.has(path);
  }

  addData(path: string): void {
    this.#data.add(path);
  }

  addChildren(path: string): void {
    this.#children.add(path);
  }

  /** Removes what the event has used up. */
  fire({ type, path }: WatchEvent): void {
    if (type === EventType.CHILDREN_CHANGED) {
      this.#children.delete(path);
      return;
    }
    this.#data.delete(path);
    if (type === EventType.DELETED) this.#children.delete(path);
  }

  clear(): void {
    this.#data.clear();
    this.#children.clear();
  }

  /** All watches in parts of at most `maxBytes` of encoded paths, one path at least. */
  parts(maxBytes: number = SET_WATCHES_BYTES): WatchPaths[] {
    const parts: WatchPaths[] = [];
    let part = emptyPart();
    let bytes = 0;
    for (const kind of ['data', 'children'] as const) {
      for (const path of kind === 'data' ? this.#data : this.#children) {
        const more = LENGTH_BYTES + Buffer.byteLength(path);
        if (bytes > 0 && bytes + more > maxBytes) {
          parts.push(part);
          part = emptyPart();
          bytes = 0;
        }
        part[kind].push(path);
        bytes += more;
      }
    }
    if (bytes > 0) parts.push(part);
    return parts;
  }
}

function emptyPart(): { data: string[]; children: string[] } {
  return { data: [], children: [] };
}
