import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine } from '../../call/engine.ts';
import type { MountSnapshot } from '../../mount/snapshot.ts';
import { textOf } from '../../wire/text.ts';

/** Mounts that are read before other calls get their turn. */
export const MOUNTS_PER_TURN = 1_000;

/**
 * Paths of nameservices the other way round: under which path a client sees them. Plain data, good beyond the mount snapshot that it was made
 * from; as large as the mount table.
 */
export class ClientPaths {
  /** Mount points; the root when a default nameservice stands behind it. */
  readonly #sources = new Set<string>();
  /** Mount points that lead to a directory of a nameservice, by `keyOf`, in byte order. */
  readonly #byDestination = new Map<string, string[]>();

  /** Mount point `source` leads to `destination` in the nameservice; both canonical. */
  add(source: string, nameservice: number, destination: string): void {
    this.#sources.add(source);
    const key = keyOf(nameservice, destination);
    const sources = this.#byDestination.get(key);
    if (sources === undefined) {
      this.#byDestination.set(key, [source]);
      return;
    }
    // Mounts come nearly in this order.
    let at = sources.length;
    while (at > 0 && compareBytes(sources[at - 1] as string, source) > 0) at--;
    if (sources[at - 1] !== source) sources.splice(at, 0, source);
  }

  hasMount(source: string): boolean {
    return this.#sources.has(source);
  }

  /**
   * The client's path of a canonical path in a nameservice, null when no path at or below `below` shows it. Of several the one whose mount leads
   * deepest, then the first in byte order.
   */
  clientPathOf(nameservice: number, path: string, below = '/'): string | null {
    if (!path.startsWith('/')) return null;
    for (let end = path.length; ; end = path.lastIndexOf('/', end - 1)) {
      const top = end <= 0 ? '/' : path.slice(0, end);
      const rest = top === '/' ? path.slice(1) : path.slice(end + 1);
      for (const source of this.#byDestination.get(keyOf(nameservice, top)) ?? []) {
        const candidate = rest === '' ? source : joinPath(source, rest);
        if (isAtOrBelow(candidate, below) && this.#isShownBy(source, candidate)) return candidate;
      }
      if (top === '/') return null;
    }
  }

  /** No other mount point covers the path. */
  #isShownBy(source: string, path: string): boolean {
    for (let end = path.length; end > Math.max(1, source.length); end = path.lastIndexOf('/', end - 1)) {
      if (this.#sources.has(path.slice(0, end))) return false;
    }
    return true;
  }
}

interface Kept {
  readonly epoch: number;
  readonly paths: Promise<ClientPaths>;
}

const kept = new WeakMap<Engine, Kept>();

/** The client paths of the mount table as it is now; made once for each epoch of it, with turns for other calls in between. */
export async function clientPathsOf(engine: Engine): Promise<ClientPaths> {
  const { epoch } = engine.resolver;
  const known = kept.get(engine);
  if (known !== undefined && known.epoch === epoch) return await known.paths;
  const paths = buildClientPaths(engine);
  kept.set(engine, { epoch, paths });
  return await paths;
}

async function buildClientPaths(engine: Engine): Promise<ClientPaths> {
  for (;;) {
    const snapshot = engine.resolver.snapshot as MountSnapshot;
    const paths = new ClientPaths();
    let mount = 0;
    // A snapshot is there to read only while it is the current one.
    while (engine.resolver.snapshot === snapshot && mount < snapshot.mountCount) {
      const end = Math.min(snapshot.mountCount, mount + MOUNTS_PER_TURN);
      for (; mount < end; mount++) addMount(paths, snapshot, mount);
      if (mount < snapshot.mountCount) await nextTurn();
    }
    if (engine.resolver.snapshot !== snapshot) continue;
    const { defaultNameservice } = engine.settings;
    if (defaultNameservice >= 0 && !paths.hasMount('/')) paths.add('/', defaultNameservice, '/');
    return paths;
  }
}

function addMount(paths: ClientPaths, snapshot: MountSnapshot, mount: number): void {
  const source = snapshot.sourceOf(mount);
  for (let i = 0; i < snapshot.destinationCount(mount); i++) {
    const path = textOf(snapshot.bytes, snapshot.destinationStart(mount, i), snapshot.destinationEnd(mount, i));
    paths.add(source, snapshot.destinationNameservice(mount, i), path === '' ? '/' : path);
  }
}

export function isAtOrBelow(path: string, directory: string): boolean {
  return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

export function joinPath(directory: string, rest: string): string {
  return directory === '/' ? `/${rest}` : `${directory}/${rest}`;
}

export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function keyOf(nameservice: number, path: string): string {
  return `${nameservice}:${path}`;
}
