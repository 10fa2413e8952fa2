import type { LoadPlan, ReplayCall, ThreadStart } from './plan.ts';

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
      replay: replays[thread] ?? [],
    };
  });
}

/** A call that has to wait for one of another thread does not wait: threads only share the time. */
function dealReplay({ users, connections, threads }: LoadPlan, replay: readonly ReplayCall[]): ReplayCall[][] {
  const dealt: ReplayCall[][] = Array.from({ length: threads }, () => []);
  const threadOf = new Map(users.map((user, index) => [user, (index % connections) % threads]));
  const places = new Int32Array(replay.length);
  const threadOfCall = new Uint8Array(replay.length);
  for (const [index, call] of replay.entries()) {
    const thread = threadOf.get(call.user) ?? 0;
    const own = dealt[thread] ?? [];
    threadOfCall[index] = thread;
    places[index] = own.length;
    const { after, ...alone } = call;
    const inThread = (after ?? []).filter((before) => threadOfCall[before] === thread);
    own.push(inThread.length === 0 ? alone : { ...alone, after: inThread.map((before) => places[before] ?? 0) });
  }
  return dealt;
}
