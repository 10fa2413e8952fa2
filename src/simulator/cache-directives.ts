/** Cache pools and the directives in them. No DataNode caches anything: directives count what they would need. */

import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import { compareNames } from './paths.ts';

/** "No limit" of a pool. */
export const UNLIMITED_BYTES = 2n ** 63n - 1n;
/** "Never", and the longest time that a directive may live. */
export const NEVER_EXPIRES_MS = (2n ** 63n - 1n) / 4n;
export const MAX_CACHE_POOLS = 10_000;
export const MAX_CACHE_DIRECTIVES = 100_000;

export interface CachePool {
  readonly name: string;
  owner: string;
  group: string;
  mode: number;
  limit: number | bigint;
  maxRelativeExpiryMs: number | bigint;
  defaultReplication: number;
}

export interface CacheDirective {
  readonly id: number;
  readonly path: string;
  readonly replication: number;
  readonly pool: CachePool;
  readonly expiryMs: bigint;
}

export class CacheDirectives {
  readonly #pools = new Map<string, CachePool>();
  readonly #directives = new Map<number, CacheDirective>();
  #nextId = 1;

  /** In the order of their names. */
  pools(): CachePool[] {
    return [...this.#pools.values()].sort((a, b) => compareNames(a.name, b.name));
  }

  /** In the order of their ids. */
  directives(): CacheDirective[] {
    return [...this.#directives.values()].sort((a, b) => a.id - b.id);
  }

  findPool(name: string): CachePool | undefined {
    return this.#pools.get(name);
  }

  addPool(pool: CachePool): void {
    if (this.#pools.has(pool.name)) {
      throw invalidRequest(`Cache pool ${pool.name} already exists.`);
    }
    if (this.#pools.size >= MAX_CACHE_POOLS) {
      throw invalidRequest(`There are ${MAX_CACHE_POOLS} cache pools, and no room for more.`);
    }
    this.#pools.set(pool.name, pool);
  }

  /** The directives of a pool go with it. */
  removePool(name: string): void {
    if (!this.#pools.delete(name)) {
      throw invalidRequest(`Cannot remove non-existent cache pool ${name}`);
    }
    for (const directive of [...this.#directives.values()]) {
      if (directive.pool.name === name) {
        this.#directives.delete(directive.id);
      }
    }
  }

  hasDirective(id: number): boolean {
    return this.#directives.has(id);
  }

  findDirective(id: number): CacheDirective {
    if (id <= 0) {
      throw invalidRequest('Invalid negative ID.');
    }
    const directive = this.#directives.get(id);
    if (directive === undefined) {
      throw invalidRequest(`No directive with ID ${id} found.`);
    }
    return directive;
  }

  addDirective(directive: Omit<CacheDirective, 'id'>): number {
    if (this.#directives.size >= MAX_CACHE_DIRECTIVES) {
      throw new RemoteException(JAVA.IO, 'No more available IDs.');
    }
    const id = this.#nextId++;
    this.#directives.set(id, { ...directive, id });
    return id;
  }

  replaceDirective(directive: CacheDirective): void {
    this.#directives.set(directive.id, directive);
  }

  removeDirective(id: number): void {
    this.#directives.delete(id);
  }
}

export function invalidRequest(message: string): RemoteException {
  return new RemoteException(JAVA.INVALID_REQUEST, message);
}
