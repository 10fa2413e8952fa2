import { Broken, type Rules, Steps } from './steps.ts';
import { firstWorld, keyOf, type Scenario, type World, worldOf } from './world.ts';

/** More states than a scenario may have: a model that has grown beyond what a test can explore says so. */
const MAX_STATES = 4_000_000;

export interface Explored {
  readonly states: number;
  readonly steps: number;
  /** Null when every state is sound. */
  readonly broken: { readonly invariant: string; readonly message: string; readonly path: readonly string[] } | null;
}

/** Visits every state that the scenario can reach, nearest first, until an invariant is broken. */
export function explore(scenario: Scenario, rules: Rules): Explored {
  const seen = new Set<string>();
  const keys: string[] = [];
  const parents: number[] = [];
  let steps = 0;
  let at = -1;
  const visit = (world: World): void => {
    steps++;
    const key = keyOf(world, scenario);
    if (seen.has(key)) return;
    if (keys.length === MAX_STATES) throw new Error(`the scenario has more than ${MAX_STATES} states`);
    seen.add(key);
    keys.push(key);
    parents.push(at);
    walker.check(world);
  };
  const walker = new Steps(scenario, rules, visit);
  try {
    visit(firstWorld(scenario));
    for (at = 0; at < keys.length; at++) walker.from(worldOf(keys[at] as string));
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    const { invariant, message } = error;
    return {
      states: keys.length,
      steps,
      broken: { invariant, message, path: pathTo(scenario, rules, keys, parents, at) },
    };
  }
  return { states: keys.length, steps, broken: null };
}

/** What happened on the way to the state in which the step failed; observers, routers and clients may change their numbers on it. */
function pathTo(
  scenario: Scenario,
  rules: Rules,
  keys: readonly string[],
  parents: readonly number[],
  last: number,
): string[] {
  const path: string[] = [];
  for (let at = last; at > 0; at = parents[at] as number) {
    const wanted = keys[at] as string;
    let found = '';
    const walker = new Steps(scenario, rules, (world, label) => {
      if (found === '' && keyOf(world, scenario) === wanted) found = label();
    });
    walker.from(worldOf(keys[parents[at] as number] as string));
    path.unshift(found);
  }
  return path;
}
