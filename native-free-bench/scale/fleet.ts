/** Sizing: from a capacity model and the wishes of a fleet to cores, routers, connections and memory. */

import { cpuFeaturesOf, MEMORY_TERMS, predictCpu, predictTerms } from './model.ts';
import type { CapacityModel } from './result.ts';
import { THREAD_KINDS, type ThreadKind } from './router-watch.ts';

export interface Fleet {
  /** At the busiest time, all routers together. */
  readonly callsPerSecond: number;
  readonly clients: number;
  readonly nameservices: number;
  /** Users that work on one nameservice at the same time: each has connections of its own to its NameNode. */
  readonly usersPerNameservice: number;
  readonly mounts: number;
  /** Mean whole reply. */
  readonly replyBytes: number;
  /** Mean time from a call to its reply at the NameNode. */
  readonly namenodeMs: number;
}

export interface Rules {
  /** Share of a core that a thread is meant to use at the busiest time. */
  readonly busyShare: number;
  /** Cores of one machine that routers run on. */
  readonly coresPerRouter: number;
  /** One may fail. */
  readonly spareRouters: number;
}

/** What the page's table is made with. */
export const RULES: Rules = { busyShare: 0.6, coresPerRouter: 16, spareRouters: 1 };

const MIX = { nameservices: 64, usersPerNameservice: 64, mounts: 10_000, replyBytes: 1_000, namenodeMs: 2 };
export const FLEETS: readonly Fleet[] = [1e5, 1e6, 1e7].map((callsPerSecond) => ({
  callsPerSecond,
  clients: 100_000,
  ...MIX,
}));

export interface Sizing {
  /** Of all threads, margin included. */
  readonly cpuMicrosPerCall: number;
  /** As many as one core of the kind takes at the busy share. */
  readonly callsPerAcceptorCore: number;
  /** Infinity where there are no workers. */
  readonly callsPerWorkerCore: number;
  /** Cores that the threads of each kind need, all routers together; other: main threads, garbage collection, compilers. */
  readonly acceptorCores: number;
  readonly workerCores: number;
  readonly otherCores: number;
  /** The spare ones included. */
  readonly routers: number;
  /** Of each router. */
  readonly acceptorsPerRouter: number;
  readonly workersPerRouter: number;
  /** To the NameNode of each nameservice, from all routers: as many as its calls need, and as many as there are by users. */
  readonly namenodeConnectionsNeeded: number;
  readonly namenodeConnectionsByUsers: number;
  readonly callsInFlight: number;
  /** Resident, of each router. */
  readonly bytesPerRouter: number;
  readonly bytesTogether: number;
}

/** Rounds in which the load of a thread and the number of threads settle. */
const SETTLING_ROUNDS = 8;

/** `together`: calls that a thread finds at once; as measured without it. */
export function sizeFleet(model: CapacityModel, fleet: Fleet, rules: Rules, together: number = model.together): Sizing {
  let threads = countThreads(model, fleet, rules, { acceptor: 0, worker: 0, other: 0 });
  let cpu: Micros = { acceptor: 0, worker: 0, other: 0 };
  for (let round = 0; round < SETTLING_ROUNDS; round++) {
    cpu = cpuMicros(model, fleet, together, threads);
    threads = countThreads(model, fleet, rules, cpu);
  }
  const { acceptors, workers, others, loaded, acceptorsPerRouter, workersPerRouter } = threads;
  const routers = loaded + rules.spareRouters;
  const callsInFlight = (fleet.callsPerSecond * fleet.namenodeMs) / 1000;
  const bytesPerRouter = predictTerms(MEMORY_TERMS, model.memory, [
    1,
    fleet.clients / loaded,
    callsInFlight / loaded,
    fleet.mounts,
    acceptorsPerRouter + workersPerRouter,
  ]);
  return {
    cpuMicrosPerCall: THREAD_KINDS.reduce((sum, kind) => sum + cpu[kind], 0),
    callsPerAcceptorCore: (1e6 * rules.busyShare) / cpu.acceptor,
    callsPerWorkerCore: (1e6 * rules.busyShare) / cpu.worker,
    acceptorCores: acceptors,
    workerCores: workers,
    otherCores: others,
    routers,
    acceptorsPerRouter,
    workersPerRouter,
    namenodeConnectionsNeeded: Math.ceil(fleet.callsPerSecond / fleet.nameservices / model.callsPerNamenodeConnection),
    namenodeConnectionsByUsers: routers * fleet.usersPerNameservice,
    callsInFlight,
    bytesPerRouter,
    bytesTogether: bytesPerRouter * routers,
  };
}

interface Threads {
  /** Cores of each kind, all routers together. */
  readonly acceptors: number;
  readonly workers: number;
  readonly others: number;
  /** Routers that serve when the spare ones are away. */
  readonly loaded: number;
  readonly acceptorsPerRouter: number;
  readonly workersPerRouter: number;
}

/** µs of a call. */
type Micros = Readonly<Record<ThreadKind, number>>;

function countThreads(model: CapacityModel, fleet: Fleet, rules: Rules, cpu: Micros): Threads {
  const coresOf = (kind: ThreadKind): number => Math.ceil((fleet.callsPerSecond * cpu[kind]) / 1e6 / rules.busyShare);
  const [acceptors, workers, others] = [coresOf('acceptor'), coresOf('worker'), coresOf('other')];
  const loaded = Math.max(1, Math.ceil((acceptors + workers + others) / rules.coresPerRouter));
  return {
    acceptors,
    workers,
    others,
    loaded,
    acceptorsPerRouter: Math.max(1, Math.ceil(acceptors / loaded)),
    workersPerRouter: isInline(model) ? 0 : Math.max(1, Math.ceil(workers / loaded)),
  };
}

function cpuMicros(model: CapacityModel, fleet: Fleet, together: number, threads: Threads): Micros {
  const pairs = fleet.nameservices * fleet.usersPerNameservice;
  const features = cpuFeaturesOf({
    connections: fleet.clients / Math.max(1, threads.acceptors),
    // A client that waits for its answer has one call in flight.
    inFlight: 1,
    together,
    // With many nameservices and users hardly two calls of a turn go to the same connection.
    namenodeShare: Math.min(1, pairs / together),
    // Every router has all users; each of them stays with one of its workers.
    groups: pairs / (isInline(model) ? threads.acceptorsPerRouter : threads.workersPerRouter),
    mounts: fleet.mounts,
    replyBytes: fleet.replyBytes,
  });
  const { acceptor, worker, other } = predictCpu(model.cpu, features);
  return {
    acceptor: acceptor * model.cpuMargin,
    worker: worker * model.cpuMargin,
    other: other * model.cpuMargin,
  };
}

/** Each acceptor is a worker too. */
function isInline(model: CapacityModel): boolean {
  return model.threadsPerPair === 1;
}
