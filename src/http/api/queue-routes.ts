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
export function queueRoutes({ queues, scheduler }: ApiParts): AnyRoute[] {
  const readQueues: ApiRoute = {
    method: 'GET',
    path: '/queues',
    operation: 'listQueues',
    summary: 'calls that wait for each nameservice and those in flight there, what was refused, and times',
    answer: answer({ nameservices: list(QUEUE), scheduler: SCHEDULER }),
    run: () => ({ nameservices: queues(), scheduler: scheduler() }),
  };
  return [readQueues];
}
