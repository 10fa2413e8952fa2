/** So many failures in a row, without a byte from the NameNode between them, open the circuit. */
export const OPENS_AT_FAILURES = 3;
/** Time until the one probe: doubles with each that fails, from the first to the last, jitter 0.5 to 1.5. */
const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 2000;

/** What calls may do: go there; not; not, because somebody finds out. */
const State = { CLOSED: 0, OPEN: 1, PROBING: 2 } as const;

/**
 * Whether calls go to one NameNode, as one worker sees it (each has its own: what one has lost another may never have needed).
 *
 *             failures in a row, or it hangs               pause over, claimed
 *   CLOSED ───────────────────────────────────▶ OPEN ───────────────────────────▶ PROBING
 *      ▲                                          ▲ ▲          claim expired ──────┘ │
 *      │                                          │ └─ failure: pause doubled ───────┤
 *      └──────────── any byte from it ────────────┴──────────────────────────────────┘
 *
 * Pure: time and chance come from outside.
 */
export class Circuit {
  /** Why it is not closed, '' when it is. */
  why = '';
  #state: number = State.CLOSED;
  #failures = 0;
  #pauses = 0;
  /** End of the pause, or of a claim that was never settled. */
  #untilMs = 0;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  get isClosed(): boolean {
    return this.#state === State.CLOSED;
  }

  /** Nothing may be opened to it, not even by who probes. */
  get isOpen(): boolean {
    return this.#state === State.OPEN;
  }

  /** Time until a probe may be claimed, 0: now. */
  msUntilProbe(nowMs: number): number {
    return this.#state === State.CLOSED ? 0 : Math.max(0, this.#untilMs - nowMs);
  }

  /** True: the caller is the one that finds out, and says how it went (`close`, `open`) within that time. */
  claimProbe(nowMs: number, withinMs: number): boolean {
    if (this.#state === State.CLOSED || nowMs < this.#untilMs) return false;
    this.#state = State.PROBING;
    this.#untilMs = nowMs + withinMs;
    return true;
  }

  /** A connection to it could not be made. */
  noteFailure(nowMs: number, why: string): void {
    this.#failures++;
    if (this.#state === State.PROBING || (this.isClosed && this.#failures >= OPENS_AT_FAILURES)) this.open(nowMs, why);
  }

  /** It hangs, or the probe failed. */
  open(nowMs: number, why: string): void {
    if (this.#state === State.OPEN) return;
    this.#state = State.OPEN;
    this.why = why;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses, LAST_PAUSE_MS);
    if (pause < LAST_PAUSE_MS) this.#pauses++;
    this.#untilMs = nowMs + pause * (0.5 + this.#random());
  }

  /** It lives. True when the circuit was not closed. */
  close(): boolean {
    this.#failures = 0;
    if (this.#state === State.CLOSED) return false;
    this.#state = State.CLOSED;
    this.#pauses = 0;
    this.why = '';
    return true;
  }
}
