/** Whether the numbers of a run say more about the load tool than about the server. The one place that decides it. */

/** What the loader threads were like; of the worst of them. */
export interface LoaderStrain {
  readonly isClosed: boolean;
  /** Threads that watch the clock are always busy: how busy they are says nothing. */
  readonly isSpinning: boolean;
  readonly utilization: number;
  readonly loopDelayP99Ms: number;
  /** Corrected, of all calls; 0 when none has a latency. */
  readonly p99Ms: number;
  /** Calls sent late for the loader's own sake, as a share of those due. */
  readonly lateShare: number;
  readonly gcShare: number;
  readonly saturated: boolean;
}

const MAX_LATE_SHARE = 0.01;
/** A delay of the event loop beyond this share of the p99 is the larger part of it … */
const MAX_LOOP_DELAY_SHARE = 0.5;
/** … unless it is one that every machine has. */
const USUAL_LOOP_DELAY_MS = 2;
const MAX_GC_SHARE = 0.1;
const MAX_UTILIZATION = 0.95;
/** A thread that is late and less busy than this does not get the processor when it wants it. */
const BUSY_UTILIZATION = 0.7;

/** Why the loader was the limit; '' when it was not. */
export function findLimit(of: LoaderStrain): string {
  if (of.lateShare > MAX_LATE_SHARE) {
    const remedy =
      of.utilization > BUSY_UTILIZATION && !of.isSpinning
        ? 'use more --threads on free cores'
        : 'others take its core: give it one of its own';
    return `it sent ${percent(of.lateShare)} of the calls late although connections were free; ${remedy}`;
  }
  if (isFull(of) && (of.isClosed || of.saturated)) {
    const loop = of.isClosed ? 'a closed loop cannot show what the server could do' : 'and the rate was not reached';
    return `a loader thread was busy ${percent(of.utilization)} of the time: ${loop}; use more --threads on free cores`;
  }
  if (of.gcShare > MAX_GC_SHARE) {
    return `garbage collection took ${percent(of.gcShare)} of a loader thread's time; use more --threads or fewer files`;
  }
  if (of.p99Ms > 0 && of.loopDelayP99Ms > Math.max(USUAL_LOOP_DELAY_MS, of.p99Ms * MAX_LOOP_DELAY_SHARE)) {
    return (
      `a loader thread had to wait ${of.loopDelayP99Ms.toFixed(1)} ms for its turn (p99), ` +
      `more than half of the corrected p99 of ${of.p99Ms.toFixed(1)} ms; free processor cores for it`
    );
  }
  return '';
}

/** What to beware of when it was not the limit, but not far from it; '' when it had time to spare. */
export function findNearLimit(of: LoaderStrain): string {
  if (!isFull(of) || findLimit(of) !== '') return '';
  return `a loader thread was busy ${percent(of.utilization)} of the time; the rate was reached, a higher one needs more --threads on free cores`;
}

function isFull({ utilization, isSpinning }: LoaderStrain): boolean {
  return utilization > MAX_UTILIZATION && !isSpinning;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
