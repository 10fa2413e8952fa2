import { hostname } from 'node:os';
import type { Configuration } from './configuration.ts';

const ROUTER = 'dfs.federation.router';
const DEFAULT_ADMIN_PORT = 8111;
/** Longest time a Node timer can wait. */
const MAX_TIMER_MS = 2_147_483_647;

/** How other routers are told of changed mount points, `dfs.federation.router.mount-table.cache.update*`. */
export interface RouterRefreshSettings {
  /** Longest wait for all routers together. */
  readonly timeoutMs: number;
  /** Life of a connection to another router. */
  readonly connectionMs: number;
}

/** What administration goes by. */
export interface AdminSettings {
  /** There is an admin port. */
  readonly enabled: boolean;
  /** Interface that it is bound to. */
  readonly bindHost: string;
  readonly port: number;
  /** Host by which other routers and tools reach it: this machine's name where the address names no host. */
  readonly reachableHost: string;
  readonly idleMs: number;
  readonly maxRequestBytes: number;
  /** Owners, groups, modes and superusers count; false: anyone may do anything. */
  readonly permissionsEnabled: boolean;
  /** Destinations of new mount entries must exist. */
  readonly mountCheck: boolean;
  /** Bytes of a destination's longest component; 0: no limit. */
  readonly maxComponentBytes: number;
  /** Null: other routers are not told. */
  readonly refresh: RouterRefreshSettings | null;
}

/** A ConfigError names the first value that cannot be used. */
export function readAdminSettings(configuration: Configuration): AdminSettings {
  const address = configuration.readAddress(`${ROUTER}.admin-address`, DEFAULT_ADMIN_PORT);
  const maxIdle = configuration.readInteger('ipc.client.connection.maxidletime');
  if (maxIdle < 1) throw configuration.error('ipc.client.connection.maxidletime', 'too small', 'allowed: 1 or more');
  return {
    enabled: configuration.readBoolean(`${ROUTER}.admin.enable`),
    bindHost: configuration.readString(`${ROUTER}.admin-bind-host`) || address.host,
    port: address.port,
    reachableHost: isWildcard(address.host) ? hostname() : address.host,
    // A server allows twice the time after which clients close by themselves.
    idleMs: Math.min(2 * maxIdle, MAX_TIMER_MS),
    maxRequestBytes: configuration.readInteger('ipc.maximum.data.length'),
    permissionsEnabled: configuration.readBoolean('dfs.permissions.enabled'),
    mountCheck: configuration.readBoolean(`${ROUTER}.admin.mount.check.enable`),
    maxComponentBytes: configuration.readBytes(`${ROUTER}.fs-limits.max-component-length`),
    refresh: readRefresh(configuration),
  };
}

function readRefresh(configuration: Configuration): RouterRefreshSettings | null {
  const update = `${ROUTER}.mount-table.cache.update`;
  if (!configuration.readBoolean(update)) return null;
  const period = (key: string): number => {
    const ms = configuration.readDurationMs(key);
    if (ms < 1) throw configuration.error(key, 'too short', 'allowed: 1 ms or more');
    return Math.min(ms, MAX_TIMER_MS);
  };
  return { timeoutMs: period(`${update}.timeout`), connectionMs: period(`${update}.client.max.time`) };
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '';
}
