import type { DecayScheduler } from './decay-scheduler.ts';

/** It is not in the cache of levels: its level follows from its cost as it is now. */
export const NOT_CACHED = 255;

/** Whose calls are scheduled together: a user, or a caller context. */
export class Caller {
  readonly name: string;
  readonly serviceUser: boolean;
  /** The scheduler in whose table it stands: elsewhere, and when it stands in none any more, it is looked up by its name. */
  listedIn: DecayScheduler | null;
  /** It has been charged since it stands there. */
  booked = false;
  /** What its calls cost, and how much of that counts still. Whole numbers. */
  raw = 0;
  decayed = 0;
  /** Computed by the last sweep, or NOT_CACHED. */
  cachedLevel: number = NOT_CACHED;
  /** Of a worker: it stands in the next report, with this cost. */
  inReport = false;
  unreported = 0;

  constructor(name: string, serviceUser: boolean, listedIn: DecayScheduler) {
    this.name = name;
    this.serviceUser = serviceUser;
    this.listedIn = listedIn;
  }

  /** As if it had never been charged. */
  clear(): void {
    this.booked = false;
    this.raw = 0;
    this.decayed = 0;
    this.cachedLevel = NOT_CACHED;
  }
}
