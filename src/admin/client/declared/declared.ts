/** What a file says a mount entry shall be. */
import type { MountDestination, MountEntry, MountOrder, StorageType } from '../../../mount/entry.ts';
import { NO_QUOTA } from '../../../mount/entry.ts';

export interface DeclaredMount {
  readonly sourcePath: string;
  readonly destinations: readonly MountDestination[];
  readonly order: MountOrder;
  readonly readOnly: boolean;
  readonly faultTolerant: boolean;
  /** Null: that of the entry as it is; a new one belongs to who adds it. */
  readonly owner: string | null;
  readonly group: string | null;
  readonly mode: number;
  /** `NO_QUOTA` where there is none. */
  readonly namespaceQuota: bigint;
  /** Bytes. */
  readonly spaceQuota: bigint;
  /** Bytes. */
  readonly typeQuotas: ReadonlyMap<StorageType, bigint>;
}

/** A declared mount and where it stands, file:line:column. */
export interface PlacedMount {
  readonly place: string;
  readonly mount: DeclaredMount;
}

/** The limits of an entry, without types that have none. */
export function typeQuotasOf({ quota }: MountEntry): Map<StorageType, bigint> {
  const limited = quota.types.filter((type) => type.quota !== NO_QUOTA);
  return new Map(limited.map((type) => [type.type, type.quota]));
}

/** An entry as a file would declare it. */
export function declare(entry: MountEntry): DeclaredMount {
  const { sourcePath, destinations, order, readOnly, faultTolerant, owner, group, mode, quota } = entry;
  return {
    sourcePath,
    destinations,
    order,
    readOnly,
    faultTolerant,
    owner,
    group,
    mode,
    namespaceQuota: quota.namespaceQuota,
    spaceQuota: quota.spaceQuota,
    typeQuotas: typeQuotasOf(entry),
  };
}

/** The entry `before` made what is declared. Counts and the creation date stay; types without a limit any more are said to have none. */
export function fulfil(mount: DeclaredMount, before: MountEntry, nowMs: number): MountEntry {
  const { sourcePath, destinations, order, readOnly, faultTolerant, mode, typeQuotas } = mount;
  const types = new Set([...before.quota.types.map(({ type }) => type), ...typeQuotas.keys()]);
  const consumed = new Map(before.quota.types.map((type) => [type.type, type.consumed]));
  return {
    sourcePath,
    destinations: destinations.map((destination) => ({ ...destination })),
    order,
    readOnly,
    faultTolerant,
    owner: mount.owner ?? before.owner,
    group: mount.group ?? before.group,
    mode,
    dateCreated: before.dateCreated > 0 ? before.dateCreated : nowMs,
    dateModified: nowMs,
    quota: {
      ...before.quota,
      namespaceQuota: mount.namespaceQuota,
      spaceQuota: mount.spaceQuota,
      types: [...types].map((type) => ({
        type,
        quota: typeQuotas.get(type) ?? NO_QUOTA,
        consumed: consumed.get(type) ?? 0n,
      })),
    },
  };
}
