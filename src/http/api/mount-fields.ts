/** Mount entries as the API has them, and what requests make of entries. */
import type { AdminCaller } from '../../admin/access.ts';
import { type DeclaredMount, declare, fulfil } from '../../admin/client/declared/declared.ts';
import { modeDigits } from '../../admin/client/declared/write-document.ts';
import { parseByteLimit, parseLimit } from '../../admin/client/sizes.ts';
import { JAVA, RemoteException } from '../../control/rpc-server/remote-exception.ts';
import {
  emptyEntry,
  type MountDefaults,
  type MountDestination,
  type MountEntry,
  type MountOrder,
  NO_QUOTA,
  type StorageType,
} from '../../mount/entry.ts';

/** A limit as requests give it: text for more than 2^53 or with a unit, null for none. */
type GivenLimit = number | string | null;

/** As schema.ts checks it. */
export interface QuotaFields {
  readonly namespace?: GivenLimit;
  readonly space?: GivenLimit;
  readonly storageTypes?: Readonly<Partial<Record<StorageType, GivenLimit>>>;
}

/** As schema.ts checks it. */
export interface MountFields {
  readonly path?: string;
  readonly destinations?: readonly MountDestination[];
  readonly order?: MountOrder;
  readonly readOnly?: boolean;
  readonly faultTolerant?: boolean;
  readonly owner?: string;
  readonly group?: string;
  readonly mode?: string;
  readonly quota?: QuotaFields;
}

type Limits = Pick<DeclaredMount, 'namespaceQuota' | 'spaceQuota' | 'typeQuotas'>;

export const NO_LIMITS: Limits = { namespaceQuota: NO_QUOTA, spaceQuota: NO_QUOTA, typeQuotas: new Map() };

/** The entry with these fields and nothing else of its own: owner and group stay, others get their defaults. */
export function entryWith(fields: MountFields, before: MountEntry, nowMs: number): MountEntry {
  const { sourcePath, owner, group } = before;
  const nothing = declare(emptyEntry(sourcePath, { routerUser: owner, superGroup: group }));
  return fulfil(withFields(nothing, fields), before, nowMs);
}

/** The entry with these fields changed. */
export function changedEntry(fields: MountFields, before: MountEntry, nowMs: number): MountEntry {
  return fulfil(withFields(declare(before), fields), before, nowMs);
}

/** The entry with these limits and no others. */
export function limitedEntry(quota: QuotaFields | null, before: MountEntry, nowMs: number): MountEntry {
  const limits = quota === null ? NO_LIMITS : withLimits(NO_LIMITS, quota);
  return fulfil({ ...declare(before), ...limits }, before, nowMs);
}

/** An entry of a path that says nothing yet, owned by the caller. */
export function newEntry(path: string, { user, groups, superuser }: AdminCaller, defaults: MountDefaults): MountEntry {
  const superGroup = groups[0] ?? (superuser ? defaults.superGroup : user);
  return emptyEntry(path, { routerUser: user, superGroup });
}

/** An entry as answers have it. */
export function mountOf(entry: MountEntry): object {
  const { sourcePath, destinations, order, readOnly, faultTolerant, owner, group, mode } = entry;
  const { dateCreated, dateModified } = entry;
  return {
    path: sourcePath,
    destinations: destinations.map(({ nameservice, path }) => ({ nameservice, path })),
    order,
    readOnly,
    faultTolerant,
    owner,
    group,
    mode: modeDigits(mode),
    quota: limitsOf(entry),
    dateCreated,
    dateModified,
    usage: usageOf(entry),
  };
}

export function limitsOf(entry: MountEntry): object {
  const { namespaceQuota, spaceQuota, typeQuotas } = declare(entry);
  const limit = (value: bigint): bigint | null => (value === NO_QUOTA ? null : value);
  return { namespace: limit(namespaceQuota), space: limit(spaceQuota), storageTypes: Object.fromEntries(typeQuotas) };
}

export function usageOf({ quota }: MountEntry): object {
  return {
    filesAndDirectories: quota.fileAndDirectoryCount,
    spaceBytes: quota.spaceConsumed,
    storageTypes: Object.fromEntries(quota.types.map(({ type, consumed }) => [type, consumed])),
  };
}

export function hasLimit(entry: MountEntry): boolean {
  const { namespaceQuota, spaceQuota, typeQuotas } = declare(entry);
  return namespaceQuota !== NO_QUOTA || spaceQuota !== NO_QUOTA || typeQuotas.size > 0;
}

function withFields(mount: DeclaredMount, fields: MountFields): DeclaredMount {
  const { destinations, order, readOnly, faultTolerant, owner, group, mode, quota } = fields;
  return {
    ...mount,
    destinations: destinations ?? mount.destinations,
    order: order ?? mount.order,
    readOnly: readOnly ?? mount.readOnly,
    faultTolerant: faultTolerant ?? mount.faultTolerant,
    owner: owner ?? mount.owner,
    group: group ?? mount.group,
    mode: mode === undefined ? mount.mode : Number.parseInt(mode, 8),
    ...(quota === undefined ? {} : withLimits(mount, quota)),
  };
}

function withLimits(limits: Limits, { namespace, space, storageTypes = {} }: QuotaFields): Limits {
  const typeQuotas = new Map(limits.typeQuotas);
  for (const [type, given] of Object.entries(storageTypes)) {
    const limit = limitOf(`quota of ${type}`, given, parseByteLimit);
    if (limit === NO_QUOTA) typeQuotas.delete(type as StorageType);
    else typeQuotas.set(type as StorageType, limit);
  }
  return {
    namespaceQuota: namespace === undefined ? limits.namespaceQuota : limitOf('namespace', namespace, parseLimit),
    spaceQuota: space === undefined ? limits.spaceQuota : limitOf('space', space, parseByteLimit),
    typeQuotas,
  };
}

function limitOf(what: string, given: GivenLimit, parse: (text: string) => bigint | null): bigint {
  if (given === null) return NO_QUOTA;
  const limit = parse(String(given));
  if (limit !== null) return limit;
  throw new RemoteException(JAVA.ILLEGAL_ARGUMENT, `${what}: ${given} is no limit of 64 bits`);
}
