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

/**
 * How many calls of one nameservice may be in flight from this worker, between a floor and a ceiling, by the round trip of its cheapest reads:
 * calls that take long by themselves (summaries, listings) say nothing about how busy a NameNode is. It grows when calls wait for it, and
 * shrinks when cheap reads take much longer than they did at best. Without cheap reads it stays.
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
    this.#set(this.#exact);
  }

  /** A call has found no room. */
  noteWanted(): void {
    this.#wanted = true;
  }

  /** A cheap read has come back after `ms`. */
  sample(ms: number, nowMs: number): void {
    this.#samples++;
    this.#sumMs += ms;
    if (ms < this.#shortestMs) this.#shortestMs = ms;
    if (this.#samples >= MIN_SAMPLES && nowMs - this.#sinceMs >= PERIOD_MS) this.#judge(nowMs);
  }

  #judge(nowMs: number): void {
    const mean = this.#sumMs / this.#samples;
    const shortest = Math.min(this.#shortestMs, this.#shortestBeforeMs);
    const busy = Math.max(shortest * BUSY_FACTOR, shortest + BUSY_MS);
    if (mean > busy) this.#set(this.#exact * Math.max(SHRINK, busy / mean));
    else if (this.#wanted) this.#set(this.#exact * GROW);
    this.#wanted = false;
    this.#samples = 0;
    this.#sumMs = 0;
    this.#sinceMs = nowMs;
    if (nowMs - this.#memorySinceMs < MEMORY_MS) return;
    this.#memorySinceMs = nowMs;
    this.#shortestBeforeMs = this.#shortestMs;
    this.#shortestMs = Number.POSITIVE_INFINITY;
  }

  #set(limit: number): void {
    const { floor, ceiling } = this.#settings;
    this.#exact = Math.min(Math.max(limit, floor * this.#share), ceiling * this.#share);
    this.limit = Math.max(1, Math.round(this.#exact));
    for (let lane = 0; lane < LANES; lane++) this.laneLimits[lane] = laneLimit(lane, this.limit);
  }
}
