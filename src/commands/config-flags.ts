import type { Override } from '../config/configuration.ts';
import { isUnknownOwnKey, nearestKey } from '../config/keys.ts';
import { UsageError } from './usage.ts';

/** Flags that change the configuration, shared by `start` and `check-config`. */
export const CONFIG_FLAGS = {
  'config-dir': { type: 'string' },
  rpc: { type: 'string' },
  set: { type: 'string', multiple: true },
} as const;

export interface ConfigFlagValues {
  readonly rpc?: string | undefined;
  readonly set?: readonly string[] | undefined;
}

/** What the flags set; `--rpc` also takes the place of a bind host, or its own host would not count. */
export function readOverrides({ rpc, set = [] }: ConfigFlagValues): Override[] {
  const overrides = set.map(parseSetting);
  if (rpc !== undefined) {
    refuseEmptyPort(rpc);
    overrides.push({ key: 'dfs.federation.router.rpc-address', value: rpc, origin: '--rpc' });
    overrides.push({ key: 'dfs.federation.router.rpc-bind-host', value: '', origin: '--rpc' });
  }
  return overrides;
}

/** Hadoop's files may leave the port empty for the default one; who types an address and stops at the colon meant to go on. */
function refuseEmptyPort(rpc: string): void {
  if (!rpc.trim().endsWith(':')) return;
  throw new UsageError(
    `--rpc ${rpc}: not an address, the port is missing; write HOST:PORT, with port 0 for any free one`,
  );
}

function parseSetting(text: string): Override {
  const equals = text.indexOf('=');
  const key = equals < 0 ? '' : text.slice(0, equals).trim();
  if (key === '') throw new UsageError(`--set ${text}: write KEY=VALUE`);
  if (isUnknownOwnKey(key)) {
    const nearest = nearestKey(key);
    throw new UsageError(
      `--set ${text}: there is no key ${key}${nearest === null ? '' : `; did you mean ${nearest}?`}`,
    );
  }
  return { key, value: text.slice(equals + 1), origin: '--set' };
}
