import type { Configuration } from './configuration.ts';

const ROUTER = 'dfs.federation.router';
/** Longest time a Node timer can wait. */
const MAX_TIMER_MS = 2_147_483_647;

/** When records of one type grow old. Ages in ms; 0 or less: never. */
export interface ExpirySettings {
  /** Age of a record that is no longer believed. */
  readonly expirationMs: number;
  /** What is added to it until the record is deleted. */
  readonly deletionMs: number;
}

/** When a router leaves client changes to other routers. */
export interface SafeModeSettings {
  /** Time after the start in which nothing ends safe mode but an administrator. */
  readonly extensionMs: number;
  /** Age of the last full load of the State Store at which safe mode begins. */
  readonly expirationMs: number;
  readonly checkPeriodMs: number;
}

/** Times of the State Store and of what is kept in it. */
export interface StoreSettings {
  /** Pause between two loads of everything. */
  readonly cacheTtlMs: number;
  /** Pause between two attempts to start a driver that is not ready. */
  readonly connectionTestMs: number;
  readonly membership: ExpirySettings;
  readonly router: ExpirySettings;
  /** This router writes its own record. */
  readonly heartbeatEnabled: boolean;
  /** Pause between two writes of this router's own record. */
  readonly heartbeatMs: number;
  /** Null: safe mode is off. */
  readonly safeMode: SafeModeSettings | null;
}

/** What the State Store's side of a router needs; a ConfigError names the first value that cannot be used. */
export function readStoreSettings(configuration: Configuration): StoreSettings {
  const period = (key: string, minMs = 1): number => {
    const ms = configuration.readDurationMs(`${ROUTER}.${key}`);
    if (ms < minMs) throw configuration.error(`${ROUTER}.${key}`, 'too short', `allowed: ${minMs} ms or more`);
    return Math.min(ms, MAX_TIMER_MS);
  };
  const expiry = (key: string): ExpirySettings => ({
    expirationMs: configuration.readDurationMs(`${ROUTER}.${key}`),
    deletionMs: configuration.readDurationMs(`${ROUTER}.${key}.deletion`),
  });
  return {
    cacheTtlMs: period('cache.ttl'),
    connectionTestMs: period('store.connection.test'),
    membership: expiry('store.membership.expiration'),
    router: expiry('store.router.expiration'),
    heartbeatEnabled: configuration.readBoolean(`${ROUTER}.heartbeat.enable`),
    heartbeatMs: period('heartbeat-state.interval'),
    safeMode: configuration.readBoolean(`${ROUTER}.safemode.enable`)
      ? {
          extensionMs: period('safemode.extension', 0),
          expirationMs: period('safemode.expiration'),
          checkPeriodMs: period('safemode.checkperiod'),
        }
      : null,
  };
}
