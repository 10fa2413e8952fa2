import type { SafeModeSettings } from '../config/store-settings.ts';
import { type ControlBlock, SafeModeLevel } from '../shared/control-block.ts';
import type { Log } from './log.ts';
import { type StoreClock, SYSTEM_CLOCK } from './store/store-clock.ts';

/** What safe mode goes by: the caches of the State Store. */
export interface CacheAge {
  /** When all caches were last loaded together, on the steady clock; null: never yet. */
  readonly lastFullLoadMs: number | null;
  /** Paths can be resolved: the mount table was loaded once, and all threads go by it. */
  readonly hasMountTable: boolean;
}

export interface SafeModeOptions {
  readonly settings: SafeModeSettings;
  readonly block: ControlBlock;
  readonly caches: CacheAge;
  readonly log: Log;
  /** Told after each change; the router's record says SAFEMODE or RUNNING then. */
  readonly onChange?: (isOn: boolean) => void;
  readonly clock?: StoreClock;
}

/**
 * Router safe mode: while the caches of the State Store are too old to be trusted, clients that change something are sent to another router.
 * Workers read its level in the control block.
 *
 * - from `start` on, for at least `extensionMs`
 * - whenever the last full load is older than `expirationMs`; it ends with the first check after a load, unless an administrator began it
 * - from an administrator's `enter` to the `leave`; that is forgotten when the process ends
 */
export class SafeMode {
  readonly #options: SafeModeOptions;
  readonly #clock: StoreClock;
  #isOn = false;
  #byAdministrator = false;
  #startedMs = 0;
  #sinceMs = 0;
  #lastMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: SafeModeOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** An administrator began it: it does not end by itself. */
  get byAdministrator(): boolean {
    return this.#byAdministrator;
  }

  /** How long the last safe mode that has ended took; null: none has yet. */
  get lastDurationMs(): number | null {
    return this.#lastMs;
  }

  /** Enters safe mode, and checks from now on. */
  start(): void {
    if (this.#timer !== null) return;
    this.#startedMs = this.#clock.steadyMs();
    this.#turnOn('the router has just started');
    this.#timer = setInterval(() => this.check(), this.#options.settings.checkPeriodMs);
    this.#timer.unref();
  }

  /** Ends the checks; the router stays as it is. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** An administrator's wish. */
  enter(): void {
    this.#byAdministrator = true;
    this.#turnOn('an administrator asked for it');
  }

  /** An administrator's wish; the next check enters again while the caches are old. */
  leave(): void {
    this.#byAdministrator = false;
    this.#turnOff('an administrator asked for it');
  }

  /** One look at the caches. */
  check(): void {
    const { settings, caches } = this.#options;
    this.#setLevel();
    const nowMs = this.#clock.steadyMs();
    if (nowMs - this.#startedMs < settings.extensionMs) return;
    const { lastFullLoadMs } = caches;
    const isStale = !caches.hasMountTable || lastFullLoadMs === null || nowMs - lastFullLoadMs > settings.expirationMs;
    if (isStale && !this.#isOn) {
      this.#turnOn(
        lastFullLoadMs === null
          ? 'the State Store was never read completely'
          : `the State Store was last read completely ${Math.round((nowMs - lastFullLoadMs) / 1000)} s ago`,
      );
    } else if (!isStale && this.#isOn && !this.#byAdministrator) this.#turnOff('the State Store has been read');
  }

  #turnOn(reason: string): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#sinceMs = this.#clock.steadyMs();
    this.#setLevel();
    this.#options.log.warn({ reason }, 'safe mode: calls that change something are sent to other routers');
    this.#options.onChange?.(true);
  }

  #turnOff(reason: string): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#lastMs = this.#clock.steadyMs() - this.#sinceMs;
    this.#setLevel();
    this.#options.log.info({ reason, tookMs: Math.round(this.#lastMs) }, 'safe mode is left');
    this.#options.onChange?.(false);
  }

  /** Without a mount table no path may be resolved, even when an administrator has ended safe mode. */
  #setLevel(): void {
    const { block, caches } = this.#options;
    if (!caches.hasMountTable) block.setSafeMode(SafeModeLevel.READS_TOO);
    else block.setSafeMode(this.#isOn ? SafeModeLevel.WRITES : SafeModeLevel.OFF);
  }
}
