/** What the NameNodes of a simulator were asked, so that tests can count executions and see what arrived on the wire. */

/** One call as a NameNode saw it, written when it was answered. */
export interface LoggedCall {
  /** Counts up over the whole simulator. */
  readonly sequence: number;
  readonly nameservice: string;
  readonly namenode: string;
  readonly user: string;
  /** Real user of an impersonated one, else ''. */
  readonly realUser: string;
  readonly protocol: string;
  readonly method: string;
  /** First and second path of the request, '' when it has none. */
  readonly path: string;
  readonly path2: string;
  /** Hexadecimal. */
  readonly clientId: string;
  readonly callId: number;
  readonly retryCount: number;
  readonly callerContext: string;
  /** Hexadecimal, '' without a signature. */
  readonly callerSignature: string;
  /** State id of the request header, null when it had none. */
  readonly stateId: string | null;
  /** Class of the exception that the call was answered with, '' for success. */
  readonly exception: string;
  /** False: answered from the retry cache, or refused before any execution. */
  readonly executed: boolean;
  /** Local port of the connection's far end: tells connections apart. */
  readonly clientPort: number;
}

/** Calls that are kept; older ones are counted only. */
export const MAX_LOGGED_CALLS = 20_000;

export interface CallFilter {
  readonly nameservice?: string;
  readonly namenode?: string;
  readonly method?: string;
  readonly path?: string;
  /** Calls with a greater sequence number only. */
  readonly after?: number;
}

export class CallLog {
  #calls: LoggedCall[] = [];
  #sequence = 0;
  readonly #executed = new Map<string, number>();

  add(call: Omit<LoggedCall, 'sequence'>): void {
    this.#sequence++;
    this.#calls.push({ sequence: this.#sequence, ...call });
    // Twice the limit before cutting: the copy is made rarely.
    if (this.#calls.length > 2 * MAX_LOGGED_CALLS) {
      this.#calls = this.#calls.slice(-MAX_LOGGED_CALLS);
    }
    if (call.executed) {
      const key = `${call.nameservice} ${call.namenode} ${call.method}`;
      this.#executed.set(key, (this.#executed.get(key) ?? 0) + 1);
    }
  }

  /** The last MAX_LOGGED_CALLS calls, oldest first, of those that the filter lets through. */
  find(filter: CallFilter): LoggedCall[] {
    return this.#calls
      .slice(-MAX_LOGGED_CALLS)
      .filter(
        (call) =>
          (filter.nameservice === undefined || call.nameservice === filter.nameservice) &&
          (filter.namenode === undefined || call.namenode === filter.namenode) &&
          (filter.method === undefined || call.method === filter.method) &&
          (filter.path === undefined || call.path === filter.path) &&
          (filter.after === undefined || call.sequence > filter.after),
      );
  }

  /** Executions since the start by `nameservice namenode method`, whatever became of the log. */
  counts(): Record<string, number> {
    return Object.fromEntries(this.#executed);
  }

  clear(): void {
    this.#calls = [];
    this.#executed.clear();
  }
}
