/** DecayRpcScheduler: whose calls come first. Source of rules and defaults: Hadoop 3.4.1. */
export interface SchedulerSettings {
  /** `…decay-scheduler.period-ms`, `.decay-factor`. */
  readonly periodMs: number;
  readonly factor: number;
  /**
   * Shares of the whole cost: a caller is of the level of the last one that it reaches, counted from 1, else of level 0. `….thresholds` / 100.
   * One less than levels; before a queue with one level the levels matter for response times alone.
   */
  readonly thresholds: readonly number[];
  /** Always of level 0, and their cost counts for nobody else: `….service-users`. */
  readonly serviceUsers: readonly string[];
  /** `user`: the short name of the client's user; `caller-context`: the caller context's text where there is one. */
  readonly identity: 'user' | 'caller-context';
  /** Null: each call costs 1. */
  readonly weightedCost: TimeWeights | null;
  /** Longest average time of each level, in ms, before its calls and those of higher levels are refused; null: never for that reason. */
  readonly responseTimesMs: readonly number[] | null;
  /** Callers in reports, `decay-scheduler.metrics.top.user.count`. */
  readonly topUsers: number;
}

/** Cost of a ms of each part of a call's time, `….weighted-cost.X`; a router measures the time in the queue and at the NameNode. */
export interface TimeWeights {
  readonly queue: number;
  readonly processing: number;
  /** Of the time at the NameNode besides: as lock time, shared for reads and exclusive for writes. */
  readonly lockShared: number;
  readonly lockExclusive: number;
}

/** How many calls one nameservice may have in flight from the whole router. */
export interface WindowSettings {
  readonly floor: number;
  /** Equal to the floor: a fixed window. */
  readonly ceiling: number;
}

/** What waits in front of each nameservice, and how much of it is let through. Taken anew by `-refreshCallQueue`. */
export interface AdmissionSettings {
  /** Calls that may wait for one nameservice, of the whole router. */
  readonly capacity: number;
  /** Of the queue; 1: first come, first served. */
  readonly levels: number;
  /** By level: shares of the capacity, and how many calls of a level are taken before one of the next. */
  readonly capacityWeights: readonly number[];
  readonly multiplexerWeights: readonly number[];
  /** Null: nobody's cost is counted, every call is of level 0. */
  readonly scheduler: SchedulerSettings | null;
  /** `….backoff.enable`: what finds no room gets the answers of a Hadoop server that says it is too busy; false: a StandbyException. */
  readonly backoff: boolean;
  /** `….callqueue.overflow.trigger.failover`. */
  readonly overflowFailover: boolean;
  /** Longest time in the queue; then the call is answered with a StandbyException. */
  readonly timeLimitMs: number;
  /** By nameservice, in the topology's order. */
  readonly windows: readonly WindowSettings[];
  /** Identical reads of one user that wait are answered with one call. */
  readonly coalesceReads: boolean;
}

/** What one client may take of the router; keys `switchyard.client.…`. */
export interface ProtectionSettings {
  /** Connections to the whole router, over all its acceptors; 0: as many as they like. */
  readonly connectionsPerAddress: number;
  readonly connectionsPerUser: number;
  /** Calls of one connection that are not answered; with as many it is not read from until half of them are. */
  readonly callsInFlight: number;
  /** Longest time from its opening to the connection context. */
  readonly handshakeMs: number;
  /** Longest time from the first byte of a frame to its last; shorter while memory is short. */
  readonly frameMs: number;
  /** Most bytes of answers that wait because the client does not read; one answer more may wait, however long. */
  readonly unreadBytes: number;
}

/** Reads from observer NameNodes. */
export interface ObserverSettings {
  /** By nameservice, in the topology's order: its observers serve reads, `dfs.federation.router.observer.read.default` and `.overrides`. */
  readonly enabled: readonly boolean[];
  /** Most state ids of one answer, but for those of the nameservices that answered, which are always there: `….observer.federated.state.propagation.maxsize`. */
  readonly maxStateIds: number;
  /** How old the last sign of the active may be when an observer answers, `….observer.state.id.refresh.period`; negative: any age. */
  readonly refreshMs: number;
  /** How long an observer may take for an answer before the call goes elsewhere. */
  readonly patienceMs: number;
}

/** What the threads of the data path need to know from the configuration; plain data, cloned into each thread at start. */
export interface Settings {
  /** host:port of this router as it names itself in messages. */
  readonly routerId: string;
  /** The user the router runs as (owner of synthetic directories), and the superuser group. */
  readonly routerUser: string;
  readonly superGroup: string;

  // --- client side
  readonly rpcHost: string;
  readonly rpcPort: number;
  readonly acceptors: number;
  readonly workers: number;
  readonly handoff: 'ring' | 'inline';
  /** Longest request frame, `ipc.maximum.data.length`. */
  readonly maxRequestBytes: number;
  /** Longest reply frame of a NameNode, `ipc.maximum.response.length`. */
  readonly maxResponseBytes: number;
  /** `ipc.server.max.connections`; 0 = the table's own limit. */
  readonly maxConnections: number;
  /** Server side idle close: only above `idleThreshold` connections, at most `idleKillMax` a scan, each `idleScanMs`. */
  readonly idleMs: number;
  readonly idleScanMs: number;
  readonly idleThreshold: number;
  readonly idleKillMax: number;
  /** Longest time that a client may leave replies unread before it is closed, `ipc.server.purge.interval`. */
  readonly slowReaderMs: number;
  readonly protection: ProtectionSettings;
  readonly tcpNoDelay: boolean;

  // --- NameNode side
  readonly connectTimeoutMs: number;
  /** Most connections of one user to one NameNode from one worker, `dfs.federation.router.connection.pool-size`. */
  readonly connectionsPerUser: number;
  /** Idle time after which one NameNode connection is closed, `dfs.federation.router.connection.clean.ms`. */
  readonly namenodeIdleMs: number;
  readonly pingIntervalMs: number;
  /** A NameNode with calls waiting and no byte for this long is probed; an unanswered probe makes it hung. */
  readonly hungAfterMs: number;
  /** Whole time a call may spend in the router while no NameNode has accepted it for good. */
  readonly callBudgetMs: number;
  readonly namenodeTcpNoDelay: boolean;
  /** Real user sent to NameNodes, '' when clients' users are sent alone (`dfs.namenode.ip-proxy-users` empty). */
  readonly proxyUser: string;
  readonly callerContextSeparator: string;

  // --- namespace
  /** Index into Topology.nameservices of the nameservice for paths without a mount, -1 for none. */
  readonly defaultNameservice: number;
  /** Simple name of the configured path resolver, for messages. */
  readonly resolverName: string;
  readonly mountStatusTimeoutMs: number;
  /** A listing or summary over several nameservices leaves out those that fail, `dfs.federation.router.client.allow-partial-listing`. */
  readonly allowPartialListing: boolean;
  /** Limits of mount points are checked and shown, `dfs.federation.router.quota.enable`. */
  readonly quotaEnabled: boolean;
  /** Of 100 choices between two nameservices under a mount of order SPACE, those for the one with more space. */
  readonly spacePreferencePercent: number;
  /** How long an answer of getServerDefaults is kept, `dfs.client.server-defaults.validity.period.ms`. */
  readonly serverDefaultsMs: number;

  readonly observers: ObserverSettings;
  readonly admission: AdmissionSettings;

  // --- process
  readonly drainMs: number;
  /**
   * Budget of the whole process for partial frames, queued and retained requests, and outboxes. Not in it: the rings, and what is on its way
   * beside one, at most 64 MiB or one record for each direction of each pair of acceptor and worker (handoff/beside.ts).
   */
  readonly memoryBytes: number;
  readonly logLevel: string;
}

export interface NameNodeAddress {
  /** NameNode id within its nameservice ('' when it has none). */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

export interface Nameservice {
  readonly id: string;
  readonly namenodes: readonly NameNodeAddress[];
}

/** The nameservices behind this router; their order fixes the indexes used in shared memory and in mount snapshots. */
export interface Topology {
  readonly nameservices: readonly Nameservice[];
}
