import type { Engine } from '../call/engine.ts';

/** About as long as a failover takes. */
const FAILOVER_WAIT_MS = 30_000;

/** Of the call's budget: the answer names the nameservice instead of coming too late. */
const BUDGET_SHARE = 0.75;

/**
 * `AskOptions.unreachedMs` of requests that nobody else can answer instead. Where others can it is
 * `dfs.federation.router.client.mount-status.time-out`.
 */
export function failoverWaitMs({ settings }: Engine): number {
  return Math.min(FAILOVER_WAIT_MS, settings.callBudgetMs * BUDGET_SHARE);
}
