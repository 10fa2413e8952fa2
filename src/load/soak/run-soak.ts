/** The run of a soak: windows while it lasts, a line a minute, the process looked at. */
import type { LoadResult, SeriesPoint } from '../result/result.ts';
import type { LatencyCounts } from '../run/seconds.ts';
import { readProcess, readUsage } from '../run/watch.ts';
import { chooseWindows, type ProcessUse, type SoakWindow, SoakWindows } from './windows.ts';

export interface SoakRun {
  readonly windows: readonly SoakWindow[];
  readonly windowSeconds: number;
  /** The process has ended before the run. */
  readonly processEnded: boolean;
  readonly result: LoadResult;
}

export interface SoakOptions {
  readonly durationMs: number;
  /** Process to look at. */
  readonly pid: number;
  readonly onMinute: (window: SoakWindow) => void;
  /** Makes the run and reports its seconds. */
  readonly measure: (onSecond: (point: SeriesPoint, counts: LatencyCounts) => void) => Promise<LoadResult>;
}

/** Looking at a process with many descriptors is not free: so often in a window, within the bounds of seconds. */
const LOOKS_OF_A_WINDOW = 6;
const MIN_LOOK_SECONDS = 5;
const MAX_LOOK_SECONDS = 30;

/** Seconds between two looks for windows of so many: each window has one. */
export function chooseLookSeconds(windowSeconds: number): number {
  return Math.min(MAX_LOOK_SECONDS, Math.max(MIN_LOOK_SECONDS, Math.floor(windowSeconds / LOOKS_OF_A_WINDOW)));
}

export async function runSoak({ durationMs, pid, onMinute, measure }: SoakOptions): Promise<SoakRun> {
  const windows = new SoakWindows(chooseWindows(durationMs));
  const minutes = new SoakWindows({ seconds: 60, count: Math.max(1, Math.ceil(durationMs / 60_000)) }, onMinute);
  const look = new ProcessLook(pid, chooseLookSeconds(windows.seconds));
  const result = await measure((point, counts) => {
    const use = point.measured ? look.takeAt(point.second) : null;
    windows.add(point, counts, use);
    minutes.add(point, counts, use);
  });
  minutes.end();
  return { windows: windows.end(), windowSeconds: windows.seconds, processEnded: look.ended, result };
}

/** What a process uses, every few seconds; nothing more of one that has ended, nor of a later one with its number. */
class ProcessLook {
  readonly #pid: number;
  readonly #everySeconds: number;
  readonly #startTicks: number | null;
  ended = false;

  constructor(pid: number, everySeconds: number) {
    this.#pid = pid;
    this.#everySeconds = everySeconds;
    this.#startTicks = readUsage(pid)?.startTicks ?? null;
  }

  takeAt(second: number): ProcessUse | null {
    if (this.ended || second % this.#everySeconds !== 0) return null;
    const sample = readProcess(this.#pid);
    if (sample !== null && sample.startTicks === this.#startTicks) return sample;
    this.ended = true;
    return null;
  }
}
