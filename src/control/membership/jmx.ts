import { Agent, type Dispatcher } from 'undici';
import { formatAddress, type HostPort } from '../../config/address.ts';

/** Figures of a NameNode by the names of NamenodeMembershipStatsRecordProto; −1 is a value that the NameNode did not give. */
export type NamenodeStats = Readonly<Record<string, number | bigint>>;

/** As the Java Router waits: for the connection, and then for each piece of the answer. */
const CONNECT_TIMEOUT_MS = 5_000;
const READ_TIMEOUT_MS = 5_000;
/** For all questions of one round to one NameNode. */
const ROUND_TIMEOUT_MS = 10_000;
/** Usual answers have some kilobytes; a longer one is given up while it comes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Connections to one NameNode's web server. */
const CONNECTIONS = 2;

const STATES = '/jmx?qry=Hadoop:service=NameNode,name=FSNamesystem*';
const STATE_BEAN = 'Hadoop:service=NameNode,name=FSNamesystemState';
const NAMESYSTEM_BEAN = 'Hadoop:service=NameNode,name=FSNamesystem';
/** Its bean holds a row for each DataNode, some megabytes in large clusters: the few values that count are asked for one by one. */
const INFO = 'Hadoop:service=NameNode,name=NameNodeInfo';

type Field = readonly [attribute: string, field: string];

/** Of FSNamesystemState. Without one of the first list the rest of all beans is not read, as in Java routers; the others are 0 when absent. */
const STATE_REQUIRED: readonly Field[] = [
  ['NumLiveDataNodes', 'numOfActiveDatanodes'],
  ['NumDeadDataNodes', 'numOfDeadDatanodes'],
  ['NumStaleDataNodes', 'numOfStaleDatanodes'],
  ['NumDecommissioningDataNodes', 'numOfDecommissioningDatanodes'],
  ['NumDecomLiveDataNodes', 'numOfDecomActiveDatanodes'],
  ['NumDecomDeadDataNodes', 'numOfDecomDeadDatanodes'],
];
const STATE_OPTIONAL: readonly Field[] = [
  ['NumInMaintenanceLiveDataNodes', 'numOfInMaintenanceLiveDataNodes'],
  ['NumInMaintenanceDeadDataNodes', 'numOfInMaintenanceDeadDataNodes'],
  ['NumEnteringMaintenanceDataNodes', 'numOfEnteringMaintenanceDataNodes'],
  ['ScheduledReplicationBlocks', 'scheduledReplicationBlocks'],
];
/** Of FSNamesystem, likewise. */
const NAMESYSTEM_REQUIRED: readonly Field[] = [
  ['CapacityRemaining', 'availableSpace'],
  ['CapacityTotal', 'totalSpace'],
  ['FilesTotal', 'numOfFiles'],
  ['BlocksTotal', 'numOfBlocks'],
  ['MissingBlocks', 'numOfBlocksMissing'],
  ['PendingReplicationBlocks', 'numOfBlocksPendingReplication'],
  ['UnderReplicatedBlocks', 'numOfBlocksUnderReplicated'],
  ['PendingDeletionBlocks', 'numOfBlocksPendingDeletion'],
  ['PendingSPSPaths', 'pendingSPSPaths'],
];
const NAMESYSTEM_OPTIONAL: readonly Field[] = [['ProvidedCapacityTotal', 'providedSpace']];
const INFO_OPTIONAL: readonly Field[] = [
  ['CorruptFilesCount', 'corruptFilesCount'],
  ['NumberOfMissingBlocksWithReplicationFactorOne', 'numberOfMissingBlocksWithReplicationFactorOne'],
  ['HighestPriorityLowRedundancyReplicatedBlocks', 'highestPriorityLowRedundancyReplicatedBlocks'],
  ['HighestPriorityLowRedundancyECBlocks', 'HighestPriorityLowRedundancyECBlocks'],
];
const ALL_FIELDS: readonly Field[] = [
  ...NAMESYSTEM_REQUIRED,
  ...NAMESYSTEM_OPTIONAL,
  ...STATE_REQUIRED,
  ...STATE_OPTIONAL,
  ...INFO_OPTIONAL,
];

/** How far it has come: a JSON text, `{"LastAppliedOrWrittenTxId":"12","MostRecentCheckpointTxId":"0"}`. */
const JOURNAL = 'JournalTransactionInfo';
const LAST_TXID = 'LastAppliedOrWrittenTxId';

type Bean = Readonly<Record<string, unknown>>;

/** What a NameNode said: `stats` null when it gave none, and then `problem` says why. */
export interface JmxAnswer {
  readonly stats: NamenodeStats | null;
  readonly problem: string;
}

/** Numbers are −1 when the NameNode did not give them, and then `problem` says why. */
export interface JournalAnswer {
  readonly lastTxid: number;
  readonly requeued: number;
  readonly queueMs: number;
  readonly problem: string;
}

/** Asks NameNodes' web servers for figures. Every question has a time limit, every answer a length limit. */
export class JmxClient {
  readonly #agent: Dispatcher;

  constructor(connectTimeoutMs = CONNECT_TIMEOUT_MS, readTimeoutMs = READ_TIMEOUT_MS) {
    this.#agent = new Agent({
      connections: CONNECTIONS,
      connect: { timeout: connectTimeoutMs },
      headersTimeout: readTimeoutMs,
      bodyTimeout: readTimeoutMs,
      maxResponseSize: MAX_ANSWER_BYTES,
    });
  }

  /** Never rejects; `close` gives the questions up. */
  async readStats(scheme: 'http' | 'https', web: HostPort): Promise<JmxAnswer> {
    const origin = `${scheme}://${formatAddress(web.host, web.port)}`;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${ROUND_TIMEOUT_MS} ms`)), ROUND_TIMEOUT_MS);
    try {
      return await this.#readAll(origin, late.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Its last transaction, and what the RPC server on `rpcPort` says of its queue. Never rejects. */
  async readJournal(scheme: 'http' | 'https', web: HostPort, rpcPort: number): Promise<JournalAnswer> {
    const origin = `${scheme}://${formatAddress(web.host, web.port)}`;
    const signal = AbortSignal.timeout(ROUND_TIMEOUT_MS);
    const paths = [
      `/jmx?get=${INFO}::${JOURNAL}`,
      `/jmx?qry=Hadoop:service=NameNode,name=RpcActivityForPort${rpcPort}`,
    ];
    const [journal, activity] = await Promise.allSettled(paths.map((path) => this.#readBeans(origin, path, signal)));
    const rpc = activity?.status === 'fulfilled' ? (activity.value[0] ?? {}) : {};
    const requeued = amountIn(rpc, 'RpcRequeueCalls');
    const queueMs = amountIn(rpc, 'RpcQueueTimeAvgTime');
    if (journal?.status !== 'fulfilled') {
      const reason: unknown = journal?.reason;
      const problem = `${origin}/jmx: ${reason instanceof Error ? reason.message : String(reason)}`;
      return { lastTxid: -1, requeued, queueMs, problem };
    }
    const lastTxid = lastTxidIn(journal.value[0]?.[JOURNAL]);
    const problem = lastTxid < 0 ? `${origin}/jmx: ${JOURNAL} has no ${LAST_TXID}` : '';
    return { lastTxid, requeued, queueMs, problem };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #readAll(origin: string, signal: AbortSignal): Promise<JmxAnswer> {
    const infos = INFO_OPTIONAL.map(([attribute]) => `/jmx?get=${INFO}::${attribute}`);
    const [states, ...values] = await Promise.allSettled(
      [STATES, ...infos].map((path) => this.#readBeans(origin, path, signal)),
    );
    if (states === undefined || states.status === 'rejected') {
      const reason: unknown = states?.reason;
      return { stats: null, problem: `${origin}/jmx: ${reason instanceof Error ? reason.message : String(reason)}` };
    }
    const info = Object.assign(
      {},
      ...values.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])),
    ) as Bean;
    return statsOf(origin, states.value, info);
  }

  async #readBeans(origin: string, path: string, signal: AbortSignal): Promise<readonly Bean[]> {
    const { statusCode, body } = await this.#agent.request({ origin, path, method: 'GET', signal });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    const beans = (parseJson(text) as { beans?: unknown } | null)?.beans;
    if (!Array.isArray(beans)) throw new Error('the answer has no beans');
    return beans.filter((bean): bean is Bean => typeof bean === 'object' && bean !== null);
  }
}

/** The figures in the beans FSNamesystem and FSNamesystemState, and in the attributes of NameNodeInfo. */
function statsOf(origin: string, beans: readonly Bean[], info: Bean): JmxAnswer {
  const stats: Record<string, number | bigint> = {};
  for (const [, field] of ALL_FIELDS) stats[field] = -1;
  let seen = false;
  for (const bean of beans) {
    const isState = bean['name'] === STATE_BEAN;
    if (!isState && bean['name'] !== NAMESYSTEM_BEAN) continue;
    seen = true;
    const required = isState ? STATE_REQUIRED : NAMESYSTEM_REQUIRED;
    const absent = take(bean, required, stats);
    if (absent !== null) return { stats, problem: `${origin}/jmx: ${String(bean['name'])} has no ${absent}` };
    for (const [attribute, field] of isState ? STATE_OPTIONAL : NAMESYSTEM_OPTIONAL) {
      stats[field] = numberIn(bean, attribute) ?? 0;
    }
  }
  for (const [attribute, field] of INFO_OPTIONAL) stats[field] = numberIn(info, attribute) ?? -1;
  if (!seen) return { stats: null, problem: `${origin}/jmx: neither FSNamesystem nor FSNamesystemState is there` };
  return { stats, problem: '' };
}

/** Copies the attributes; the first one that is absent ends it and is returned. */
function take(bean: Bean, fields: readonly Field[], stats: Record<string, number | bigint>): string | null {
  for (const [attribute, field] of fields) {
    const value = numberIn(bean, attribute);
    if (value === null) return attribute;
    stats[field] = value;
  }
  return null;
}

/** Whole numbers of a Java long; null for everything else. */
function numberIn(bean: Bean, attribute: string): number | bigint | null {
  const value = bean[attribute];
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? value : null;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function lastTxidIn(text: unknown): number {
  if (typeof text !== 'string') return -1;
  try {
    const value = (JSON.parse(text) as Record<string, unknown> | null)?.[LAST_TXID];
    return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1;
  } catch {
    return -1;
  }
}

/** Numbers that are not negative. */
function amountIn(bean: Bean, attribute: string): number {
  const value = bean[attribute];
  return typeof value === 'number' && value >= 0 ? value : -1;
}

/** JSON as NameNodes write it: NaN and infinities stand bare. Whole numbers beyond the exact ones become bigint. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, keepLongs) as unknown;
  } catch {
    const repaired = text.replace(/:\s*(?:NaN|-?Infinity)(?=\s*[,}\]])/g, ':null');
    try {
      return JSON.parse(repaired, keepLongs) as unknown;
    } catch (error) {
      throw new Error('the answer is no JSON', { cause: error });
    }
  }
}

function keepLongs(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d{1,20}$/.test(source) ? BigInt(source) : value;
}
