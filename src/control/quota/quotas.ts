import type { Configuration } from '../../config/configuration.ts';
import type { MountEntry } from '../../mount/entry.ts';
import type { UsageData } from '../../mount/given-usage.ts';
import type { ControlBlock } from '../../shared/control-block.ts';
import type { Settings } from '../../shared/settings.ts';
import type { Log } from '../log.ts';
import type { MonitoredNamenode } from '../membership/addresses.ts';
import { QuotaPush } from './quota-push.ts';
import { QuotaService } from './quota-service.ts';

const INTERVAL = 'dfs.federation.router.quota-cache.update.interval';
/** Longest time a Node timer can wait. */
const MAX_TIMER_MS = 2_147_483_647;

export interface QuotasOptions {
  readonly configuration: Configuration;
  readonly settings: Pick<Settings, 'quotaEnabled' | 'routerUser' | 'connectTimeoutMs'>;
  readonly namenodes: readonly MonitoredNamenode[];
  readonly block: Pick<ControlBlock, 'activeOf' | 'isDisabled'>;
  /** The mount table as the State Store's cache has it at that moment, mount points of the command line with it; throws when there is none yet. */
  readonly entries: () => readonly MountEntry[];
  /** Reads the mount table anew; false when that failed. */
  readonly reload: () => Promise<boolean>;
  /** Usage has changed; for the threads that resolve paths. */
  readonly onUsage: (usage: UsageData) => void;
  readonly log: Log;
}

export interface Quotas {
  readonly service: QuotaService;
  readonly push: QuotaPush;
}

/** The quotas of mount points; null when `dfs.federation.router.quota.enable` is off. Throws ConfigError. */
export function openQuotas(options: QuotasOptions): Quotas | null {
  const { configuration, settings, block, entries, reload, onUsage, log } = options;
  const intervalMs = readIntervalMs(configuration);
  if (!settings.quotaEnabled) return null;
  const { routerUser: user, connectTimeoutMs } = settings;
  const namenodes = { namenodes: options.namenodes, block, user, connectTimeoutMs };
  return {
    service: new QuotaService({ entries, reload, namenodes, intervalMs, onUsage, log }),
    push: new QuotaPush({ entries, namenodes, log }),
  };
}

/** Pause between two counts of what is used under mount points. */
function readIntervalMs(configuration: Configuration): number {
  const intervalMs = configuration.readDurationMs(INTERVAL);
  if (intervalMs < 1) throw configuration.error(INTERVAL, 'too short', 'allowed: 1 ms or more');
  return Math.min(intervalMs, MAX_TIMER_MS);
}
