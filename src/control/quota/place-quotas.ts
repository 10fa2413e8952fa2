import { amountOf, longOf } from '../../composed/longs.ts';
import { NO_QUOTA, STORAGE_TYPES, type StorageType } from '../../mount/entry.ts';
import type { Plain } from '../../wire/messages.ts';
import { RemoteError } from '../rpc-client.ts';
import { type NamenodeCalls, NameserviceUnreachable } from './namenode-calls.ts';
import type { Limits, Place } from './quota-table.ts';

/** Calls to one nameservice that wait for their answers at a time. */
const CALLS_AT_A_TIME = 8;
/** Lines that one batch may write into the log. */
const MAX_REPORTED = 20;
/** What a limit is set to so that it stays as it is; also what the root of a NameNode has for none. */
const UNCHANGED = (1n << 63n) - 1n;

const MISSING: ReadonlySet<string> = new Set([
  'java.io.FileNotFoundException',
  'org.apache.hadoop.fs.ParentNotDirectoryException',
]);

/** What a NameNode says about a place. */
export interface PlaceUsage {
  readonly files: bigint;
  readonly bytes: bigint;
  readonly types: ReadonlyMap<StorageType, bigint>;
  /** Null when nothing is there. */
  readonly limits: Limits | null;
}

const NOTHING: PlaceUsage = { files: 0n, bytes: 0n, types: new Map(), limits: null };

/** Limits to be set at a place; null: that one stays as it is. */
export interface LimitChange {
  readonly names: bigint | null;
  readonly bytes: bigint | null;
  readonly types: ReadonlyMap<StorageType, bigint>;
}

/** Rejects as NamenodeCalls does. */
export async function readUsage(calls: NamenodeCalls, { nameservice, path }: Place): Promise<PlaceUsage> {
  try {
    const { usage } = await calls.call<{ usage: Plain }>(nameservice, 'getQuotaUsage', { path });
    return toUsage(usage);
  } catch (error) {
    if (error instanceof RemoteError && MISSING.has(error.className)) return NOTHING;
    throw error;
  }
}

function toUsage(usage: Plain): PlaceUsage {
  const consumed = new Map<StorageType, bigint>();
  const limits = new Map<StorageType, bigint>();
  const infos = (usage['typeQuotaInfos'] as Plain | undefined)?.['typeQuotaInfo'] ?? [];
  for (const info of infos as Plain[]) {
    const type = (info['type'] as StorageType | undefined) ?? 'DISK';
    consumed.set(type, amountOf(longOf(info['consumed'])));
    const limit = longOf(info['quota']);
    if (limit >= 0n) limits.set(type, limit);
  }
  return {
    files: amountOf(longOf(usage['fileAndDirectoryCount'])),
    bytes: amountOf(longOf(usage['spaceConsumed'])),
    types: consumed,
    limits: { names: longOf(usage['quota']), bytes: longOf(usage['spaceQuota']), types: limits },
  };
}

/** What must be set so that limits are as they should be; null when they are. */
export function differenceOf(place: Place, actual: Limits, wanted: Limits): LimitChange | null {
  const names = keptNames(place, wanted.names);
  const types = new Map<StorageType, bigint>();
  for (const type of STORAGE_TYPES) {
    const limit = wanted.types.get(type) ?? NO_QUOTA;
    if (limit !== (actual.types.get(type) ?? NO_QUOTA)) types.set(type, limit);
  }
  const isOther = (names !== null && names !== actual.names) || wanted.bytes !== actual.bytes;
  if (!isOther && types.size === 0) return null;
  return { names: isOther ? names : null, bytes: isOther ? wanted.bytes : null, types };
}

/** The root of a namespace always has a limit of names; it cannot be taken away. */
function keptNames({ path }: Place, names: bigint): bigint | null {
  return path === '/' && names < 0n ? null : names;
}

/** Rejects as NamenodeCalls does. */
export async function setLimits(
  calls: NamenodeCalls,
  place: Place,
  { names, bytes, types }: LimitChange,
): Promise<void> {
  const { nameservice, path } = place;
  const namespaceQuota = (names === null ? null : keptNames(place, names)) ?? UNCHANGED;
  const storagespaceQuota = bytes ?? UNCHANGED;
  if (namespaceQuota !== UNCHANGED || storagespaceQuota !== UNCHANGED) {
    await calls.call(nameservice, 'setQuota', { path, namespaceQuota, storagespaceQuota });
  }
  for (const [storageType, limit] of types) {
    await calls.call(nameservice, 'setQuota', {
      path,
      namespaceQuota: UNCHANGED,
      storagespaceQuota: limit,
      storageType,
    });
  }
}

/**
 * Does something at each place, in all nameservices at the same time, several at once in each; `onNameservice` is called when one is done.
 * Failures come back by what failed: the nameservice when it could not be reached, else the place.
 */
export async function atEach<T extends { readonly place: Place }>(
  items: Iterable<T>,
  act: (item: T) => Promise<void>,
  onNameservice: () => void = () => {},
): Promise<Map<string, string>> {
  const failures = new Map<string, string>();
  const nameservices = [...Map.groupBy(items, ({ place }) => place.nameservice).values()].map(async (all) => {
    const open = all.toReversed();
    const lanes = Math.min(CALLS_AT_A_TIME, all.length);
    await Promise.all(Array.from({ length: lanes }, () => runLane(open, act, failures)));
    onNameservice();
  });
  await Promise.all(nameservices);
  return failures;
}

async function runLane<T extends { readonly place: Place }>(
  open: T[],
  act: (item: T) => Promise<void>,
  failures: Map<string, string>,
): Promise<void> {
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    try {
      await act(item);
    } catch (error) {
      const { nameservice, path } = item.place;
      const what = error instanceof NameserviceUnreachable ? error.nameservice : `${nameservice}:${path}`;
      failures.set(what, error instanceof Error ? error.message : String(error));
    }
  }
}

/** Says what is new among failures, at most MAX_REPORTED lines, through `say`. */
export function reportNew(
  failures: ReadonlyMap<string, string>,
  known: ReadonlyMap<string, string>,
  say: (what: string, reason: string) => void,
): void {
  const news = [...failures].filter(([what, reason]) => known.get(what) !== reason);
  for (const [what, reason] of news.slice(0, MAX_REPORTED)) say(what, reason);
  const rest = news.length - MAX_REPORTED;
  if (rest > 0) say(`${rest} more`, 'see the lines before');
}
