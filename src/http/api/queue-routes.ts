import type { ApiParts } from './parts.ts';
import type { AnyRoute, ApiRoute } from './route.ts';
import { answer, list, type Schema } from './schema.ts';

const COUNT = { type: 'integer' } as const;
const MS = { type: 'number' } as const;

const TIMES = answer(
  { calls: COUNT, p50: MS, p90: MS, p99: MS, p999: MS, max: MS },
  {
    title: 'Times',
    description:
      'ms below which a part of the calls since the start stayed; counted in buckets whose bounds are an eighth apart',
  },
);
const LANES = answer(
  { reads: COUNT, writes: COUNT, heavy: { ...COUNT, description: 'reads that are known to take long' } },
  { title: 'Lanes', description: 'calls by the lane that they take' },
);

const QUEUE = answer(
  {
    nameservice: { type: 'string' },
    window: { ...COUNT, description: 'how many calls may be in flight' },
    inFlight: { ...COUNT, description: 'calls let through and not answered yet' },
    inFlightBy: LANES,
    waiting: { ...COUNT, description: 'calls in the queue (CallQueueLength)' },
    waitingPeak: { ...COUNT, description: 'most calls in the queue within the last second' },
    waitingBy: LANES,
    levels: list(
      answer(
        {
          waiting: { ...COUNT, description: 'FairCallQueueSize_pN' },
          overflowed: { ...COUNT, description: 'FairCallQueueOverflowedCalls_pN' },
        },
        { title: 'QueueLevel', description: 'a priority level; the first is the best' },
      ),
    ),
    passed: { ...COUNT, description: 'calls let through as they came (with waited: ProxyOpPermitAccepted)' },
    waited: { ...COUNT, description: 'calls let through after they had waited' },
    shared: {
      ...COUNT,
      description:
        'calls that were not sent: they get the answer of an identical one that waited (switchyard.coalesce.reads)',
    },
    refused: answer(
      {
        full: { ...COUNT, description: 'the queue was full' },
        slow: { ...COUNT, description: 'calls of their level, or of a better one, took too long lately' },
        late: { ...COUNT, description: 'they had waited for as long as a call may (ProxyOpPermitRejected)' },
      },
      { title: 'Refused', description: 'calls that were not let through, since the start' },
    ),
    queueTime: { ...TIMES, description: 'time in the queue, of the calls that waited (RpcQueueTime)' },
    processingTime: { ...TIMES, description: 'time from sending to the answer of the NameNode (Proxy)' },
  },
  { title: 'Queue' },
);

const CLIENTS = answer(
  {
    open: { ...COUNT, description: 'connections (NumOpenConnections)' },
    paused: { ...COUNT, description: 'of these, those that are not read from: too much of theirs is on its way' },
    callsOutstanding: { ...COUNT, description: 'calls at the workers' },
    unreadKib: { ...COUNT, description: 'answers that clients do not read, KiB' },
    refused: answer(
      {
        connections: { ...COUNT, description: 'above ipc.server.max.connections, or while the router stops' },
        ofAddress: { ...COUNT, description: 'too many of one address' },
        ofUser: { ...COUNT, description: 'too many of one user' },
        handshakes: COUNT,
      },
      { title: 'ClientsRefused' },
    ),
    closed: answer(
      {
        slowHandshake: COUNT,
        slowSender: { ...COUNT, description: 'the rest of a frame did not come in time' },
        longFrame: COUNT,
        slowReader: { ...COUNT, description: 'answers unread for too long' },
        unreadReplies: { ...COUNT, description: 'too many answers unread' },
        idle: COUNT,
        backOff: { ...COUNT, description: 'told to go because the router is busy (RpcClientBackoffDisconnected)' },
      },
      { title: 'ClientsClosed', description: 'connections that the router has ended, since the start' },
    ),
    memoryRefusals: { ...COUNT, description: 'what found the memory budget used up' },
    pausesInFlight: {
      ...COUNT,
      description: 'times that a connection was not read from because of its calls in flight',
    },
  },
  { title: 'Clients' },
);

const RINGS = answer(
  { calls: COUNT, replies: COUNT, capacity: { ...COUNT, description: 'what they hold in each direction' } },
  { title: 'Rings', description: 'bytes that wait between acceptors and workers' },
);

const VOLUME = { type: 'number' } as const;

const SCHEDULER: Schema = answer(
  {
    callers: { ...COUNT, description: 'callers whose calls cost something still (UniqueCallers)' },
    decayedVolume: { ...VOLUME, description: 'what they cost, the older the less (DecayedCallVolume)' },
    volume: { ...VOLUME, description: 'what they have cost (CallVolume)' },
    serviceDecayedVolume: { ...VOLUME, description: 'as decayedVolume, of service users' },
    serviceVolume: { ...VOLUME, description: 'as volume, of service users' },
    completed: {
      ...list(COUNT),
      description: 'by level: calls answered in the last period (Priority.N.CompletedCallVolume)',
    },
    responseMs: {
      ...list(MS),
      description: 'by level: time in the queue and at NameNodes (Priority.N.AvgResponseTime)',
    },
    top: {
      ...list(answer({ name: { type: 'string' }, volume: VOLUME, level: COUNT }, { title: 'TopCaller' })),
      description: 'who has cost most, and the level of their calls (Caller(NAME).Volume, .Priority)',
    },
  },
  {
    title: 'Scheduler',
    description: 'what callers cost the router; null: nobody’s cost is counted',
    type: ['object', 'null'],
  },
);

/** What waits for each nameservice, and what is in flight there. */
export function queueRoutes({ clients, rings, queues, scheduler }: ApiParts): AnyRoute[] {
  const readQueues: ApiRoute = {
    method: 'GET',
    path: '/queues',
    operation: 'listQueues',
    summary:
      'what is on its way from stage to stage: calls that wait for each nameservice and those in flight there, what was refused, and times',
    answer: answer({ clients: CLIENTS, rings: RINGS, nameservices: list(QUEUE), scheduler: SCHEDULER }),
    run: () => ({ clients: clients(), rings: rings(), nameservices: queues(), scheduler: scheduler() }),
  };
  return [readQueues];
}
