import type { LoadPlan } from './plan.ts';

const SECOND_MS = 1000;

/** Start of the measured time after the begin, ms. */
export function warmupMs({ loop, warmupMs }: Pick<LoadPlan, 'loop' | 'warmupMs'>): number {
  return loop.kind === 'open' ? Math.max(warmupMs, loop.rampMs) : warmupMs;
}

/** A warm-up that ends with a whole second, after the ramp too: no second of the result is in part warm-up. */
export function roundWarmupMs(givenMs: number, rampMs: number): number {
  const wholeMs = Math.ceil(givenMs / SECOND_MS) * SECOND_MS;
  const isRampWhole = rampMs % SECOND_MS === 0;
  return isRampWhole ? wholeMs : Math.max(wholeMs, Math.ceil(rampMs / SECOND_MS) * SECOND_MS);
}
