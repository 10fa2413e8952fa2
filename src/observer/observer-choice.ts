import type { Call } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import type { Method } from '../call/method.ts';
import type { NameNode } from '../namenode/namenode.ts';
import { NameNodeState } from '../shared/control-block.ts';
import type { OwnCalls } from './own-call.ts';
import { NO_TXID, type State } from './rules.ts';
import { Figure, type Figures } from './shared/figures.ts';
import type { StateWords } from './shared/state-words.ts';

/** An observer that fails is left alone for so long, twice as long each time in a row, up to the last. */
const FIRST_HOLD_MS = 1000;
const LAST_HOLD_MS = 60_000;
/** While one worker tries it, the others leave it alone for so long beyond the patience of the attempt. */
const PROBE_MARGIN_MS = 3000;
/** So many transactions that an observer is behind weigh as much as one call in flight to it. */
const TRANSACTIONS_PER_CALL = 100;

/** Which observer gets a read: the one with the fewest calls to answer, of those that are not left alone; one that is known to lag later. */
export class ObserverChoice {
  readonly #engine: Engine;
  readonly #shared: StateWords;
  readonly #own: OwnCalls;
  readonly #figures: Figures;
  /** State id that each NameNode last answered with as an observer, by its number. */
  readonly #seen: Float64Array;
  /** Where the search starts, so that equal ones take turns. */
  #turn = 0;

  constructor(engine: Engine, shared: StateWords, own: OwnCalls, figures: Figures) {
    this.#engine = engine;
    this.#shared = shared;
    this.#own = own;
    this.#figures = figures;
    let namenodes = 0;
    for (const nameservice of engine.topology.nameservices) namenodes += nameservice.namenodes.length;
    this.#seen = new Float64Array(namenodes).fill(NO_TXID);
  }

  /** Null: none is known, or the call has tried all that are not left alone. */
  choose(call: Call, state: State): NameNode | null {
    const { block, clock, pool } = this.#engine;
    const { nameservice } = call;
    const namenodes = pool.namenodes[nameservice] as readonly NameNode[];
    const { length } = namenodes;
    const { user } = call.client as Client;
    const { protocol } = call.method as Method;
    const { stamp } = clock;
    let best: NameNode | null = null;
    let bestLoad = Number.POSITIVE_INFINITY;
    this.#turn = this.#turn + 1 < length ? this.#turn + 1 : 0;
    let next = this.#turn;
    for (let left = length; left > 0; left--) {
      const at = next;
      next = at + 1 < length ? at + 1 : 0;
      if ((call.tried & (1 << at)) !== 0 || block.stateOf(nameservice, at) !== NameNodeState.OBSERVER) continue;
      if (this.#shared.isSuspect(nameservice, at)) {
        if (!this.#shared.isHeld(nameservice, at, stamp)) this.#probe(nameservice, at, stamp, state.txid);
        continue;
      }
      const namenode = namenodes[at] as NameNode;
      if (!namenode.circuit.isClosed) {
        pool.want(namenode);
        continue;
      }
      const group = pool.groupAt(user, namenode, protocol);
      if (group?.isRefused === true) continue;
      const waiting = group === null ? 0 : group.waiting.length;
      const load = namenode.inFlight + waiting + this.#lagOf(namenode, call.floor);
      if (load < bestLoad) {
        best = namenode;
        bestLoad = load;
      }
    }
    return best;
  }

  onAnswer(call: Call, txid: number): void {
    const namenode = (this.#engine.pool.namenodes[call.nameservice] as readonly NameNode[])[call.namenode] as NameNode;
    this.#seen[namenode.number] = txid;
  }

  leaveAlone(nameservice: number, namenode: number): void {
    const { stamp } = this.#engine.clock;
    if (this.#shared.hold(nameservice, namenode, stamp, FIRST_HOLD_MS, LAST_HOLD_MS)) {
      this.#figures.add(nameservice, Figure.holds);
    }
  }

  hasReached({ number }: NameNode, floor: number): boolean {
    return (this.#seen[number] as number) >= floor;
  }

  /** 0 when it is known to have what the call needs. */
  #lagOf(namenode: NameNode, floor: number): number {
    if (this.hasReached(namenode, floor)) return 0;
    return Math.max(0, this.#shared.behindOf(namenode.nameservice, namenode.index)) / TRANSACTIONS_PER_CALL;
  }

  /** It was left alone long enough: no client pays for finding out whether it serves again. */
  #probe(nameservice: number, namenode: number, stamp: number, txid: number): void {
    const { patienceMs } = this.#engine.settings.observers;
    if (!this.#shared.claimProbe(nameservice, namenode, stamp, patienceMs + PROBE_MARGIN_MS)) return;
    this.#figures.add(nameservice, Figure.probes);
    // Not within the call that found it: the probe may fail at once.
    this.#engine.pool.defer(() =>
      this.#own.probe(nameservice, namenode, txid, (ok) => {
        if (ok) this.#shared.letGo(nameservice, namenode);
        else {
          this.#figures.add(nameservice, Figure.holds);
          this.#shared.holdAnew(nameservice, namenode, this.#engine.clock.stamp, FIRST_HOLD_MS, LAST_HOLD_MS);
        }
      }),
    );
  }
}
