import { allocateShared, type SharedBytes } from '../../shared/epochs.ts';
import type { Topology } from '../../shared/settings.ts';
import { Demand, demandBytes } from './demand.ts';
import { Figures, figuresBytes } from './figures.ts';

/** What all threads share of admission; made by the main thread. */
export interface AdmissionMemory {
  readonly demand: SharedBytes;
  readonly figures: SharedBytes;
  /** Threads that admit calls. */
  readonly workers: number;
}

/** `threads`: all of the router; `workers`: those of them with an engine. */
export function createAdmissionMemory({ nameservices }: Topology, threads: number, workers: number): AdmissionMemory {
  return {
    demand: allocateShared(demandBytes(threads, nameservices.length)),
    figures: allocateShared(figuresBytes(threads, nameservices.length)),
    workers,
  };
}

/** One thread's view of it. */
export interface AdmissionWords {
  readonly demand: Demand;
  readonly figures: Figures;
  readonly workers: number;
}

export function openAdmissionMemory(
  { demand, figures, workers }: AdmissionMemory,
  { nameservices }: Topology,
  thread: number,
): AdmissionWords {
  const { length } = nameservices;
  return { demand: new Demand(demand, thread, length), figures: new Figures(figures, thread, length), workers };
}
