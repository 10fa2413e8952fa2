import { isChanging } from './operations.ts';
import type { LoadPlan } from './plan.ts';

/** Whether the plan makes, changes or reads anything in its own directories; not when it only reads paths that are there. */
export function needsNamespace(plan: LoadPlan): boolean {
  if (plan.targets.length === 0) return false;
  if (plan.paths.length === 0) return true;
  return plan.mix.some(({ operation }) => isChanging(operation));
}
