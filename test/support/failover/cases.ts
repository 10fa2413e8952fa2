import { DeafListener } from '../deaf-listener.ts';
import { Forwarder } from './forwarder.ts';
import { NEW_HOME, OLD_HOME, type Stage } from './stage.ts';

/** How long nobody is active, where that belongs to the case. */
const GAP_MS = 1000;
const FLAPS = 5;
const FLAP_MS = 1000;

/** What happens to a nameservice of two NameNodes, of which nn0 is active and known to be. */
export interface FailoverCase {
  readonly id: string;
  readonly title: string;
  /** Calls `repaired` each time there is something to go to again: time counts from then. */
  harm(stage: Stage, repaired: () => void): Promise<void>;
  /** Afterwards, with nn0 active again. */
  heal(stage: Stage): Promise<void>;
}

type Script = (stage: Stage, id: string, repaired: () => void) => Promise<void>;

/** Things that a case has opened, by its id. */
const opened = new Map<string, AsyncDisposable>();

export const FAILOVER_CASES: readonly FailoverCase[] = [
  makeCase('standby', 'the first has become standby, the second is active', async (stage, id, repaired) => {
    await failOver(stage, id, 'nn1');
    repaired();
  }),
  makeCase('late', 'both are standby for a second, then the second becomes active', async (stage, id, repaired) => {
    await stage.control({ op: 'transition', nameservice: id, namenode: 'nn0', to: 'standby' });
    await pause(GAP_MS);
    await stage.control({ op: 'transition', nameservice: id, namenode: 'nn1', to: 'active' });
    repaired();
  }),
  makeCase(
    'hung',
    'the first hangs: it takes connections and answers nothing',
    async (stage, id, repaired) => {
      await stage.control({ op: 'hang', nameservice: id, namenode: 'nn0', mode: 'process' });
      await failOver(stage, id, 'nn1', true);
      repaired();
    },
    async (stage, id) => {
      await stage.control({ op: 'resume', nameservice: id, namenode: 'nn0' });
      await stage.control({ op: 'restart', nameservice: id, namenode: 'nn0' });
    },
  ),
  makeCase(
    'refused',
    'the first has ended: connections are refused',
    async (stage, id, repaired) => {
      await stage.control({ op: 'stop', nameservice: id, namenode: 'nn0' });
      await stage.control({ op: 'transition', nameservice: id, namenode: 'nn1', to: 'active' });
      repaired();
    },
    async (stage, id) => {
      await stage.control({ op: 'start', nameservice: id, namenode: 'nn0' });
    },
  ),
  makeCase(
    'blackholed',
    'the first is gone from the network: connecting takes for ever',
    async (stage, id, repaired) => {
      await stage.control({ op: 'stop', nameservice: id, namenode: 'nn0' });
      opened.set(id, await DeafListener.listen(stage.namenode({ nameservice: id, namenode: 'nn0' }).port));
      await stage.control({ op: 'transition', nameservice: id, namenode: 'nn1', to: 'active' });
      repaired();
    },
    async (stage, id) => {
      await closeOpened(id);
      await stage.control({ op: 'start', nameservice: id, namenode: 'nn0' });
    },
  ),
  makeCase('flapping', 'the active changes every second', async (stage, id, repaired) => {
    for (let flap = 1; flap <= FLAPS; flap++) {
      await failOver(stage, id, flap % 2 === 1 ? 'nn1' : 'nn0');
      repaired();
      if (flap < FLAPS) await pause(FLAP_MS);
    }
  }),
  makeCase(
    'moved',
    'the host name of the active leads to another address; the old one refuses connections',
    async (stage, id, repaired) => {
      await closeOpened(id);
      stage.moveTo({ nameservice: id, namenode: 'nn0' }, NEW_HOME);
      repaired();
    },
  ),
  makeCase(
    'garbage',
    'the first answers with bytes that are no answer',
    async (stage, id, repaired) => {
      await stage.control({ op: 'garble', nameservice: id, namenode: 'nn0', on: true });
      await failOver(stage, id, 'nn1', true);
      repaired();
    },
    async (stage, id) => {
      await stage.control({ op: 'garble', nameservice: id, namenode: 'nn0', on: false });
      await stage.control({ op: 'restart', nameservice: id, namenode: 'nn0' });
    },
  ),
  makeCase(
    'fenced',
    'the first has lost the journal and does not know: it reads, and closes the connections of who writes',
    async (stage, id, repaired) => {
      await failOver(stage, id, 'nn1', true);
      repaired();
    },
    async (stage, id) => {
      await stage.control({ op: 'restart', nameservice: id, namenode: 'nn0' });
    },
  ),
  makeCase('restarted', 'both end; after a second the first comes back', async (stage, id, repaired) => {
    for (const namenode of ['nn1', 'nn0']) await stage.control({ op: 'stop', nameservice: id, namenode });
    await pause(GAP_MS);
    for (const namenode of ['nn0', 'nn1']) await stage.control({ op: 'start', nameservice: id, namenode });
    await stage.control({ op: 'transition', nameservice: id, namenode: 'nn0', to: 'active' });
    repaired();
  }),
];

/** Their nameservices whose NameNodes have names. */
export const NAMED = ['moved'] as const;

/** Before the first round of a case, and after each. */
export async function prepare(stage: Stage, id: string): Promise<void> {
  if (id !== 'moved') return;
  const nn0 = { nameservice: id, namenode: 'nn0' };
  opened.set(id, await Forwarder.listen(OLD_HOME, stage.namenode(nn0).port));
  stage.moveTo(nn0, OLD_HOME);
}

/** After all rounds. */
export async function closeOpened(id: string): Promise<void> {
  await opened.get(id)?.[Symbol.asyncDispose]();
  opened.delete(id);
}

function makeCase(
  id: string,
  title: string,
  harm: Script,
  undo?: (stage: Stage, id: string) => Promise<void>,
): FailoverCase {
  return {
    id,
    title,
    harm: (stage, repaired) => harm(stage, id, repaired),
    async heal(stage) {
      await undo?.(stage, id);
      await failOver(stage, id, 'nn0');
    },
  };
}

/** `to` becomes active; the other one does not know of it when it is fenced. */
async function failOver(stage: Stage, nameservice: string, to: string, fenced = false): Promise<void> {
  await stage.control({ op: 'failover', nameservice, to, ...(fenced ? { fence: { unsynced: 0 } } : {}) });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
