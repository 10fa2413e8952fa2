/** Cache pools, which the superuser manages, and directives, for which the mode of their pool counts. */

import { flagOf, integerOf, messageOf, numberOf, textOf } from '../control/rpc-server/fields.ts';
import { accessDenied, ioException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { CacheDirective, CachePool } from './cache-directives.ts';
import { invalidRequest, NEVER_EXPIRES_MS, UNLIMITED_BYTES } from './cache-directives.ts';
import type { Inode } from './inodes.ts';
import { Directory } from './inodes.ts';
import type { Site } from './operation.ts';
import { compareNames, isValidName } from './paths.ts';
import { Access, checkSuperuser } from './permission-check.ts';

const CACHE_FLAG_FORCE = 1;
/** Pools or directives of one page. */
const LIST_LIMIT = 100;
const DEFAULT_MODE = 0o755;

export function addCachePool(site: Site, request: Plain): Plain {
  const info = messageOf(request, 'info') ?? {};
  const name = textOf(info, 'poolName');
  checkSuperuser(site.caller, 'addCachePool');
  site.checkSafeMode(`Cannot add cache pool${name}`);
  checkPoolInfo(info);
  const { caller } = site;
  site.namespace.cache.addPool({
    name,
    owner: textOf(info, 'ownerName') || caller.user,
    group: textOf(info, 'groupName') || (caller.groups[0] ?? caller.user),
    mode: numberOf(info, 'mode', DEFAULT_MODE),
    limit: info['limit'] === undefined ? UNLIMITED_BYTES : integerOf(info, 'limit', 0),
    maxRelativeExpiryMs:
      info['maxRelativeExpiry'] === undefined ? NEVER_EXPIRES_MS : integerOf(info, 'maxRelativeExpiry', 0),
    defaultReplication: numberOf(info, 'defaultReplication', 1),
  });
  site.namespace.logEdit();
  return {};
}

export function modifyCachePool(site: Site, request: Plain): Plain {
  const info = messageOf(request, 'info') ?? {};
  const name = textOf(info, 'poolName');
  checkSuperuser(site.caller, 'modifyCachePool');
  site.checkSafeMode(`Cannot modify cache pool${name}`);
  checkPoolInfo(info);
  const pool = site.namespace.cache.findPool(name);
  if (pool === undefined) {
    throw invalidRequest(`Cache pool ${name} does not exist.`);
  }
  pool.owner = textOf(info, 'ownerName') || pool.owner;
  pool.group = textOf(info, 'groupName') || pool.group;
  pool.mode = numberOf(info, 'mode', pool.mode);
  pool.limit = info['limit'] === undefined ? pool.limit : integerOf(info, 'limit', 0);
  pool.defaultReplication = numberOf(info, 'defaultReplication', pool.defaultReplication);
  if (info['maxRelativeExpiry'] !== undefined) {
    pool.maxRelativeExpiryMs = integerOf(info, 'maxRelativeExpiry', 0);
  }
  site.namespace.logEdit();
  return {};
}

function checkPoolInfo(info: Plain): void {
  if (integerOf(info, 'limit', 0) < 0) {
    throw invalidRequest('Limit is negative.');
  }
  if (numberOf(info, 'defaultReplication') < 0) {
    throw invalidRequest('Default Replication is negative');
  }
  const expiryMs = integerOf(info, 'maxRelativeExpiry', 0);
  if (expiryMs < 0) {
    throw invalidRequest('Max relative expiry is negative.');
  }
  if (expiryMs > NEVER_EXPIRES_MS) {
    throw invalidRequest('Max relative expiry is too big.');
  }
  checkPoolName(textOf(info, 'poolName'));
}

function checkPoolName(name: string): void {
  if (name === '') {
    throw ioException('invalid empty cache pool name');
  }
}

export function removeCachePool(site: Site, request: Plain): Plain {
  const name = textOf(request, 'poolName');
  checkSuperuser(site.caller, 'removeCachePool');
  site.checkSafeMode(`Cannot modify cache pool${name}`);
  checkPoolName(name);
  site.namespace.cache.removePool(name);
  site.namespace.logEdit();
  return {};
}

/** Who may not read a pool sees its name only. */
export function listCachePools(site: Site, request: Plain): Plain {
  const after = textOf(request, 'prevPoolName');
  const later = site.namespace.cache.pools().filter((pool) => compareNames(pool.name, after) > 0);
  const limit = Math.min(LIST_LIMIT, site.settings.listingLimit);
  return {
    entries: later.slice(0, limit).map((pool) => poolEntry(site, pool)),
    hasMore: later.length > limit,
  };
}

function poolEntry(site: Site, pool: CachePool): Plain {
  if (!isAllowed(site, pool, Access.READ)) {
    return {
      info: { poolName: pool.name },
      stats: { bytesNeeded: 0, bytesCached: 0, bytesOverlimit: 0, filesNeeded: 0, filesCached: 0 },
    };
  }
  const needed = neededByPool(site, pool);
  return {
    info: {
      poolName: pool.name,
      ownerName: pool.owner,
      groupName: pool.group,
      mode: pool.mode,
      limit: pool.limit,
      maxRelativeExpiry: pool.maxRelativeExpiryMs,
      defaultReplication: pool.defaultReplication,
    },
    stats: {
      bytesNeeded: needed.bytes,
      bytesCached: 0,
      bytesOverlimit: Math.max(0, needed.bytes - Number(pool.limit)),
      filesNeeded: needed.files,
      filesCached: 0,
    },
  };
}

export function addCacheDirective(site: Site, request: Plain): Plain {
  const info = messageOf(request, 'info') ?? {};
  site.checkSafeMode('Cannot add cache directive');
  if (info['id'] !== undefined) {
    throw ioException('addDirective: you cannot specify an ID for this operation.');
  }
  const pool = poolOf(site, info);
  checkWritable(site, pool);
  const path = cachePathOf(info);
  const replication = replicationOf(info, pool.defaultReplication);
  const expiryMs = expiryOf(site, info, pool.maxRelativeExpiryMs);
  if ((numberOf(request, 'cacheFlags') & CACHE_FLAG_FORCE) === 0) {
    checkLimit(site, pool, path, replication);
  }
  const id = site.namespace.cache.addDirective({ path, replication, pool, expiryMs });
  site.namespace.logEdit();
  return { id };
}

export function modifyCacheDirective(site: Site, request: Plain): Plain {
  const info = messageOf(request, 'info') ?? {};
  site.checkSafeMode('Cannot add cache directive');
  if (info['id'] === undefined) {
    throw invalidRequest('Must supply an ID.');
  }
  const { cache } = site.namespace;
  const before = cache.findDirective(numberOf(info, 'id'));
  checkWritable(site, before.pool);
  const path = info['path'] === undefined ? before.path : cachePathOf(info);
  const replication = replicationOf(info, before.replication);
  const pool = info['pool'] === undefined ? before.pool : poolOf(site, info);
  const expiryMs = info['expiration'] === undefined ? before.expiryMs : expiryOf(site, info, pool.maxRelativeExpiryMs);
  if (pool !== before.pool) {
    checkWritable(site, pool);
    if ((numberOf(request, 'cacheFlags') & CACHE_FLAG_FORCE) === 0) {
      checkLimit(site, pool, path, replication);
    }
  }
  cache.replaceDirective({ id: before.id, path, replication, pool, expiryMs });
  site.namespace.logEdit();
  return {};
}

export function removeCacheDirective(site: Site, request: Plain): Plain {
  site.checkSafeMode('Cannot remove cache directives');
  const { cache } = site.namespace;
  const directive = cache.findDirective(numberOf(request, 'id'));
  checkWritable(site, directive.pool);
  cache.removeDirective(directive.id);
  site.namespace.logEdit();
  return {};
}

export function listCacheDirectives(site: Site, request: Plain): Plain {
  const filter = messageOf(request, 'filter') ?? {};
  const path = filter['path'] === undefined ? null : cachePathOf(filter);
  const pool = textOf(filter, 'pool');
  if (filter['replication'] !== undefined) {
    throw invalidRequest('Filtering by replication is unsupported.');
  }
  const { cache } = site.namespace;
  const id = numberOf(filter, 'id');
  if (filter['id'] !== undefined && !cache.hasDirective(id)) {
    throw invalidRequest(`Did not find requested id ${id}`);
  }
  const after = filter['id'] === undefined ? numberOf(request, 'prevId') : id - 1;
  const found = cache
    .directives()
    .filter(
      (one) =>
        one.id > after &&
        (filter['id'] === undefined || one.id === id) &&
        (pool === '' || one.pool.name === pool) &&
        (path === null || one.path === path) &&
        isAllowed(site, one.pool, Access.READ),
    );
  const limit = Math.min(LIST_LIMIT, site.settings.listingLimit);
  return { elements: found.slice(0, limit).map((one) => directiveEntry(site, one)), hasMore: found.length > limit };
}

function directiveEntry(site: Site, directive: CacheDirective): Plain {
  const hasExpired = directive.expiryMs <= BigInt(site.namespace.nowMs);
  const needed = hasExpired ? { bytes: 0, files: 0 } : neededBy(site, directive.path, directive.replication);
  return {
    info: {
      id: directive.id,
      path: directive.path,
      replication: directive.replication,
      pool: directive.pool.name,
      expiration: { millis: directive.expiryMs, isRelative: false },
    },
    stats: { bytesNeeded: needed.bytes, bytesCached: 0, filesNeeded: needed.files, filesCached: 0, hasExpired },
  };
}

interface Needed {
  readonly bytes: number;
  readonly files: number;
}

/** A file, or the files directly in a directory. */
function neededBy(site: Site, path: string, replication: number): Needed {
  const { target } = site.namespace.locate(path);
  const inodes: Iterable<Inode> = target instanceof Directory ? target.children() : target === null ? [] : [target];
  let bytes = 0;
  let files = 0;
  for (const inode of inodes) {
    if (!(inode instanceof Directory)) {
      bytes += inode.length * replication;
      files++;
    }
  }
  return { bytes, files };
}

function neededByPool(site: Site, pool: CachePool): Needed {
  let bytes = 0;
  let files = 0;
  for (const directive of site.namespace.cache.directives()) {
    if (directive.pool === pool) {
      const needed = neededBy(site, directive.path, directive.replication);
      bytes += needed.bytes;
      files += needed.files;
    }
  }
  return { bytes, files };
}

function checkLimit(site: Site, pool: CachePool, path: string, replication: number): void {
  if (pool.limit === UNLIMITED_BYTES) {
    return;
  }
  const needed = neededBy(site, path, replication).bytes;
  const taken = neededByPool(site, pool).bytes;
  if (taken + needed > pool.limit) {
    throw invalidRequest(
      `Caching path ${path} of size ${needed / replication} bytes at replication ${replication} would exceed pool ` +
        `${pool.name}'s remaining capacity of ${Number(pool.limit) - taken} bytes.`,
    );
  }
}

function poolOf(site: Site, info: Plain): CachePool {
  const name = textOf(info, 'pool');
  if (info['pool'] === undefined) {
    throw invalidRequest('No pool specified.');
  }
  if (name === '') {
    throw invalidRequest('Invalid empty pool name.');
  }
  const pool = site.namespace.cache.findPool(name);
  if (pool === undefined) {
    throw invalidRequest(`Unknown pool ${name}`);
  }
  return pool;
}

function cachePathOf(info: Plain): string {
  const path = textOf(info, 'path');
  if (info['path'] === undefined) {
    throw invalidRequest('No path specified.');
  }
  if (!isValidName(path)) {
    throw invalidRequest(`Invalid path '${path}'.`);
  }
  return path;
}

function replicationOf(info: Plain, otherwise: number): number {
  const replication = numberOf(info, 'replication', otherwise);
  if (replication <= 0) {
    throw invalidRequest(`Invalid replication factor ${replication} <= 0`);
  }
  return replication;
}

/** Time at which the directive expires. */
function expiryOf(site: Site, info: Plain, maxRelativeMs: number | bigint): bigint {
  const nowMs = BigInt(site.namespace.nowMs);
  const expiration = messageOf(info, 'expiration');
  if (expiration === undefined) {
    return nowMs + BigInt(maxRelativeMs);
  }
  const millis = BigInt(integerOf(expiration, 'millis', 0));
  if (millis < 0n) {
    throw invalidRequest(`Cannot set a negative expiration: ${millis}`);
  }
  const relativeMs = flagOf(expiration, 'isRelative') ? millis : millis - nowMs;
  if (relativeMs > NEVER_EXPIRES_MS) {
    throw invalidRequest(`Expiration ${millis} is too far in the future!`);
  }
  if (relativeMs > maxRelativeMs) {
    throw invalidRequest(`Expiration ${millis} exceeds the max relative expiration time of ${maxRelativeMs} ms.`);
  }
  return nowMs + relativeMs;
}

function checkWritable(site: Site, pool: CachePool): void {
  if (!isAllowed(site, pool, Access.WRITE)) {
    throw accessDenied(
      `Permission denied while accessing pool ${pool.name}: user ${site.caller.user} does not have WRITE permissions.`,
    );
  }
}

function isAllowed({ caller }: Site, pool: CachePool, access: number): boolean {
  if (caller.superuser) {
    return true;
  }
  const shift = pool.owner === caller.user ? 6 : caller.groups.includes(pool.group) ? 3 : 0;
  return ((pool.mode >> shift) & access) === access;
}
