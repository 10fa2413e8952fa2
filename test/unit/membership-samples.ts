import type { MembershipRecord } from '../../src/state-store/records.ts';

/** A report that nn1 of ns0 is active. */
export function membershipRecord(fields: Partial<MembershipRecord> = {}): MembershipRecord {
  return {
    dateCreated: 1_700_000_000_000,
    dateModified: 1_700_000_000_000,
    lastContact: 1_700_000_000_000,
    routerId: 'r1:8888',
    nameserviceId: 'ns0',
    namenodeId: 'nn1',
    clusterId: 'CID-1',
    blockPoolId: 'BP-ns0',
    webAddress: 'nn1:9870',
    rpcAddress: 'nn1:8020',
    serviceAddress: 'nn1:8020',
    lifelineAddress: 'nn1:8020',
    webScheme: 'http',
    state: 'ACTIVE',
    safeMode: false,
    stats: null,
    ...fields,
  };
}
