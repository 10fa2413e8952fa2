import { formatAddress } from '../../config/address.ts';
import type { MembershipRecord, MembershipState } from '../../state-store/records.ts';
import type { Log } from '../log.ts';
import { type LookUpName, type MonitoredNamenode, nameOf, recordedAddress } from './addresses.ts';
import { JmxClient, type NamenodeStats } from './jmx.ts';
import { Probe, type ProbeAnswer } from './probe.ts';

/** What this router found out about a NameNode in one round. */
export interface Report {
  readonly namenode: MonitoredNamenode;
  /** Null: it is alive, and its state could not be had. */
  readonly state: MembershipState | null;
  readonly registered: boolean;
  readonly clusterId: string;
  readonly blockPoolId: string;
  /** When the question for its state was sent, ms since 1970: what a call's answer told later is fresher. */
  readonly askedAtMs: number;
}

export interface HeartbeatOptions {
  readonly routerId: string;
  readonly user: string;
  readonly connectTimeoutMs: number;
  /** Pause between two rounds of questions to one NameNode. */
  readonly intervalMs: number;
  /** Least time between two questions for figures; 0: each round, negative: never. */
  readonly jmxIntervalMs: number;
  readonly healthTimeoutMs: number;
  /** ms since 1970. */
  readonly now?: () => number;
  readonly lookUpName?: LookUpName;
}

export interface HeartbeatEvents {
  /** As soon as a NameNode's answers over RPC are there. */
  readonly onReport: (report: Report) => void;
  /** Puts a record into the State Store, or where reports are kept without one. */
  readonly write: ((record: MembershipRecord) => Promise<void>) | null;
}

/**
 * Asks every NameNode again and again, each in its own rounds: one that hangs delays no other. What they say goes to the data plane at once,
 * and as records of this router into the State Store.
 */
export class Heartbeats {
  readonly #rounds: readonly Rounds[];
  readonly #jmx = new JmxClient();

  constructor(namenodes: readonly MonitoredNamenode[], options: HeartbeatOptions, events: HeartbeatEvents, log: Log) {
    this.#rounds = namenodes.map((namenode) => new Rounds(namenode, options, events, log, this.#jmx));
  }

  /** Starts the rounds; resolves when every NameNode has answered over RPC in the first one, or has run out of time. */
  async start(): Promise<void> {
    await Promise.all(this.#rounds.map((rounds) => rounds.start()));
  }

  /** The figures last read of each NameNode. */
  get stats(): ReadonlyMap<MonitoredNamenode, NamenodeStats> {
    const found = new Map<MonitoredNamenode, NamenodeStats>();
    for (const { namenode, stats } of this.#rounds) if (stats !== null) found.set(namenode, stats);
    return found;
  }

  async stop(): Promise<void> {
    for (const rounds of this.#rounds) rounds.stop();
    await this.#jmx.close();
  }
}

/** The rounds of one NameNode. */
class Rounds {
  readonly namenode: MonitoredNamenode;
  stats: NamenodeStats | null = null;
  readonly #options: HeartbeatOptions;
  readonly #events: HeartbeatEvents;
  readonly #log: Log;
  readonly #jmx: JmxClient;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | null = null;
  #probe: Probe | null = null;
  #stopped = false;
  #isHa = true;
  #rpcAddress: string | null = null;
  #statsAskedAtMs = -Infinity;
  /** A record is on its way into the store: the next one waits for its own round. */
  #writing = false;
  /** What the log last said. */
  #saidState = '';
  #saidJmx = '';
  #saidWrite = '';

  constructor(
    namenode: MonitoredNamenode,
    options: HeartbeatOptions,
    events: HeartbeatEvents,
    log: Log,
    jmx: JmxClient,
  ) {
    this.namenode = namenode;
    this.#options = options;
    this.#events = events;
    this.#log = log;
    this.#jmx = jmx;
    this.#now = options.now ?? Date.now;
  }

  /** Resolves when the first answers over RPC are there. */
  start(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#run(resolve);
    return promise;
  }

  stop(): void {
    this.#stopped = true;
    this.#probe?.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #run(onAnswered: () => void): Promise<void> {
    try {
      await this.#round(onAnswered);
    } catch (error) {
      // No answer may end the rounds.
      this.#log.error({ namenode: nameOf(this.namenode), error }, 'a heartbeat failed');
    }
    onAnswered();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#run(() => {}), this.#options.intervalMs);
    this.#timer.unref();
  }

  async #round(onAnswered: () => void): Promise<void> {
    const { namenode } = this;
    const { user, connectTimeoutMs, healthTimeoutMs } = this.#options;
    let askedAtMs = this.#now();
    const figures = this.#readStats();
    this.#probe = new Probe(namenode, {
      user,
      connectTimeoutMs,
      healthTimeoutMs,
      isHa: this.#isHa,
      onAskState: () => {
        askedAtMs = this.#now();
      },
    });
    const answer = await this.#probe.ask();
    this.#probe = null;
    if (this.#stopped) return;
    this.#isHa = answer.isHa;
    const { state, registered, clusterId, blockPoolId } = answer;
    this.#events.onReport({ namenode, state, registered, clusterId, blockPoolId, askedAtMs });
    this.#tellState(answer);
    onAnswered();
    const stats = await figures;
    if (this.#stopped || this.#events.write === null || state === null) return;
    this.#rpcAddress ??= await recordedAddress(namenode.rpc, this.#options.lookUpName);
    this.#write(this.#recordOf(answer, state, this.#rpcAddress, stats));
  }

  /** The figures to write with this round's record. */
  async #readStats(): Promise<NamenodeStats | null> {
    const { jmxIntervalMs } = this.#options;
    if (jmxIntervalMs < 0) return null;
    const now = this.#now();
    if (now >= this.#statsAskedAtMs && now - this.#statsAskedAtMs < jmxIntervalMs) return this.stats;
    this.#statsAskedAtMs = now;
    const { webScheme, web } = this.namenode;
    const { stats, problem } = await this.#jmx.readStats(webScheme, web);
    this.stats = stats;
    if (!this.#stopped && problem !== this.#saidJmx) {
      this.#saidJmx = problem;
      if (problem !== '')
        this.#log.info({ namenode: nameOf(this.namenode), reason: problem }, 'no figures of a NameNode');
    }
    return stats;
  }

  #recordOf(
    { registered, clusterId, blockPoolId, safeMode }: ProbeAnswer,
    state: MembershipState,
    rpcAddress: string,
    stats: NamenodeStats | null,
  ): MembershipRecord {
    const { nameserviceId, namenodeId, service, lifeline, webAddress, webScheme } = this.namenode;
    const now = this.#now();
    return {
      dateCreated: now,
      dateModified: now,
      lastContact: state === 'UNAVAILABLE' ? 0 : now,
      routerId: this.#options.routerId,
      nameserviceId,
      namenodeId: namenodeId === '' ? null : namenodeId,
      clusterId,
      blockPoolId,
      webAddress,
      rpcAddress,
      serviceAddress: formatAddress(service.host, service.port),
      lifelineAddress: formatAddress(lifeline.host, lifeline.port),
      webScheme,
      state,
      safeMode,
      stats: registered ? stats : null,
    };
  }

  #write(record: MembershipRecord): void {
    const { write } = this.#events;
    if (write === null || this.#writing) return;
    this.#writing = true;
    write(record)
      .then(
        () => this.#tellWrite(''),
        (error: unknown) => this.#tellWrite(error instanceof Error ? error.message : String(error)),
      )
      .finally(() => {
        this.#writing = false;
      });
  }

  /** One line for each change of a NameNode, none while it stays as it is. */
  #tellState({ state, registered, problem }: ProbeAnswer): void {
    const said = !registered ? 'unreachable' : state === null ? 'of unknown state' : sayState(state);
    const before = this.#saidState;
    if (before === said) return;
    this.#saidState = said;
    const { service } = this.namenode;
    const details = {
      namenode: nameOf(this.namenode),
      address: formatAddress(service.host, service.port),
      ...(before === '' ? {} : { before }),
      ...(problem === '' ? {} : { reason: problem }),
    };
    if (!registered || state === null) this.#log.warn(details, `NameNode is ${said}`);
    else this.#log.info(details, `NameNode is ${said}`);
  }

  #tellWrite(problem: string): void {
    if (problem === this.#saidWrite || this.#stopped) return;
    this.#saidWrite = problem;
    const namenode = nameOf(this.namenode);
    if (problem === '') this.#log.info({ namenode }, 'reports about a NameNode are stored again');
    else this.#log.warn({ namenode, reason: problem }, 'a report about a NameNode could not be stored');
  }
}

function sayState(state: MembershipState): string {
  return state === 'UNAVAILABLE' ? 'initializing' : state.toLowerCase();
}
