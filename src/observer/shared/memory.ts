import { allocateShared, type SharedBytes } from '../../shared/epochs.ts';
import type { Settings, Topology } from '../../shared/settings.ts';
import { Figures, figuresBytes } from './figures.ts';
import { StateWords, stateBytes } from './state-words.ts';

/** What all threads share for reads from observers; made by the main thread. */
export interface ObserverMemory {
  readonly state: SharedBytes;
  readonly figures: SharedBytes;
}

/** Null when no nameservice takes part. */
export function createObserverMemory(
  { observers }: Settings,
  { nameservices }: Topology,
  threads: number,
): ObserverMemory | null {
  if (!observers.enabled.includes(true)) return null;
  const state = allocateShared(stateBytes(nameservices.length));
  new StateWords(state, nameservices.length).forgetLags();
  return { state, figures: allocateShared(figuresBytes(threads, nameservices.length)) };
}

/** One thread's view of it. */
export interface ObserverWords {
  readonly state: StateWords;
  readonly figures: Figures;
}

export function openObserverMemory(
  memory: ObserverMemory | null,
  { nameservices }: Topology,
  thread: number,
): ObserverWords | null {
  if (memory === null) return null;
  return {
    state: new StateWords(memory.state, nameservices.length),
    figures: new Figures(memory.figures, thread, nameservices.length),
  };
}
