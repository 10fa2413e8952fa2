/** Safe mode of one NameNode: entered by hand, or at a start until the blocks have been reported. */
import type { SafeModeAction } from './operation.ts';

/** `dfs.namenode.safemode.threshold-pct` */
const THRESHOLD = '0.9990';

export class SafeMode {
  #isManual = false;
  /** Calls that will still find the NameNode starting. */
  #startupCalls = 0;

  get isOn(): boolean {
    return this.#isManual || this.isStartup;
  }

  /** Nobody entered it by hand, and no DataNode has told which blocks it has. */
  get isStartup(): boolean {
    return !this.#isManual && this.#startupCalls > 0;
  }

  /** Whether it is on afterwards. */
  change(action: SafeModeAction): boolean {
    if (action !== 'get') {
      this.#isManual = action === 'enter';
      this.#startupCalls = 0;
    }
    return this.isOn;
  }

  /** That of a start, which the next `calls` calls see. */
  beginStartup(calls: number): void {
    this.#isManual = false;
    this.#startupCalls = calls;
  }

  /** After each call. */
  onCall(): void {
    if (this.isStartup) {
      this.#startupCalls--;
    }
  }

  /** Why it is on and when it ends; `blocks` are those of the namespace. */
  tip(blocks: number): string {
    if (!this.isStartup) {
      return 'It was turned on manually. Use "hdfs dfsadmin -safemode leave" to turn safe mode off.';
    }
    return (
      `The reported blocks 0 needs additional ${Math.floor(blocks * Number(THRESHOLD))} blocks to reach the threshold ` +
      `${THRESHOLD} of total blocks ${blocks}.\nThe minimum number of live datanodes is not required. ` +
      'Safe mode will be turned off automatically once the thresholds have been reached.'
    );
  }
}
