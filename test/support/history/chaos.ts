import { Random } from '../../../src/load/thread/random.ts';
import { ControlError, type ControlRequest, type Which } from '../../../src/simulator/control-requests.ts';
import type { Deployment } from './deployment.ts';
import type { History } from './history.ts';

/** Something is done about every so often. */
const STEP_MS = 150;
/** What was done is undone after as many steps at most. */
const MAX_STEPS = 6;
/** An observer may be stuck for longer than clients may be left behind. */
const MAX_PAUSED_STEPS = 24;
/** A fenced active is soon found out, and ends. */
const MAX_FENCED_STEPS = 2;
const MAX_UNSYNCED = 40;
const NAMENODES = ['nn0', 'nn1'] as const;

/**
 * What may happen, and how often in proportion: what makes routers leave an observer alone for long is rare, or observers would serve nothing. Not among it: an active whose state context is switched off for a while. What is written then
 * has no state id, so no client can bring it to another router, or back to this one later (scenes.ts has what a router can do).
 */
const WEIGHTS = {
  lag: 16,
  pauseTailing: 2,
  failover: 5,
  crash: 2,
  fencedFailover: 3,
  hangActive: 1,
  loseAnswers: 4,
  delayAnswers: 4,
  reorderAnswers: 4,
  restartObserver: 3,
  stopObserver: 1,
  hangObserver: 1,
  observerToStandby: 1,
  observerStateIdsOff: 1,
  restartRouter: 1,
} as const;
export type Mischief = keyof typeof WEIGHTS;
export const ALL_MISCHIEF = Object.keys(WEIGHTS) as Mischief[];

interface Undo {
  readonly atStep: number;
  readonly run: () => Promise<void>;
}

/** Does harm to a deployment, drawn from a seed: one thing after the other, each undone a while later. */
export class Chaos {
  /** How often each thing was done. */
  readonly done = new Map<Mischief, number>();
  readonly #deployment: Deployment;
  readonly #history: History;
  readonly #random: Random;
  readonly #choices: readonly Mischief[];
  #undos: Undo[] = [];
  /** What must not be done twice at a time, e.g. `ns0 nn2`. */
  readonly #busy = new Set<string>();
  #step = 0;
  #isOver = false;
  #running: Promise<void> | null = null;

  constructor(deployment: Deployment, history: History, seed: number, kinds: readonly Mischief[] = ALL_MISCHIEF) {
    this.#deployment = deployment;
    this.#history = history;
    this.#random = new Random(seed, 1);
    this.#choices = kinds.flatMap((kind) => Array.from({ length: WEIGHTS[kind] }, () => kind));
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends it and brings everything in order. */
  async heal(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await this.#undo(Number.POSITIVE_INFINITY);
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#undo(this.#step);
      const kind = this.#choices[this.#random.nextBelow(this.#choices.length)]!;
      if (await this.#doOne(kind)) this.done.set(kind, (this.done.get(kind) ?? 0) + 1);
      this.#step++;
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }

  async #undo(upTo: number): Promise<void> {
    const due = this.#undos.filter(({ atStep }) => atStep <= upTo);
    this.#undos = this.#undos.filter(({ atStep }) => atStep > upTo);
    for (const { run } of due) await run();
  }

  #later(steps: number, run: () => Promise<void>): void {
    this.#undos.push({ atStep: this.#step + 1 + this.#random.nextBelow(steps), run });
  }

  /** Takes `name` until its undo; false: it is taken. */
  #take(name: string, steps: number, undo: () => Promise<void>): boolean {
    if (this.#busy.has(name)) return false;
    this.#busy.add(name);
    this.#later(steps, async () => {
      this.#busy.delete(name);
      await undo();
    });
    return true;
  }

  /** False: it cannot be done now. */
  async #doOne(kind: Mischief): Promise<boolean> {
    const { nameservices } = this.#deployment;
    const at = this.#random.nextBelow(nameservices.length);
    const nameservice = nameservices[at]!;
    switch (kind) {
      case 'failover':
        return await this.#failover(nameservice);
      case 'crash':
        return await this.#crash(nameservice);
      case 'fencedFailover':
        return await this.#fencedFailover(at, nameservice);
      case 'hangActive':
        return await this.#hang(await this.#active(nameservice));
      case 'loseAnswers':
        return await this.#loseAnswers(nameservice);
      case 'delayAnswers':
        return await this.#setOf(this.#anyNamenode(nameservice), {
          answerDelay: { kind: 'exponential', meanMs: 1 + this.#random.nextBelow(20) },
        });
      case 'reorderAnswers':
        return await this.#setOf(this.#anyNamenode(nameservice), { reorderAnswers: 2 + this.#random.nextBelow(20) });
      case 'restartRouter':
        await this.#deployment.restartRouter(this.#random.nextBelow(this.#deployment.routers));
        return true;
      default:
        return await this.#harmObserver(kind, this.#anyObserver(nameservice));
    }
  }

  async #harmObserver(kind: Mischief, which: Which): Promise<boolean> {
    const random = this.#random;
    const toObserver = (): Promise<boolean> => this.#ask({ op: 'transition', to: 'observer', ...which });
    switch (kind) {
      case 'lag':
        return await this.#ask({
          op: 'lag',
          ...which,
          randomTransactions: random.nextBelow(3) * 10,
          lagTime: { kind: 'exponential', meanMs: random.nextBelow(40) },
        });
      case 'pauseTailing':
        return (
          (await this.#ask({ op: 'lag', ...which, paused: true })) &&
          this.#take(nameOf(which), MAX_PAUSED_STEPS, async () => void (await this.#ask({ op: 'lag', ...which })))
        );
      case 'restartObserver':
        return await this.#ask({
          op: 'restart',
          ...which,
          loseTransactions: random.nextBelow(200),
          notStartedCalls: random.nextBelow(20),
          safeModeCalls: random.nextBelow(50),
          paused: false,
        });
      case 'stopObserver':
        if (!this.#take(nameOf(which), MAX_STEPS, async () => void (await this.#start(which, 'observer'))))
          return false;
        return await this.#ask({ op: 'stop', ...which });
      case 'hangObserver':
        return await this.#hang(which);
      case 'observerToStandby':
        if (!this.#take(nameOf(which), MAX_STEPS, async () => void (await toObserver()))) return false;
        return await this.#ask({ op: 'transition', to: 'standby', ...which });
      default:
        return await this.#setOf(which, { stateIds: false });
    }
  }

  async #failover(nameservice: string): Promise<boolean> {
    if (this.#busy.has(nameservice)) return false;
    const active = await this.#active(nameservice);
    return await this.#ask({ op: 'failover', nameservice, to: otherThan(active.namenode) });
  }

  /** The active is gone; after a moment the other one takes its place, later it comes back. */
  async #crash(nameservice: string): Promise<boolean> {
    const active = await this.#active(nameservice);
    if (!this.#take(nameservice, MAX_STEPS, async () => void (await this.#start(active, 'standby')))) return false;
    await this.#ask({ op: 'stop', ...active });
    return await this.#ask({ op: 'failover', nameservice, to: otherThan(active.namenode) });
  }

  /**
   * The old active does not know that there is another one, until it becomes standby. Nothing else happens to the two meanwhile: with the new
   * one out of reach, or either without state ids, nobody could tell which is right.
   */
  async #fencedFailover(at: number, nameservice: string): Promise<boolean> {
    const names = [
      nameservice,
      ...NAMENODES.flatMap((id) => [`${nameservice} ${id}`, `settings ${nameservice} ${id}`]),
    ];
    if (names.some((name) => this.#busy.has(name))) return false;
    const active = await this.#active(nameservice);
    const unsynced = this.#random.nextBelow(2) * this.#random.nextBelow(MAX_UNSYNCED);
    const end = this.#history.beginDoubt(at, unsynced > 0);
    for (const name of names) this.#busy.add(name);
    this.#later(MAX_FENCED_STEPS, async () => {
      await this.#ask({ op: 'transition', to: 'standby', ...active });
      for (const name of names) this.#busy.delete(name);
      end();
    });
    return await this.#ask({ op: 'failover', nameservice, to: otherThan(active.namenode), fence: { unsynced } });
  }

  async #loseAnswers(nameservice: string): Promise<boolean> {
    const active = await this.#active(nameservice);
    if (this.#busy.has(nameOf(active))) return false;
    const method = this.#random.nextBelow(2) === 0 ? 'create' : 'getFileInfo';
    return await this.#ask({ op: 'loseAnswers', ...active, method, times: 1 + this.#random.nextBelow(3) });
  }

  async #hang(which: Which): Promise<boolean> {
    const undo = async (): Promise<void> => void (await this.#ask({ op: 'resume', ...which }));
    if (!this.#take(nameOf(which), MAX_STEPS, undo)) return false;
    return await this.#ask({ op: 'hang', mode: this.#random.nextBelow(2) === 0 ? 'calls' : 'process', ...which });
  }

  async #setOf(of: Which, settings: Extract<ControlRequest, { op: 'settings' }>['settings']): Promise<boolean> {
    const normal = { stateIds: true, reorderAnswers: 0, answerDelay: { kind: 'constant', ms: 0 } } as const;
    const undo = async (): Promise<void> => void (await this.#ask({ op: 'settings', of, settings: normal }));
    if (!this.#take(`settings ${nameOf(of)}`, MAX_STEPS, undo)) return false;
    return await this.#ask({ op: 'settings', of, settings });
  }

  async #start(which: Which, to: 'standby' | 'observer'): Promise<void> {
    await this.#ask({ op: 'start', ...which });
    if (to === 'observer') await this.#ask({ op: 'transition', to, ...which });
  }

  /** False: the simulator says that it is not possible as things are. */
  async #ask(request: ControlRequest): Promise<boolean> {
    try {
      await this.#deployment.simulator.control(request);
      return true;
    } catch (error) {
      if (error instanceof ControlError) return false;
      throw error;
    }
  }

  async #active(nameservice: string): Promise<Which> {
    const status = await this.#deployment.simulator.control({ op: 'status' });
    const active = status.find((one) => one.nameservice === nameservice && one.state === 'active' && !one.fenced);
    return { nameservice, namenode: active?.namenode ?? NAMENODES[0] };
  }

  #namenodes(nameservice: string): Which[] {
    const { namenodes } = this.#deployment.simulator.nameservices.find(({ id }) => id === nameservice)!;
    return namenodes.map(({ id }) => ({ nameservice, namenode: id }));
  }

  #anyNamenode(nameservice: string): Which {
    const all = this.#namenodes(nameservice);
    return all[this.#random.nextBelow(all.length)]!;
  }

  #anyObserver(nameservice: string): Which {
    const observers = this.#namenodes(nameservice).slice(NAMENODES.length);
    return observers[this.#random.nextBelow(observers.length)]!;
  }
}

function nameOf({ nameservice, namenode }: Which): string {
  return `${nameservice} ${namenode}`;
}

function otherThan(namenode: string): string {
  return namenode === NAMENODES[0] ? NAMENODES[1] : NAMENODES[0];
}
