/** The target of a call on paths that were given with --paths or come from a log. */
export const GIVEN_PATHS = -1;

/** Chooses calls. What was chosen last is in the fields; see CallFrames.write for what source, group, number and destination mean. */
export interface CallSource {
  operation: number;
  /** Index in plan.targets, or -1. */
  target: number;
  source: number;
  group: number;
  number: number;
  destination: number;
  /** The operation that was wanted had nothing to work on and was replaced by mkdirs. */
  substituted: boolean;
  /** Chooses call `call` of the schedule for a user (index in plan.users); in a closed loop the number says nothing. */
  choose(call: number, user: number): void;
  /** A call was answered with success: what it made may be used by others of this user. */
  settleSuccess(
    operation: number,
    user: number,
    source: number,
    group: number,
    number: number,
    destination: number,
  ): void;
  /** A call was answered with an exception that does not say that its path is missing: what it was to change is still there. */
  settleUnchanged(operation: number, user: number, source: number, group: number, number: number): void;
}
