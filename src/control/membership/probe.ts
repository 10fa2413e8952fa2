import type { HostPort } from '../../config/address.ts';
import type { MembershipState } from '../../state-store/records.ts';
import { HA_PROTOCOL, type HaState, HdfsClient } from '../hdfs-client.ts';
import { RemoteError } from '../rpc-client.ts';
import type { MonitoredNamenode } from './addresses.ts';

/** For connection and namespace, and for safe mode. */
const QUESTION_TIMEOUT_MS = 5_000;
/** The HA state may take as long as the configuration says, but not for ever. */
const LONGEST_HEALTH_TIMEOUT_MS = 60_000;
/** What NameNodes without high availability answer when asked for their HA state. */
const NOT_HA = 'HA for namenode is not enabled';

const STATES: Readonly<Record<HaState, MembershipState>> = {
  ACTIVE: 'ACTIVE',
  STANDBY: 'STANDBY',
  OBSERVER: 'OBSERVER',
  INITIALIZING: 'UNAVAILABLE',
};

export interface ProbeOptions {
  /** The router's own user. */
  readonly user: string;
  readonly connectTimeoutMs: number;
  /** For the HA state, `health.monitor.timeout`; 0 or less: the longest that is possible. */
  readonly healthTimeoutMs: number;
  /** False: the NameNode has no high availability, and is not asked for its state. */
  readonly isHa: boolean;
  /** Called directly before the question for the HA state is sent. */
  readonly onAskState?: () => void;
}

/** What a NameNode said about itself over RPC. */
export interface ProbeAnswer {
  /** Null when it told its namespace but not its state: nothing is known about that then. UNAVAILABLE when it told no namespace. */
  readonly state: MembershipState | null;
  /** It told its namespace. */
  readonly registered: boolean;
  readonly clusterId: string;
  readonly blockPoolId: string;
  readonly safeMode: boolean;
  readonly isHa: boolean;
  /** Why something is missing; ''. */
  readonly problem: string;
}

/**
 * The questions of one round to one NameNode. They end within the limits for connection and question; of a NameNode that told its namespace,
 * within the health timeout.
 */
export class Probe {
  readonly #namenode: MonitoredNamenode;
  readonly #options: ProbeOptions;
  readonly #registrations = new OpenClients();
  readonly #states = new OpenClients();

  constructor(namenode: MonitoredNamenode, options: ProbeOptions) {
    this.#namenode = namenode;
    this.#options = options;
  }

  /** Never rejects. */
  async ask(): Promise<ProbeAnswer> {
    const stateAsked = askState(this.#namenode, this.#options, this.#states);
    const registration = await askRegistration(this.#namenode, this.#options, this.#registrations);
    // A NameNode that does not tell its namespace is not waited for.
    if (!registration.registered) this.#states.close();
    const state = await stateAsked;
    if (!registration.registered) return { ...registration, state: 'UNAVAILABLE', isHa: state.isHa };
    return {
      ...registration,
      state: state.state,
      isHa: state.isHa,
      problem: [registration.problem, state.problem].filter((problem) => problem !== '').join('; '),
    };
  }

  /** Gives the questions up: they are answered as if the connection was lost. */
  stop(): void {
    this.#registrations.close();
    this.#states.close();
  }
}

/** Connections that can be closed together, also those that are still being opened. */
class OpenClients {
  readonly #open = new Set<HdfsClient>();
  #closed = false;

  async connect(
    { host, port }: HostPort,
    { user, connectTimeoutMs }: ProbeOptions,
    protocol: string | undefined,
  ): Promise<HdfsClient> {
    const timeoutMs = QUESTION_TIMEOUT_MS;
    const limitMs = Math.min(connectTimeoutMs, QUESTION_TIMEOUT_MS);
    const client = await HdfsClient.connect({ host, port, user, protocol, timeoutMs, connectTimeoutMs: limitMs });
    this.#open.add(client);
    if (this.#closed) client.close();
    return client;
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#open) client.close();
  }
}

type Registration = Omit<ProbeAnswer, 'state' | 'isHa'>;

/** NamenodeProtocol.versionRequest, without which nothing else counts, and ClientProtocol.setSafeMode(GET), at the service address. */
async function askRegistration(
  { service }: MonitoredNamenode,
  options: ProbeOptions,
  clients: OpenClients,
): Promise<Registration> {
  try {
    using client = await clients.connect(service, options, undefined);
    const [info, safeMode] = await Promise.allSettled([client.versionRequest(), client.isInSafeMode()]);
    if (info.status === 'rejected') throw info.reason;
    const { blockPoolID, storageInfo } = info.value;
    return {
      registered: true,
      clusterId: storageInfo.clusterID,
      blockPoolId: blockPoolID,
      safeMode: safeMode.status === 'fulfilled' && safeMode.value,
      problem: safeMode.status === 'fulfilled' ? '' : `safe mode: ${textOf(safeMode.reason)}`,
    };
  } catch (error) {
    return { registered: false, clusterId: '', blockPoolId: '', safeMode: false, problem: textOf(error) };
  }
}

interface StateAnswer {
  readonly state: MembershipState | null;
  readonly isHa: boolean;
  readonly problem: string;
}

/** HAServiceProtocol.getServiceStatus at the lifeline address. */
async function askState(
  namenode: MonitoredNamenode,
  options: ProbeOptions,
  clients: OpenClients,
): Promise<StateAnswer> {
  const active = { state: 'ACTIVE', isHa: false, problem: '' } as const;
  if (namenode.namenodeId === '' || !options.isHa) {
    options.onAskState?.();
    return active;
  }
  const { healthTimeoutMs } = options;
  const timeoutMs =
    healthTimeoutMs > 0 ? Math.min(healthTimeoutMs, LONGEST_HEALTH_TIMEOUT_MS) : LONGEST_HEALTH_TIMEOUT_MS;
  try {
    using client = await clients.connect(namenode.lifeline, options, HA_PROTOCOL);
    options.onAskState?.();
    return { state: STATES[await client.getServiceStatus(timeoutMs)], isHa: true, problem: '' };
  } catch (error) {
    if (!(error instanceof RemoteError)) return { state: null, isHa: true, problem: `HA state: ${textOf(error)}` };
    if (error.text.startsWith(NOT_HA)) return active;
    return await askClientState(namenode, options, clients, error);
  }
}

/** Only superusers may ask for the service status; the state in ClientProtocol is told to everybody. */
async function askClientState(
  { service }: MonitoredNamenode,
  options: ProbeOptions,
  clients: OpenClients,
  refusal: RemoteError,
): Promise<StateAnswer> {
  try {
    using client = await clients.connect(service, options, undefined);
    options.onAskState?.();
    return { state: STATES[await client.getHAServiceState()], isHa: true, problem: '' };
  } catch {
    return { state: null, isHa: true, problem: `HA state: ${refusal.message}` };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
