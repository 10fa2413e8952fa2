import type { LoadPlan, ReplayCall, ReplayLinks, ThreadStart } from './plan.ts';

/** What a loader thread is given beside the plan and its line. */
export type ThreadShare = Omit<ThreadStart, 'plan' | 'port'>;

/**
 * Deals connections, rate, calls and recorded calls out to the threads. Shares of the rate and of the calls follow the connections. All
 * recorded calls of a user go to one thread, which keeps their order.
 */
export function shareOut(plan: LoadPlan, replay: readonly ReplayCall[]): ThreadShare[] {
  const { connections, threads, calls } = plan;
  const replays = dealReplay(plan, replay);
  let before = 0;
  return Array.from({ length: threads }, (_, thread): ThreadShare => {
    const own: number[] = [];
    for (let connection = thread; connection < connections; connection += threads) own.push(connection);
    const after = before + own.length;
    // Rounded on the way, not each by itself: the shares add up to all calls.
    const share =
      calls === null ? null : Math.floor((calls * after) / connections) - Math.floor((calls * before) / connections);
    before = after;
    return {
      thread,
      connections: own,
      rateShare: own.length / connections,
      calls: share,
      ...replays[thread]!,
    };
  });
}

interface ReplayShare {
  readonly replay: ReplayCall[];
  readonly links: ReplayLinks;
}

/** Each thread gets the calls of its users, and with them what they have to wait for, in its own numbers. */
function dealReplay({ users, connections, threads }: LoadPlan, replay: readonly ReplayCall[]): ReplayShare[] {
  const threadOfUser = new Map(users.map((user, index) => [user, (index % connections) % threads]));
  const threadOf = Uint8Array.from(replay, ({ user }) => threadOfUser.get(user) ?? 0);
  const counts = new Int32Array(threads);
  const numbers = Int32Array.from(replay, (_, call) => counts[threadOf[call] ?? 0]!++);
  const shares = Array.from({ length: threads }, (_, thread) => ({
    replay: [] as ReplayCall[],
    /** Calls of other threads, with their numbers here. */
    foreign: new Map<number, number>(),
    awaited: [] as number[],
    count: counts[thread] ?? 0,
  }));
  const numberIn = (thread: number, call: number): number => {
    const owner = threadOf[call] ?? 0;
    if (owner === thread) return numbers[call] ?? 0;
    const { foreign, count } = shares[thread]!;
    const known = foreign.get(call);
    if (known !== undefined) return known;
    const number = count + foreign.size;
    foreign.set(call, number);
    shares[owner]!.awaited.push(numbers[call] ?? 0, thread, number);
    return number;
  };
  for (const [index, call] of replay.entries()) {
    const thread = threadOf[index] ?? 0;
    const { after } = call;
    const own = after === undefined ? call : { ...call, after: after.map((before) => numberIn(thread, before)) };
    shares[thread]!.replay.push(own);
  }
  return shares.map(({ replay: own, foreign, awaited }) => ({
    replay: own,
    links: {
      foreign: Int32Array.from(foreign.keys(), (call) => threadOf[call] ?? 0),
      awaited: Int32Array.from(awaited),
    },
  }));
}
