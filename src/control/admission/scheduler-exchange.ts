import { DecayScheduler, type SchedulerReport } from '../../admission/scheduler/decay-scheduler.ts';
import type { Booked, FromScheduler, ToScheduler } from '../../admission/scheduler/exchanged.ts';
import type { SchedulerSettings } from '../../shared/settings.ts';

/** A worker as the exchange knows it; it is told apart by its index. */
export interface SchedulerPeer {
  readonly index: number;
  tell(message: ToScheduler): void;
}

interface Member {
  readonly peer: SchedulerPeer;
  /** It was asked and has not answered; then it is not asked again. */
  owes: boolean;
  /** There was a sweep since it was asked: it has been told a state in which its answer is not contained. */
  late: boolean;
}

/** An answer that the others have not been told. */
interface News {
  readonly of: Member;
  readonly booked: Booked;
  /** Also the worker itself has to be told: it has forgotten it, for a state without it. */
  readonly forAll: boolean;
}

/**
 * The scheduler of the whole router: what callers cost all workers, and the sweeps. It works in rounds: all workers are asked what they have
 * charged, and when all have answered the others are told; at the end of a period the sweep comes first, and then each gets the whole state.
 * With that all have the same levels. A worker that does not answer is not waited for beyond `giveUp`: its answer counts when it comes, after
 * the sweep rather than before it. No timers here, see shared-scheduler.ts.
 *
 * Bounded by itself: a worker is asked again only after it has answered, and an answer has at most MAX_CALLERS callers.
 */
export class SchedulerExchange {
  /** Number of the settings: what is said about others does not count. */
  readonly generation: number;
  readonly #scheduler: DecayScheduler;
  readonly #members = new Map<number, Member>();
  #news: News[] = [];
  /** Members whose answer ends the round that is open. */
  readonly #awaited = new Set<Member>();
  #sweepsAtEnd = false;
  #open = false;

  constructor(settings: SchedulerSettings, generation: number) {
    this.#scheduler = new DecayScheduler(settings);
    this.generation = generation;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  report(): SchedulerReport {
    return this.#scheduler.report();
  }

  /** A worker has these settings: it has started, maybe in the place of one that died, or was told them. */
  join(peer: SchedulerPeer): void {
    // What the others have not been told yet is in the state that the new one gets.
    this.#tellNews();
    this.leave(peer.index);
    this.#members.set(peer.index, { peer, owes: false, late: false });
    peer.tell(this.#state());
  }

  /** A worker is gone, with what it had charged since it was asked last. */
  leave(index: number): void {
    const member = this.#members.get(index);
    if (member === undefined) return;
    this.#members.delete(index);
    this.#awaited.delete(member);
    this.#endWhenComplete();
  }

  /** Starts a round, unless one is open: then that one ends with the sweep if this one had. */
  collect(sweep: boolean): void {
    this.#sweepsAtEnd ||= sweep;
    if (this.#open) return;
    this.#open = true;
    for (const member of this.#members.values()) {
      if (member.owes) continue;
      member.owes = true;
      member.late = false;
      this.#awaited.add(member);
      member.peer.tell({ kind: 'admission-collect', generation: this.generation });
    }
    this.#endWhenComplete();
  }

  onBooked(index: number, { generation, booked }: FromScheduler): void {
    const member = this.#members.get(index);
    if (member === undefined) return;
    if (generation === this.generation) {
      this.#book(booked);
      if (booked.names.length > 0) this.#news.push({ of: member, booked, forAll: member.late });
    }
    member.owes = false;
    member.late = false;
    this.#awaited.delete(member);
    this.#endWhenComplete();
  }

  /** Ends the round that is open without those who have not answered. */
  giveUp(): void {
    this.#awaited.clear();
    this.#endWhenComplete();
  }

  #endWhenComplete(): void {
    if (!this.#open || this.#awaited.size > 0) return;
    this.#open = false;
    if (!this.#sweepsAtEnd) {
      this.#tellNews();
      return;
    }
    this.#sweepsAtEnd = false;
    this.#scheduler.sweep();
    this.#news = [];
    const state = this.#state();
    for (const member of this.#members.values()) {
      member.late = member.owes;
      member.peer.tell(state);
    }
  }

  #tellNews(): void {
    const news = this.#news;
    this.#news = [];
    if (news.length === 0) return;
    for (const member of this.#members.values()) {
      const booked = news.filter(({ of, forAll }) => forAll || of !== member).map((each) => each.booked);
      if (booked.length > 0) member.peer.tell({ kind: 'admission-merge', generation: this.generation, booked });
    }
  }

  #book({ names, costs, answered, queueMs, processingMs }: Booked): void {
    const scheduler = this.#scheduler;
    names.forEach((name, i) => {
      scheduler.book(scheduler.callerOf(name), costs[i] as number);
    });
    scheduler.responses.add(answered, queueMs, processingMs);
  }

  #state(): ToScheduler {
    return { kind: 'admission-state', generation: this.generation, state: this.#scheduler.state() };
  }
}
