import type { Clock } from './clock.ts';

/** Something that waits in a wheel; embedded in (extended by) the object that waits. */
export class WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrev: WheelEntry | null = null;
  wheelSlot = -1;
  wheelDueMs = 0;
}

const SLOTS = 1024;

/**
 * One coarse timer for everything that waits in a thread: add, remove and expiry are O(1), one Node timer is armed while anything waits.
 * An entry fires up to `tickMs` late. Entries beyond one revolution stay in their slot until their time has come.
 */
export class TimerWheel {
  readonly #clock: Pick<Clock, 'nowMs' | 'tick'>;
  readonly #tickMs: number;
  readonly #onDue: (entry: WheelEntry) => void;
  readonly #slots: (WheelEntry | null)[] = new Array<WheelEntry | null>(SLOTS).fill(null);
  #count = 0;
  #atTick = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(clock: Pick<Clock, 'nowMs' | 'tick'>, tickMs: number, onDue: (entry: WheelEntry) => void) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#count;
  }

  add(entry: WheelEntry, delayMs: number): void {
    if (entry.wheelSlot >= 0) this.remove(entry);
    const now = this.#clock.nowMs;
    if (this.#count === 0) this.#atTick = Math.floor(now / this.#tickMs);
    entry.wheelDueMs = now + delayMs;
    const slot = Math.max(Math.ceil(entry.wheelDueMs / this.#tickMs), this.#atTick + 1) % SLOTS;
    const head = this.#slots[slot] as WheelEntry | null;
    entry.wheelSlot = slot;
    entry.wheelPrev = null;
    entry.wheelNext = head;
    if (head !== null) head.wheelPrev = entry;
    this.#slots[slot] = entry;
    this.#count++;
    if (this.#timer === null) this.#arm();
  }

  remove(entry: WheelEntry): void {
    if (entry.wheelSlot < 0) return;
    if (entry.wheelPrev !== null) entry.wheelPrev.wheelNext = entry.wheelNext;
    else this.#slots[entry.wheelSlot] = entry.wheelNext;
    if (entry.wheelNext !== null) entry.wheelNext.wheelPrev = entry.wheelPrev;
    entry.wheelNext = null;
    entry.wheelPrev = null;
    entry.wheelSlot = -1;
    this.#count--;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    this.#timer = setTimeout(this.#turn, this.#tickMs);
  }

  readonly #turn = (): void => {
    this.#timer = null;
    const now = this.#clock.tick();
    const tick = Math.floor(now / this.#tickMs);
    // After a long stall one revolution visits every slot.
    const last = Math.min(tick, this.#atTick + SLOTS);
    for (let t = this.#atTick + 1; t <= last; t++) this.#fire(t % SLOTS, now);
    this.#atTick = tick;
    if (this.#count > 0 && this.#timer === null) this.#arm();
  };

  #fire(slot: number, now: number): void {
    let entry = this.#slots[slot] as WheelEntry | null;
    while (entry !== null) {
      if (entry.wheelDueMs <= now) {
        this.remove(entry);
        this.#onDue(entry);
        // onDue may have changed the list in any way: look again from its head.
        entry = this.#slots[slot] as WheelEntry | null;
      } else {
        entry = entry.wheelNext;
      }
    }
  }
}
