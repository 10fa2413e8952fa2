import type { StateWords } from '../../observer/shared/state-words.ts';
import { type ControlBlock, NameNodeState } from '../../shared/control-block.ts';
import type { ObserverSettings } from '../../shared/settings.ts';
import type { Log } from '../log.ts';
import { type MonitoredNamenode, nameOf } from '../membership/addresses.ts';
import { JmxClient, type JournalAnswer } from '../membership/jmx.ts';

/** What one NameNode's web server last said of its transactions. */
export interface NamenodeLag {
  readonly namenode: MonitoredNamenode;
  /** Last transaction that it has written (active) or applied (observer), -1 unknown. */
  readonly lastTxid: number;
  /** Transactions behind the active of its nameservice, -1 unknown. */
  readonly behind: number;
  /** Calls that it has put back into its queue because it had not caught up, since its start; -1 unknown. */
  readonly requeued: number;
  /** Mean time of calls in its queue, ms; -1 unknown. */
  readonly queueMs: number;
}

export interface ObserverLagOptions {
  readonly namenodes: readonly MonitoredNamenode[];
  readonly settings: ObserverSettings;
  readonly block: ControlBlock;
  readonly words: StateWords;
  /** Pause between two rounds of questions. */
  readonly intervalMs: number;
}

/**
 * How far observers are behind: for operators, and for workers, which prefer those that have caught up. Asks the web servers of the active
 * and the observers of nameservices whose observers serve reads; all of a round at once, each with the time limits of JmxClient.
 */
export class ObserverLags {
  readonly #options: ObserverLagOptions;
  readonly #log: Log;
  readonly #jmx = new JmxClient();
  readonly #lags = new Map<MonitoredNamenode, NamenodeLag>();
  readonly #said = new Map<MonitoredNamenode, string>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: ObserverLagOptions, log: Log) {
    this.#options = options;
    this.#log = log;
  }

  /** Of the NameNodes that were asked in the last round. */
  get lags(): readonly NamenodeLag[] {
    return [...this.#lags.values()];
  }

  start(): void {
    void this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#jmx.close();
  }

  async #run(): Promise<void> {
    await this.round();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#run(), this.#options.intervalMs);
    this.#timer.unref();
  }

  /** Asks once. Never rejects. */
  async round(): Promise<void> {
    const { namenodes, settings, block } = this.#options;
    const asked = namenodes.filter(({ nameservice, index }) => {
      const state = block.stateOf(nameservice, index);
      return (
        settings.enabled[nameservice] === true && (state === NameNodeState.ACTIVE || state === NameNodeState.OBSERVER)
      );
    });
    const answers = await Promise.all(
      asked.map((namenode) => this.#jmx.readJournal(namenode.webScheme, namenode.web, namenode.rpc.port)),
    );
    if (this.#stopped) return;
    const lastTxids = new Map<number, number>();
    asked.forEach((namenode, i) => {
      const answer = answers[i] as JournalAnswer;
      this.#tell(namenode, answer.problem);
      if (block.activeOf(namenode.nameservice) === namenode.index) lastTxids.set(namenode.nameservice, answer.lastTxid);
    });
    this.#lags.clear();
    asked.forEach((namenode, i) => {
      this.#take(namenode, answers[i] as JournalAnswer, lastTxids);
    });
  }

  #take(
    namenode: MonitoredNamenode,
    { lastTxid, requeued, queueMs }: JournalAnswer,
    lastTxids: ReadonlyMap<number, number>,
  ): void {
    const { nameservice, index } = namenode;
    const last = lastTxids.get(nameservice) ?? -1;
    // Both were asked at about the same time, the observer maybe a moment later.
    const behind = lastTxid < 0 || last < 0 ? -1 : Math.max(0, last - lastTxid);
    this.#lags.set(namenode, { namenode, lastTxid, behind, requeued, queueMs });
    this.#options.words.setBehind(nameservice, index, behind);
  }

  #tell(namenode: MonitoredNamenode, problem: string): void {
    if ((this.#said.get(namenode) ?? '') === problem) return;
    this.#said.set(namenode, problem);
    if (problem === '') return;
    this.#log.info({ namenode: nameOf(namenode), reason: problem }, 'how far a NameNode has come is not known');
  }
}
