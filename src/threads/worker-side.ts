import { openAdmissionMemory } from '../admission/shared/memory.ts';
import { Engine } from '../call/engine.ts';
import { givenUsage } from '../mount/given-usage.ts';
import { GivenFigures } from '../mount/order/figures.ts';
import { MountSnapshot } from '../mount/snapshot.ts';
import { openObserverMemory } from '../observer/shared/memory.ts';
import { Counters } from '../shared/counters.ts';
import { announceEpoch } from '../shared/epochs.ts';
import type { FromThread, ThreadStart, ToThread } from './messages.ts';

export function startEngine(start: ThreadStart): Engine {
  const note = (text: string): void => start.port.postMessage({ kind: 'note', text } satisfies FromThread);
  const counters = new Counters(start.counters, start.thread);
  const observers = openObserverMemory(start.observers, start.topology, start.thread);
  const admission = openAdmissionMemory(start.admission, start.topology, start.thread);
  return new Engine(start.settings, start.topology, start.control, counters, note, observers, admission);
}

/** What the main thread says to every thread with an engine; false for a message that is not for one. */
export function tellEngine(engine: Engine, start: ThreadStart, message: ToThread): boolean {
  switch (message.kind) {
    case 'snapshot': {
      // Between two events: no call holds the old snapshot. Swapped first, announced after.
      const snapshot = MountSnapshot.from(message.buffer);
      engine.resolver.snapshot = snapshot;
      announceEpoch(start.epochs, start.thread, snapshot.epoch);
      start.port.postMessage({ kind: 'announced' } satisfies FromThread);
      return true;
    }
    case 'block-pools':
      for (const [pool, nameservice] of message.pools) engine.blockPools.set(pool, nameservice);
      return true;
    case 'quota-usage':
      engine.quotaUsage = givenUsage(message.usage);
      return true;
    case 'order-figures':
      engine.figures = new GivenFigures(
        message.data,
        start.topology.nameservices.map(({ id }) => id),
      );
      return true;
    case 'admission-collect':
    case 'admission-merge':
    case 'admission-state': {
      const answer = engine.admission.scheduler?.tell(message) ?? null;
      if (answer !== null) start.port.postMessage(answer satisfies FromThread);
      return true;
    }
    case 'admission':
      engine.refreshAdmission(message.admission);
      return true;
    default:
      return false;
  }
}
