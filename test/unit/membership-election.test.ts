import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  electReports,
  type ListedNamenode,
  type ListOptions,
  listActiveNameservices,
  listNamenodes,
  namenodeKey,
} from '../../src/control/membership/election.ts';
import { MEMBERSHIP_STATES, type MembershipRecord, type MembershipState } from '../../src/state-store/records.ts';
import { membershipRecord } from './membership-samples.ts';

interface Case {
  readonly case: string;
  readonly reports: readonly { routerId: string; namenodeId: string; state: string; ageMs: number }[];
  readonly ns0Disabled?: boolean;
  readonly error?: string;
  readonly listForNameservice?: readonly string[] | null;
  readonly listObserversFirst?: readonly string[] | null;
  readonly activeNameservices?: readonly string[];
  readonly steps?: Readonly<Record<string, readonly string[]>>;
}

const NOW = 1_700_000_000_000;
const EXPIRATION_MS = 300_000;
const { cases } = JSON.parse(readFileSync(new URL('./membership-cases.json', import.meta.url), 'utf8')) as {
  cases: readonly Case[];
};

/** The reports of a case as they come out of the cache, which has expired old ones. */
function recordsOf({ reports }: Case): MembershipRecord[] {
  return reports.map(({ routerId, namenodeId, state, ageMs }) => {
    const known = MEMBERSHIP_STATES.find((each) => each === state) ?? 'UNAVAILABLE';
    return membershipRecord({
      routerId,
      namenodeId,
      state: ageMs > EXPIRATION_MS ? 'EXPIRED' : known,
      dateModified: NOW - ageMs,
    });
  });
}

function show(listed: readonly ListedNamenode[] | null): string[] | null {
  return listed?.map(({ record, state }) => `${record.namenodeId} ${state} by ${record.routerId}`) ?? null;
}

function list(records: readonly MembershipRecord[], options: ListOptions = {}): string[] | null {
  return show(listNamenodes(electReports(records), 'ns0', options));
}

describe('the election, as Java routers do it', () => {
  const usable = cases.filter(({ error }) => error === undefined);
  it.each(usable)('$case', (vector) => {
    const records = recordsOf(vector);
    const disabled = vector.ns0Disabled === true;
    expect(list(records, { disabled })).toEqual(vector.listForNameservice);
    expect(list(records, { disabled, observersFirst: true })).toEqual(vector.listObserversFirst);
    const active = listActiveNameservices(records, disabled ? new Set(['ns0']) : new Set());
    expect([...new Set(active.map(({ nameserviceId }) => nameserviceId))]).toEqual(vector.activeNameservices);
  });

  it('takes an absent state, at which Java routers fail, for an unavailable NameNode', () => {
    const absent = cases.find((each) => each.case === 'state absent');
    expect(list(recordsOf(absent as Case))).toEqual(['nn2 STANDBY by r1:8888', 'nn1 UNAVAILABLE by r1:8888']);
  });

  it('is corrected by what calls were answered', () => {
    const vector = cases.find(({ steps }) => steps !== undefined) as Case;
    const records = recordsOf(vector);
    const corrections = new Map<string, MembershipState>();
    const correct = (namenodeId: string, state: MembershipState): string[] | null => {
      corrections.set(namenodeKey({ nameserviceId: 'ns0', namenodeId }), state);
      return list(records, { corrections });
    };
    const steps = vector.steps ?? {};
    expect(correct('nn2', 'ACTIVE')).toEqual(steps['after a successful call marks nn2 active']);
    expect(correct('nn1', 'UNAVAILABLE')).toEqual(steps['then nn1 marked unavailable']);
    expect(correct('nn2', 'UNAVAILABLE')).toEqual(steps['then nn2 marked unavailable too']);
    expect(list(records)).toEqual(steps['after a cache reload']);
  });
});

describe('a list', () => {
  it('shuffles the observers that come first', () => {
    const records = ['a', 'b', 'c'].map((namenodeId) => membershipRecord({ namenodeId, state: 'OBSERVER' }));
    records.push(membershipRecord({ namenodeId: 'd', state: 'ACTIVE' }));
    const first = (random: number): string => list(records, { observersFirst: true, random: () => random })?.[0] ?? '';
    expect(new Set([0, 0.4, 0.99].map(first)).size).toBeGreaterThan(1);
    for (const random of [0, 0.4, 0.99]) expect(first(random)).toContain('OBSERVER');
    expect(list(records, { observersFirst: true })).toHaveLength(4);
  });

  it('knows ages of years', () => {
    const old = membershipRecord({ routerId: 'r1:1', state: 'ACTIVE', dateModified: 1_000 });
    const young = membershipRecord({ routerId: 'r2:1', state: 'STANDBY', dateModified: NOW });
    expect(list([old, young])).toEqual(['nn1 STANDBY by r2:1']);
  });

  it('has a NameNode without an id', () => {
    expect(list([membershipRecord({ namenodeId: null })])).toEqual(['null ACTIVE by r1:8888']);
  });

  it('of active nameservices has one with two block pools twice', () => {
    const records = ['BP-1', 'BP-2', 'BP-1'].map((blockPoolId, i) =>
      membershipRecord({ blockPoolId, routerId: `r${i}:1` }),
    );
    expect(listActiveNameservices(records).map(({ blockPoolId }) => blockPoolId)).toEqual(['BP-1', 'BP-2']);
  });
});
