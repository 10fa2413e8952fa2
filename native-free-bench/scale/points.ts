/**
 * What the scale bench measures: axes that grow from one base point, combined points that the model is tested on, and loads whose memory is
 * read. One table each.
 */

export interface Setup {
  /** Mount points in the table; the load is spread over some of them. */
  readonly mounts: number;
  readonly nameservices: number;
  /** `dfs.federation.router.connection.pool-size`: most connections of one user to one NameNode. */
  readonly namenodeConnections: number;
  /** Acceptor threads, and as many worker threads. */
  readonly threads: number;
}

export interface Point extends Setup {
  readonly name: string;
  readonly connections: number;
  /** Calls in flight of each connection. */
  readonly inFlight: number;
  readonly users: number;
  /** Time that the NameNode takes for a call; 0: none. */
  readonly delayMs: number;
  /** Whole reply frame. */
  readonly replyBytes: number;
  /** 0: closed loop. Else an open loop at this share of the calls a second that the base point reached just before. */
  readonly loadShare: number;
}

export const BASE: Point = {
  name: '64x1',
  connections: 64,
  inFlight: 1,
  users: 1,
  mounts: 1,
  nameservices: 1,
  namenodeConnections: 4,
  threads: 1,
  delayMs: 0,
  replyBytes: 210,
  loadShare: 0,
};

export interface Axis {
  readonly name: string;
  readonly meaning: string;
  readonly points: readonly Point[];
  /** Point of this axis that all are compared with. */
  readonly reference: string;
  /** The model is fitted on its points. */
  readonly fitted: boolean;
}

type Changes = Partial<Omit<Point, 'name'>>;

function point(name: string, ...changes: Changes[]): Point {
  return Object.assign({}, BASE, ...changes, { name });
}

/** One point for each value, at `at` but for the field that grows. */
function grow(field: keyof Changes, values: readonly number[], at: Changes = {}): Point[] {
  return values.map((value) => point(`${field}=${value}`, at, { [field]: value }));
}

const MANY_CLIENTS: Changes = { connections: 1000 };
/** So many calls wait at the NameNode that every connection has its 16 calls in flight, at which the router opens another. */
const DEEP: Changes = { inFlight: 64, delayMs: 5 };

/** Of the base point's calls a second; the last is what a router is meant to be loaded with. */
const LOAD_SHARES = [0.3, 0.6] as const;
export const PLANNED_LOAD: number = Math.max(...LOAD_SHARES);

export const AXES: readonly Axis[] = [
  {
    name: 'connections',
    meaning: 'client connections, 1 call in flight each',
    points: grow('connections', [1, 10, 64, 1_000, 10_000]),
    reference: 'connections=64',
    fitted: true,
  },
  {
    name: 'connections16',
    meaning: 'client connections, 16 calls in flight each',
    points: grow('connections', [1, 10, 64], { inFlight: 16 }),
    reference: 'connections=64',
    fitted: true,
  },
  {
    name: 'mounts',
    meaning: 'mount points, 64 connections x 1',
    points: grow('mounts', [1, 10_000, 100_000]),
    reference: 'mounts=1',
    fitted: true,
  },
  {
    name: 'nameservices',
    meaning: 'nameservices, 64 connections x 1',
    points: grow('nameservices', [1, 4, 64]),
    reference: 'nameservices=1',
    fitted: true,
  },
  {
    name: 'users',
    meaning: 'users, 1,000 connections x 1',
    points: grow('users', [1, 10, 100, 1_000], MANY_CLIENTS),
    reference: 'users=1',
    fitted: true,
  },
  {
    name: 'namenodeConnections',
    meaning:
      'connections that the user may have to the NameNode (`NN conns`: that carried calls), 64 connections x 64, the NameNode takes 5 ms',
    points: grow('namenodeConnections', [1, 4, 16, 64], DEEP),
    reference: 'namenodeConnections=4',
    fitted: true,
  },
  {
    name: 'replyBytes',
    meaning: 'size of the reply, 64 connections x 1 (16 MB: 8 x 1)',
    points: [
      ...grow('replyBytes', [210, 1_000, 10_000, 100_000, 1_000_000]),
      point('replyBytes=16000000', { replyBytes: 16_000_000, connections: 8 }),
    ],
    reference: 'replyBytes=210',
    fitted: true,
  },
  {
    name: 'load',
    meaning: 'share of the calls/s of the base point (0: as many as go through), open loop, 64 connections',
    points: grow('loadShare', [0, ...LOAD_SHARES]),
    reference: 'loadShare=0',
    fitted: true,
  },
  {
    name: 'delayMs',
    meaning: 'time that the NameNode takes, 64 connections x 1',
    points: grow('delayMs', [0, 1, 10, 100]),
    reference: 'delayMs=0',
    // With an idle router the waiting, not the work, sets the calls/s: not what a capacity is made of.
    fitted: false,
  },
];

/** Combinations that the model has not seen. */
export const HELD_OUT: readonly Point[] = [
  point('A', { connections: 300, inFlight: 4, users: 8, mounts: 1_000, replyBytes: 2_000 }),
  point('B', { connections: 2_000, nameservices: 4 }),
  point('C', { connections: 32, inFlight: 8, users: 4, mounts: 100, nameservices: 16 }),
  point('D', { connections: 500, inFlight: 2, users: 50, mounts: 10_000, nameservices: 4, replyBytes: 5_000 }),
  point('E', { connections: 16, inFlight: 32, namenodeConnections: 8, replyBytes: 20_000 }),
  point('F', { connections: 5_000, users: 20, mounts: 10_000, nameservices: 4, replyBytes: 1_000 }),
];

export interface MemoryPoint extends Point {
  /** All connections together in an open loop, so that most are idle; 0: every connection has its calls in flight all the time. */
  readonly ratePerSecond: number;
}

/** As long as a call is on its way in the loads whose memory is read: a known number of them is in the router's tables. */
const HELD_MS = 1_000;

/** `connections` connections that make a call in turn, each once in four seconds. */
function idle(name: string, connections: number, changes: Changes = {}): MemoryPoint {
  return { ...point(name, { connections }, changes), ratePerSecond: Math.max(50, connections / 4) };
}

function held(name: string, connections: number, inFlight: number, changes: Changes = {}): MemoryPoint {
  return { ...point(name, { connections, inFlight, delayMs: HELD_MS }, changes), ratePerSecond: 0 };
}

export const MEMORY_POINTS: readonly MemoryPoint[] = [
  idle('64 idle', 64),
  idle('1,000 idle', 1_000),
  idle('10,000 idle', 10_000),
  held('1,000 x 1', 1_000, 1),
  held('10,000 x 1', 10_000, 1),
  held('1,000 x 24', 1_000, 24),
  idle('100,000 mounts', 64, { mounts: 100_000 }),
  idle('2 + 2 threads', 64, { threads: 2 }),
  idle('4 + 4 threads', 64, { threads: 4 }),
];

export const MEMORY_HELD_OUT: readonly MemoryPoint[] = [
  held('5,000 x 3, 1,000 mounts', 5_000, 3, { mounts: 1_000 }),
  idle('6,000 idle, 2 + 2 threads, 20,000 mounts', 6_000, { threads: 2, mounts: 20_000 }),
];

export const memoryCalls = (point: MemoryPoint): number =>
  point.ratePerSecond > 0 ? 0 : point.connections * point.inFlight;

/** Points with the same key are the same load. */
export function pointKey(point: Point): string {
  const { connections, inFlight, users, delayMs, replyBytes, loadShare } = point;
  return [setupKey(point), connections, inFlight, users, delayMs, replyBytes, loadShare].join(';');
}

/** Two points with the same key can be driven through the same router. */
export function setupKey(setup: Setup): string {
  return `${setup.mounts} mounts, ${setup.nameservices} nameservices, pool ${setup.namenodeConnections}, ${setup.threads} threads`;
}

const MAX_PATHS = 1_000;

/** Where the mounts lead, as --mounts reads it: the base's /mnt, then warehouses, dealt out to the nameservices. */
export function makeMounts(setup: Setup): object[] {
  return Array.from({ length: mountCount(setup) }, (_, index) => {
    const path = mountPath(index);
    return { srcPath: path, destinations: [{ nameserviceId: `ns${index % setup.nameservices}`, path }] };
  });
}

/** Paths to read: spread over the whole table and all nameservices; at most MAX_PATHS. */
export function makePaths(setup: Setup): string[] {
  const mounts = mountCount(setup);
  const count = Math.min(MAX_PATHS, Math.max(mounts, 64));
  // A step that has no factor in common with the number of nameservices (powers of two) meets all of them.
  const step = Math.max(1, Math.floor(mounts / count)) | 1;
  return Array.from(
    { length: count },
    (_, index) =>
      `${mountPath((index * step) % mounts)}/warehouse/orders/year=2026/part-m-${String(index).padStart(5, '0')}`,
  );
}

/** A nameservice without a mount point would have no call. */
function mountCount(setup: Setup): number {
  return Math.max(setup.mounts, setup.nameservices);
}

function mountPath(index: number): string {
  if (index === 0) return '/mnt';
  return `/warehouse/db${String(index % 100).padStart(3, '0')}.db/table_${String(index).padStart(6, '0')}`;
}
