import type { StorageType } from './entry.ts';
import { type MountUsage, NO_USAGE, type QuotaUsage } from './quota.ts';

/** Usage of mount points as plain data, to be posted between threads. Of two with the same path the later counts. */
export type UsageData = readonly {
  readonly mountPath: string;
  readonly files: bigint;
  readonly bytes: bigint;
  readonly types: Readonly<Partial<Record<StorageType, bigint>>>;
}[];

/** Mount points whose usage is kept; that of those beyond is as not known. */
export const MAX_USED_MOUNTS = 1 << 17;

/** Usage that was given; fixed. Without any it is `NO_USAGE`, by which nothing is checked. */
export function givenUsage(data: UsageData, maxMounts = MAX_USED_MOUNTS): QuotaUsage {
  if (data.length === 0) return NO_USAGE;
  const usages = new Map<string, MountUsage>();
  for (const { mountPath, ...usage } of data) {
    if (usages.size < maxMounts || usages.has(mountPath)) usages.set(mountPath, usage);
  }
  return { usageOf: (mountPath) => usages.get(mountPath) ?? null };
}
