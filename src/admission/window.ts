import type { WindowSettings } from '../shared/settings.ts';
import { LANES, laneLimit } from './lanes.ts';

/** Where a window begins, within its bounds. */
const FIRST_LIMIT = 256;
/** The round trip of cheap reads is judged over so long, and by so many of them at least. */
const PERIOD_MS = 100;
const MIN_SAMPLES = 8;
/** The shortest round trip is that of the last one to two of these. */
const MEMORY_MS = 30_000;
/** A NameNode is busy when its cheap reads take so many times the shortest round trip, and so much longer than it. */
const BUSY_FACTOR = 3;
const BUSY_MS = 10;
/** Of the window, what it gives up at most and takes at most in one period. */
const SHRINK = 0.7;
const GROW = 1.25;
/** After it has shrunk without any effect on the round trip it does not try that again for so long. */
const HOLD_MS = 5_000;

/**
 * How many calls of one nameservice may be in flight from this worker, between a floor and a ceiling, by the round trip of its cheapest reads:
 * calls that take long by themselves (summaries, listings) say nothing about how busy a NameNode is. It moves only while calls wait for it:
 *
 *   cheap reads are quick                              it grows
 *   they take much longer than at best                 it shrinks: fewer calls at once wait less in the NameNode, which does as many as before
 *   they do not get quicker by that                    it takes back what it gave up, and holds: what they wait for is not the calls from here
 *                                                      (a long lock, a collection of garbage, a machine without time for it)
 *
 * Without cheap reads it stays.
 */
export class Window {
  /** Calls; of each lane too. */
  limit = 0;
  readonly laneLimits = new Int32Array(LANES);
  #settings: WindowSettings;
  /** This worker's part of floor and ceiling. */
  #share = 1;
  #exact: number;
  /** Calls had to wait since the last period. */
  #wanted = false;
  #samples = 0;
  #sumMs = 0;
  #sinceMs = 0;
  /** Shortest round trip in this MEMORY_MS and in the one before. */
  #shortestMs = Number.POSITIVE_INFINITY;
  #shortestBeforeMs = Number.POSITIVE_INFINITY;
  #memorySinceMs = 0;
  /** Before it has shrunk, 0 when it has not lately: how large it was, and the mean round trip then. */
  #shrunkFrom = 0;
  #shrunkAtMs = 0;
  /** What comes back before was sent into the larger window, and says nothing about the smaller one. */
  #deafUntilMs = 0;
  #holdUntilMs = 0;

  constructor(settings: WindowSettings) {
    this.#settings = settings;
    this.#exact = FIRST_LIMIT;
    this.#set(this.#exact);
  }

  /** Other bounds; what it has learned stays. */
  set settings(settings: WindowSettings) {
    this.#settings = settings;
    this.#set(this.#exact);
  }

  /** The part of the router's window that is this worker's, above 0 and at most 1. */
  set share(share: number) {
    if (share === this.#share) return;
    this.#exact *= share / this.#share;
    this.#share = share;
    this.#shrunkFrom = 0;
    this.#set(this.#exact);
  }

  /** A call has found no room. */
  noteWanted(): void {
    this.#wanted = true;
  }

  /** A cheap read has come back after `ms`. */
  sample(ms: number, nowMs: number): void {
    if (ms < this.#shortestMs) this.#shortestMs = ms;
    if (nowMs < this.#deafUntilMs) return;
    this.#samples++;
    this.#sumMs += ms;
    if (this.#samples >= MIN_SAMPLES && nowMs - this.#sinceMs >= PERIOD_MS) this.#judge(nowMs);
  }

  #judge(nowMs: number): void {
    const mean = this.#sumMs / this.#samples;
    const shortest = Math.min(this.#shortestMs, this.#shortestBeforeMs);
    const busy = Math.max(shortest * BUSY_FACTOR, shortest + BUSY_MS);
    if (mean <= busy) this.#shrunkFrom = 0;
    if (this.#wanted) {
      if (mean <= busy) this.#set(this.#exact * GROW);
      else this.#onBusy(mean, busy, nowMs);
    }
    this.#wanted = false;
    this.#samples = 0;
    this.#sumMs = 0;
    this.#sinceMs = nowMs;
    if (nowMs - this.#memorySinceMs < MEMORY_MS) return;
    this.#memorySinceMs = nowMs;
    this.#shortestBeforeMs = this.#shortestMs;
    this.#shortestMs = Number.POSITIVE_INFINITY;
  }

  #onBusy(mean: number, busy: number, nowMs: number): void {
    const from = this.#shrunkFrom;
    // In proportion it would be limit / from of what it was; half of that is a sign that it helps.
    if (from > 0 && mean > (this.#shrunkAtMs * (1 + this.#exact / from)) / 2) {
      this.#set(from);
      this.#shrunkFrom = 0;
      this.#holdUntilMs = nowMs + HOLD_MS;
      return;
    }
    if (nowMs < this.#holdUntilMs) return;
    const before = this.#exact;
    this.#set(before * Math.max(SHRINK, busy / mean));
    if (this.#exact === before) return;
    this.#shrunkFrom = before;
    this.#shrunkAtMs = mean;
    this.#deafUntilMs = nowMs + 2 * mean;
  }

  #set(limit: number): void {
    const { floor, ceiling } = this.#settings;
    this.#exact = Math.min(Math.max(limit, floor * this.#share), ceiling * this.#share);
    this.limit = Math.max(1, Math.round(this.#exact));
    for (let lane = 0; lane < LANES; lane++) this.laneLimits[lane] = laneLimit(lane, this.limit);
  }
}
