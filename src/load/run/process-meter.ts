/** CPU of this process between begin and end, all threads together. */
export class ProcessMeter implements Disposable {
  readonly timers: NodeJS.Timeout[] = [];
  #begun: Moment | null = null;
  #ended: Moment | null = null;

  begin(): void {
    this.#begun ??= readMoment();
  }

  end(): void {
    this.#ended ??= readMoment();
  }

  /** CPU seconds per second; 0 when nothing was measured. */
  cpuShare(): number {
    if (this.#begun === null || this.#ended === null) return 0;
    const elapsedMs = this.#ended.atMs - this.#begun.atMs;
    return elapsedMs <= 0 ? 0 : (this.#ended.cpuMicros - this.#begun.cpuMicros) / 1000 / elapsedMs;
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}

interface Moment {
  readonly atMs: number;
  readonly cpuMicros: number;
}

function readMoment(): Moment {
  const { user, system } = process.cpuUsage();
  return { atMs: performance.now(), cpuMicros: user + system };
}
