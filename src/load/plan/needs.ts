import { isChanging } from './operations.ts';
import type { LoadPlan } from './plan.ts';

/** Whether the plan makes, changes or reads anything in its own directories; not when it only reads paths that are there. */
export function needsNamespace(plan: LoadPlan): boolean {
  if (plan.targets.length === 0) return false;
  if (plan.paths.length === 0) return true;
  return needsScratch(plan);
}

/** Whether the run makes or changes anything by itself: a replay brings its own directories. */
export function needsScratch({ mix }: Pick<LoadPlan, 'mix'>): boolean {
  return mix.some(({ operation }) => isChanging(operation));
}

/** Files that have to be in each own directory: none when nothing reads them. */
export function neededFiles({
  mix,
  paths,
  filesPerTarget,
}: Pick<LoadPlan, 'mix' | 'paths' | 'filesPerTarget'>): number {
  const readsThem = paths.length === 0 && mix.some(({ operation }) => !isChanging(operation));
  return readsThem ? filesPerTarget : 0;
}

/** What is made in the own directories before a run. */
export function describeNeeds(plan: Pick<LoadPlan, 'mix' | 'paths' | 'filesPerTarget' | 'targets'>): string {
  const { targets } = plan;
  const [first] = targets;
  const files = neededFiles(plan);
  const where =
    targets.length === 1 ? `in ${first?.own}` : `in each of ${targets.length} directories such as ${first?.own}`;
  const what = files === 0 ? 'directories' : files === 1 ? '1 file' : `${files} files`;
  return `making ${what} ${where}`;
}
