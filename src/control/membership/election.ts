import { membershipKey } from '../../state-store/record-names.ts';
import type { MembershipRecord, MembershipState } from '../../state-store/records.ts';

/** Order of states in a list of NameNodes. */
const RANK: Readonly<Record<MembershipState, number>> = {
  ACTIVE: 0,
  OBSERVER: 1,
  STANDBY: 2,
  UNAVAILABLE: 3,
  EXPIRED: 4,
  DISABLED: 5,
};

/** Which NameNode a report is about: reports with equal texts are about one. */
export function namenodeKey({
  nameserviceId,
  namenodeId,
}: Pick<MembershipRecord, 'nameserviceId' | 'namenodeId'>): string {
  return `${nameserviceId}-${namenodeId ?? ''}`;
}

/**
 * One report for each NameNode out of those of all routers. Expired ones have no vote. A state that more than half of the reports name wins,
 * and its newest report counts; else the newest of all does.
 */
export function electReports(records: readonly MembershipRecord[]): MembershipRecord[] {
  const reports = new Map<string, MembershipRecord[]>();
  for (const record of records) {
    if (record.state === 'EXPIRED') continue;
    const key = namenodeKey(record);
    const same = reports.get(key);
    if (same === undefined) reports.set(key, [record]);
    else same.push(record);
  }
  return [...reports.values()].map(electOne);
}

function electOne(reports: readonly MembershipRecord[]): MembershipRecord {
  const byState = Map.groupBy(reports, ({ state }) => state);
  const majority = [...byState.values()].find((group) => group.length > Math.floor(reports.length / 2));
  return [...(majority ?? reports)].sort(newestFirst)[0] as MembershipRecord;
}

function newestFirst(a: MembershipRecord, b: MembershipRecord): number {
  return b.dateModified - a.dateModified || compareTexts(membershipKey(a), membershipKey(b));
}

/** As Java compares strings: by UTF-16 code unit. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A NameNode in the list of its nameservice. */
export interface ListedNamenode {
  /** The report that was elected; its state may have been corrected since. */
  readonly record: MembershipRecord;
  readonly state: MembershipState;
}

export interface ListOptions {
  /** Observers come before all others, in random order. */
  readonly observersFirst?: boolean;
  readonly disabled?: boolean;
  /** What is known better since: state by `namenodeKey`. */
  readonly corrections?: ReadonlyMap<string, MembershipState>;
  /** From 0 up to but not 1. */
  readonly random?: () => number;
}

/** The NameNodes of a nameservice in the order to ask them, out of elected reports; null when there is none. */
export function listNamenodes(
  elected: readonly MembershipRecord[],
  nameserviceId: string,
  { observersFirst = false, disabled = false, corrections = new Map(), random = Math.random }: ListOptions = {},
): ListedNamenode[] | null {
  const listed = elected
    .filter((record) => record.nameserviceId === nameserviceId)
    .map((record): ListedNamenode => ({ record, state: corrections.get(namenodeKey(record)) ?? record.state }))
    .filter(({ state }) => state !== 'EXPIRED')
    .sort((a, b) => RANK[a.state] - RANK[b.state] || newestFirst(a.record, b.record));
  if (listed.length === 0) return null;
  const inOrder = observersFirst ? putObserversFirst(listed, random) : listed;
  return disabled ? inOrder.map(({ record }) => ({ record, state: 'DISABLED' })) : inOrder;
}

function putObserversFirst(listed: readonly ListedNamenode[], random: () => number): ListedNamenode[] {
  const observers = listed.filter(({ state }) => state === 'OBSERVER');
  for (let last = observers.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [observers[last], observers[other]] = [observers[other] as ListedNamenode, observers[last] as ListedNamenode];
  }
  return [...observers, ...listed.filter(({ state }) => state !== 'OBSERVER')];
}

export interface ActiveNameservice {
  readonly nameserviceId: string;
  readonly clusterId: string;
  readonly blockPoolId: string;
}

/** Nameservices of which a router saw a NameNode alive, and that are not disabled. One with two block pools is there twice. */
export function listActiveNameservices(
  records: readonly MembershipRecord[],
  disabled: ReadonlySet<string> = new Set(),
): ActiveNameservice[] {
  const found = new Map<string, ActiveNameservice>();
  for (const { state, nameserviceId, clusterId, blockPoolId } of records) {
    if (state === 'EXPIRED' || state === 'UNAVAILABLE' || disabled.has(nameserviceId)) continue;
    found.set(JSON.stringify([nameserviceId, clusterId, blockPoolId]), { nameserviceId, clusterId, blockPoolId });
  }
  return [...found.values()];
}
