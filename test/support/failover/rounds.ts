import { closeOpened, type FailoverCase, prepare } from './cases.ts';
import { Clients } from './clients.ts';
import type { Stage } from './stage.ts';

/** Writes of each client between two rounds, so that the router knows the active again. */
const SETTLED_WRITES = 3;

export interface Rounds {
  readonly id: string;
  readonly title: string;
  /** For each repair: ms until the first write succeeded that was answered after it, and until every client had one that it sent after the harm. */
  readonly firstMs: readonly number[];
  readonly allMs: readonly number[];
  /** Calls from the harm until all were served, and the exceptions that clients saw among them. */
  readonly calls: number;
  readonly errors: readonly string[];
}

/** Lets a case happen `rounds` times to a nameservice that is in use. */
export async function playRounds(stage: Stage, each: FailoverCase, rounds: number, count: number): Promise<Rounds> {
  const clients = new Clients(stage, each.id, count);
  const firstMs: number[] = [];
  const allMs: number[] = [];
  const errors: string[] = [];
  let calls = 0;
  await prepare(stage, each.id);
  clients.start();
  try {
    await clients.untilServed(performance.now(), SETTLED_WRITES);
    for (let round = 0; round < rounds; round++) {
      const from = clients.answered.length;
      const harmedMs = performance.now();
      const served: Promise<unknown>[] = [];
      await each.harm(stage, () => {
        const repairedMs = performance.now();
        const isFirst = ({ isWrite, error, sentMs, answeredMs }: (typeof clients.answered)[number]): boolean =>
          isWrite && error === '' && sentMs >= harmedMs && answeredMs >= repairedMs;
        const first = clients.until(() => clients.answered.slice(from).some(isFirst));
        served.push(first.then(() => firstMs.push(performance.now() - repairedMs)));
        // Those that wait since before the harm are served as well as those that come later.
        const all = clients.until(
          () =>
            new Set(
              clients.answered
                .slice(from)
                .filter(isServed(repairedMs))
                .map(({ client }) => client),
            ).size === count,
        );
        served.push(all.then(() => allMs.push(performance.now() - repairedMs)));
      });
      await Promise.all(served);
      const during = clients.answered.slice(from);
      calls += during.length;
      for (const { error } of during) if (error !== '') errors.push(error);
      await each.heal(stage);
      await prepareAgain(stage, each.id);
      await clients.untilServed(performance.now(), SETTLED_WRITES);
    }
    return { id: each.id, title: each.title, firstMs, allMs, calls, errors };
  } finally {
    await clients.stop();
    await closeOpened(each.id);
  }
}

/** A write that was answered with success after the repair. */
function isServed(repairedMs: number): (answered: { isWrite: boolean; error: string; answeredMs: number }) => boolean {
  return ({ isWrite, error, answeredMs }) => isWrite && error === '' && answeredMs >= repairedMs;
}

async function prepareAgain(stage: Stage, id: string): Promise<void> {
  await closeOpened(id);
  await prepare(stage, id);
}
