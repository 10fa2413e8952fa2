import type { ListedNamenode } from '../../control/membership/election.ts';
import type { MembershipRecord } from '../../state-store/records.ts';
import { WrittenText } from './values.ts';

/** Counts of a report by their names in JSON; the record has one of them with a capital. */
const STATS: readonly (readonly [json: string, record: string])[] = [
  'totalSpace',
  'availableSpace',
  'providedSpace',
  'numOfFiles',
  'numOfBlocks',
  'numOfBlocksMissing',
  'numOfBlocksPendingReplication',
  'numOfBlocksUnderReplicated',
  'numOfBlocksPendingDeletion',
  'numOfActiveDatanodes',
  'numOfDeadDatanodes',
  'numOfDecommissioningDatanodes',
  'numOfDecomActiveDatanodes',
  'numOfDecomDeadDatanodes',
  'numOfStaleDatanodes',
  'numOfInMaintenanceLiveDataNodes',
  'numOfInMaintenanceDeadDataNodes',
  'numOfEnteringMaintenanceDataNodes',
  'corruptFilesCount',
  'scheduledReplicationBlocks',
  'numberOfMissingBlocksWithReplicationFactorOne',
  'highestPriorityLowRedundancyReplicatedBlocks',
  'highestPriorityLowRedundancyECBlocks',
  'pendingSPSPaths',
].map((name) => [
  name,
  name === 'highestPriorityLowRedundancyECBlocks' ? 'HighestPriorityLowRedundancyECBlocks' : name,
]);

/** The text of a report but for its state and its age. A report is never changed: each heartbeat makes a new one. */
const texts = new WeakMap<MembershipRecord, string>();

/** JSON in a text: reports by `<nameservice>-<NameNode>`; of several of one NameNode the last. */
export function reportsText(reports: Iterable<ListedNamenode>, nowMs: number): WrittenText {
  const byKey = new Map<string, string>();
  for (const { record, state } of reports) {
    let text = texts.get(record);
    if (text === undefined) {
      text = escaped(reportJson(record));
      texts.set(record, text);
    }
    const age = Math.trunc((nowMs - record.dateModified) / 1000);
    const key = `${record.nameserviceId}-${record.namenodeId}`;
    byKey.set(key, `${escaped(JSON.stringify(key))}:{${text},\\"state\\":\\"${state}\\",\\"lastHeartbeat\\":${age}}`);
  }
  return new WrittenText(Buffer.from(`"{${[...byKey.values()].join(',')}}"`));
}

/** Sorted as the Java Router lists them: nameservice, NameNode, router. */
export function sortReports(records: readonly MembershipRecord[]): MembershipRecord[] {
  const keyed = records.map((record) => ({
    record,
    key: `${record.nameserviceId}\0${record.namenodeId ?? ''}\0${record.routerId}`,
  }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  return keyed.map(({ record }) => record);
}

function escaped(json: string): string {
  return JSON.stringify(json).slice(1, -1);
}

/** The fields without their braces. */
function reportJson(record: MembershipRecord): string {
  const { stats, namenodeId } = record;
  const items = [
    ...(['routerId', 'nameserviceId', 'clusterId', 'blockPoolId', 'rpcAddress', 'serviceAddress'] as const),
    ...(['lifelineAddress', 'webAddress', 'webScheme', 'lastContact', 'dateCreated', 'dateModified'] as const),
  ].map((field) => `"${field}":${JSON.stringify(record[field])}`);
  // As Java has it in texts: null is written out.
  items.push(`"namenodeId":${JSON.stringify(String(namenodeId))}`);
  items.push(`"isSafeMode":${record.safeMode}`);
  for (const [json, field] of STATS) items.push(`"${json}":${stats?.[field] ?? 0}`);
  items.push(`"used":${BigInt(stats?.['totalSpace'] ?? 0) - BigInt(stats?.['availableSpace'] ?? 0)}`);
  return items.join(',');
}
