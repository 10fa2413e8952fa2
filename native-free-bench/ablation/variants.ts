/** What is switched off in each row of the ablation bench, and the modules that take the place of the router's: one table. */

/** Change that a published optimisation of the Java Router reported for its own step, in percent: throughput up, p99 down. */
export interface Published {
  readonly step: string;
  readonly throughput: number;
  readonly p99: number;
}

export interface Replacement {
  /** Module of the router, beneath the root of the work tree. */
  readonly module: string;
  /** What is loaded in its place, beneath this folder. */
  readonly by: string;
}

export interface Variant {
  readonly name: string;
  /** What the router does, and what is done instead. */
  readonly optimisation: string;
  readonly instead: string;
  readonly handoff: 'ring' | 'inline';
  readonly replacements: readonly Replacement[];
  readonly published: Published | null;
}

const SERIALIZATION: Published = { step: 'request/reply serialization', throughput: 25, p99: -30 };
const HANDLERS: Published = { step: 'handlers', throughput: 20, p99: -25 };

const SINGLE: readonly Variant[] = [
  {
    name: 'scan',
    optimisation: 'tag scan of calls',
    instead: 'protobufjs decodes the three messages of each call',
    handoff: 'ring',
    replacements: [
      { module: 'src/wire/call-scan.ts', by: 'scan/call-scan.ts' },
      { module: 'src/client/known-heads.ts', by: 'scan/known-heads.ts' },
    ],
    published: SERIALIZATION,
  },
  {
    name: 'reply',
    optimisation: 'partial reply',
    instead: 'protobufjs decodes and encodes header and message of each reply',
    handoff: 'ring',
    replacements: [
      { module: 'src/wire/reply-scan.ts', by: 'reply/reply-scan.ts' },
      { module: 'src/call/answer.ts', by: 'reply/answer.ts' },
    ],
    published: SERIALIZATION,
  },
  {
    name: 'mounts',
    optimisation: 'radix snapshot in shared memory',
    instead: 'walk of a Map under a read lock, with a copy of what was found',
    handoff: 'ring',
    replacements: [{ module: 'src/mount/snapshot.ts', by: 'mounts/snapshot.ts' }],
    published: { step: 'mount lookup', throughput: 10, p99: -15 },
  },
  {
    name: 'flush',
    optimisation: 'one write per socket and turn',
    instead: 'a write for each message, to NameNodes and to clients',
    handoff: 'ring',
    replacements: [
      { module: 'src/client/outbox.ts', by: 'flush/outbox.ts' },
      { module: 'src/namenode/connection.ts', by: 'flush/connection.ts' },
    ],
    published: null,
  },
  {
    name: 'connections',
    optimisation: 'NameNode connections shared by all clients of a user',
    instead: 'one for each client connection',
    handoff: 'ring',
    replacements: [{ module: 'src/namenode/pool.ts', by: 'connections/pool.ts' }],
    published: { step: 'connection pool', throughput: 15, p99: -20 },
  },
  {
    name: 'message',
    optimisation: 'ring between the threads',
    instead: 'postMessage for each call and each reply',
    handoff: 'ring',
    replacements: [{ module: 'src/handoff/ring-link.ts', by: 'message/ring-link.ts' }],
    published: HANDLERS,
  },
  {
    name: 'inline',
    optimisation: 'ring between the threads',
    instead: 'one thread for clients and NameNodes (--handoff inline)',
    handoff: 'inline',
    replacements: [],
    published: HANDLERS,
  },
];

/** The router as it is. */
export const FULL: Variant = {
  name: 'full',
  optimisation: 'nothing',
  instead: '',
  handoff: 'ring',
  replacements: [],
  published: null,
};

/** Every replacement at once. */
const ALL: Variant = {
  name: 'all',
  optimisation: 'all of them',
  instead: `all but the inline hand-off: ${SINGLE.filter((variant) => variant.replacements.length > 0)
    .map((variant) => variant.name)
    .join(', ')}`,
  handoff: 'ring',
  replacements: SINGLE.flatMap((variant) => variant.replacements),
  published: { step: 'all', throughput: 80, p99: -60 },
};

export const VARIANTS: readonly Variant[] = [...SINGLE, ALL];

export const VARIANT_NAMES: readonly string[] = VARIANTS.map((variant) => variant.name);
