/** The two clocks of the control plane; tests give their own. */
export interface StoreClock {
  /** Milliseconds since 1970, as in records; may jump. */
  readonly wallMs: () => number;
  /** Milliseconds since some moment, never set back: for ages on this machine. */
  readonly steadyMs: () => number;
}

export const SYSTEM_CLOCK: StoreClock = { wallMs: () => Date.now(), steadyMs: () => performance.now() };
