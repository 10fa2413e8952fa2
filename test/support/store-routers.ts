import pino from 'pino';
import { vi } from 'vitest';
import type { StoreSettings } from '../../src/config/store-settings.ts';
import { StateStore } from '../../src/control/store/state-store.ts';
import type { StoreClock } from '../../src/control/store/store-clock.ts';
import type { MemoryDriver, MemoryStore } from './memory-store.ts';

export const SETTINGS: StoreSettings = {
  cacheTtlMs: 60_000,
  connectionTestMs: 60_000,
  membership: { expirationMs: 300_000, deletionMs: -1 },
  router: { expirationMs: 300_000, deletionMs: -1 },
  heartbeatEnabled: true,
  heartbeatMs: 5_000,
  safeMode: { extensionMs: 30_000, expirationMs: 180_000, checkPeriodMs: 5_000 },
};

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A log whose lines a test reads. */
export function recordLog(): { log: pino.Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  return { log: pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) }), lines };
}

/** Time that passes only when the test says so; both clocks of the control plane follow it. */
export function useFakeTime(): Disposable {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: 1_700_000_000_000,
  });
  return { [Symbol.dispose]: () => vi.useRealTimers() };
}

/** Clocks of a machine whose wall clock is `skewMs` ahead. */
export function skewedClock(skewMs: number): StoreClock {
  return { wallMs: () => Date.now() + skewMs, steadyMs: () => performance.now() };
}

/** One router's view of a store in memory, not started. */
export class StoreRouter implements AsyncDisposable {
  readonly driver: MemoryDriver;
  readonly store: StateStore;
  readonly lines: LogLine[];
  readonly log: pino.Logger;

  constructor(memory: MemoryStore, routerId = 'r1:8888', changes: Partial<StoreSettings> = {}, skewMs = 0) {
    const { log, lines } = recordLog();
    this.log = log;
    this.lines = lines;
    this.driver = memory.driver();
    this.store = new StateStore({
      driver: this.driver,
      settings: { ...SETTINGS, ...changes },
      defaults: { routerUser: 'router', superGroup: 'supergroup' },
      routerId,
      log,
      clock: skewedClock(skewMs),
    });
  }

  /** What the log says from the level of warnings up. */
  get warnings(): string[] {
    return this.lines
      .filter(({ level }) => level >= 40)
      .map(({ msg, reason }) => [msg, reason].filter(Boolean).join(': '));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.stop();
  }
}
