import { afterEach, describe, expect, it, vi } from 'vitest';
import { Attempts } from '../../src/call/attempts.ts';
import { Outgoing } from '../../src/call/outgoing.ts';
import type * as Msync from '../../src/composed/everywhere/msync.ts';
import type * as Rules from '../../src/observer/rules.ts';
import { StateWords } from '../../src/observer/shared/state-words.ts';
import type * as States from '../../src/wire/federated-state.ts';
import type { Rule } from '../support/history/report.ts';
import { run } from '../support/history/run.ts';
import { Scene, type SceneOptions } from '../support/history/scene.ts';
import * as scenes from '../support/history/scenes.ts';

/*
 * The proof of the checker, and of the rules: with one rule of the router switched off, the scene that the rule is for breaks what clients rely on,
 * and the checker finds it. Rules that keep load and waits down do not show in a history; for those, the number that they keep down is looked at.
 *
 * Without a place here, because clients would see nothing of it but waits:
 *
 *   what is known is only raised, by compare-exchange     a lost raise sends reads to the active
 *   state ids out of range, entries that cannot be read   count as none: such reads go to the active
 *   answers to what was asked in an earlier epoch         would raise what is known too far: as floors that nobody has reached
 *   methods that observers do not serve                   an observer refuses them, and they go to the active
 *   patience, holds and probes of observers               who waits for an observer waits longer
 *   nameservices of a call always stand in its answer     a client without a floor reads from the active
 */

const planted = vi.hoisted(() => ({
  rules: {} as Partial<Pick<typeof Rules, 'wayOf' | 'exposed' | 'afterAnswer' | 'isOlder'>>,
  findStateId: null as null | ((real: typeof States.findStateId) => typeof States.findStateId),
  forgetsMsync: false,
}));

vi.mock('../../src/observer/rules.ts', async (importOriginal) => {
  const real = await importOriginal<typeof Rules>();
  const replaced: Partial<typeof Rules> = {
    wayOf: (...args) => (planted.rules.wayOf ?? real.wayOf)(...args),
    exposed: (...args) => (planted.rules.exposed ?? real.exposed)(...args),
    afterAnswer: (...args) => (planted.rules.afterAnswer ?? real.afterAnswer)(...args),
    isOlder: (...args) => (planted.rules.isOlder ?? real.isOlder)(...args),
  };
  return { ...real, ...replaced };
});

vi.mock('../../src/wire/federated-state.ts', async (importOriginal) => {
  const real = await importOriginal<typeof States>();
  const findStateId: typeof States.findStateId = (...args) =>
    (planted.findStateId?.(real.findStateId) ?? real.findStateId)(...args);
  return { ...real, findStateId };
});

vi.mock('../../src/composed/everywhere/msync.ts', async (importOriginal) => {
  const { answerMsync } = await importOriginal<typeof Msync>();
  const replaced: typeof answerMsync = (engine, call) => {
    if (planted.forgetsMsync) engine.succeed(call, Buffer.alloc(0));
    else answerMsync(engine, call);
  };
  return { answerMsync: replaced };
});

const real = await vi.importActual<typeof Rules>('../../src/observer/rules.ts');

afterEach(() => {
  planted.rules = {};
  planted.findStateId = null;
  planted.forgetsMsync = false;
  vi.restoreAllMocks();
});

/** What is switched off, the scene that needs it, and what the checker finds then. */
interface Fault {
  readonly rule: string;
  readonly plant: () => void;
  readonly play: (scene: Scene) => Promise<void>;
  readonly options?: SceneOptions;
  readonly finds: Rule;
  /** It shows in a random run with lagging observers too. */
  readonly showsInRun?: true;
  /** Share of msyncs in that run, where few would show it seldom. */
  readonly msyncs?: number;
}

const { FRESH_MS, LONG_PATIENCE, SHORT_REFRESH, SLOW_REFRESH } = scenes;
const MOST_OPERATIONS = 20_000;

const FAULTS: readonly Fault[] = [
  {
    rule: 'the floor is that of each call, not the first one of its nameservice',
    plant: () => {
      let first: readonly [high: number, low: number] | null = null;
      planted.findStateId = (find) => (buffer, start, end, nameservice, into) => {
        const isFound = find(buffer, start, end, nameservice, into);
        if (isFound) first ??= [into.high, into.low];
        if (first !== null) [into.high, into.low] = first;
        return isFound;
      };
    },
    play: scenes.writeAndRead,
    finds: 'read-your-writes',
    showsInRun: true,
  },
  {
    rule: 'the floor is that of the call’s own client, not of the client before',
    plant: () => {
      let before: readonly [high: number, low: number] | null = null;
      planted.findStateId = (find) => (buffer, start, end, nameservice, into) => {
        const isFound = find(buffer, start, end, nameservice, into);
        const own = [into.high, into.low] as const;
        if (isFound && before !== null) [into.high, into.low] = before;
        before = own;
        return isFound;
      };
    },
    play: scenes.writeAndRead,
    finds: 'read-your-writes',
    showsInRun: true,
  },
  {
    rule: 'the observer gets the floor as the state id of the call',
    plant: () => {
      const prepare = Outgoing.prototype.prepare;
      vi.spyOn(Outgoing.prototype, 'prepare').mockImplementation(function (this: Outgoing, call) {
        const splice = prepare.call(this, call);
        splice.stateIdHigh = 0;
        splice.stateIdLow = 0;
        return splice;
      });
      // Else the answer would be seen to be older than the floor.
      planted.rules.isOlder = () => false;
    },
    play: scenes.readTwice,
    finds: 'monotonic reads',
    showsInRun: true,
  },
  {
    rule: 'the client is told the state that its write has brought',
    plant: () => {
      planted.rules.exposed = (now, proof, ...rest) =>
        proof === real.Proof.ACTIVE ? 0 : real.exposed(now, proof, ...rest);
    },
    play: scenes.writeAndRead,
    finds: 'read-your-writes',
    showsInRun: true,
  },
  {
    rule: 'the client is told the state that it has read',
    plant: () => {
      planted.rules.exposed = (now, proof, ...rest) =>
        proof === real.Proof.READ ? 0 : real.exposed(now, proof, ...rest);
    },
    play: scenes.readTwice,
    finds: 'monotonic reads',
    showsInRun: true,
  },
  {
    rule: 'a read without a floor goes to the active',
    plant: () => {
      planted.rules.wayOf = (now, floor, isFresh) => real.wayOf(now, Math.max(floor, 0), isFresh);
    },
    play: scenes.readPlain,
    finds: 'plain read',
    showsInRun: true,
  },
  {
    rule: 'observers are asked only when the active was heard of within the refresh period',
    plant: () => {
      planted.rules.wayOf = (now, floor) => real.wayOf(now, floor, true);
    },
    play: scenes.readOnAndOn,
    options: { keys: SHORT_REFRESH, freshMs: FRESH_MS },
    finds: 'bounded staleness',
  },
  {
    rule: 'who reads at observers is told what the active was heard to have reached',
    plant: () => {
      planted.rules.exposed = (now, proof, served, floor) => real.exposed(now, proof, served, floor, real.NO_TXID);
    },
    play: scenes.readOnAndOn,
    options: { keys: SHORT_REFRESH, freshMs: FRESH_MS },
    finds: 'bounded staleness',
  },
  {
    rule: 'an answer of the active without a state id makes the state unknown, it is not 0',
    plant: () => {
      planted.rules.afterAnswer = (now, answer, next) =>
        answer.txid !== real.NO_TXID && real.afterAnswer(now, answer, next);
    },
    play: scenes.activeWithoutStateIds,
    finds: 'read-your-writes',
  },
  {
    rule: 'an observer that tells no state id has not answered',
    plant: () => {
      planted.rules.isOlder = (proof, served, floor) =>
        proof !== real.Proof.OBSERVER && real.isOlder(proof, served, floor);
    },
    play: scenes.observerWithoutStateIds,
    finds: 'read-your-writes',
  },
  {
    rule: 'an active that has not reached the floor has not answered',
    plant: () => {
      planted.rules.isOlder = (proof, served, floor) => proof !== real.Proof.READ && real.isOlder(proof, served, floor);
    },
    play: scenes.fencedActive,
    finds: 'read-your-writes',
  },
  {
    rule: 'an observer that was not asked as one does not answer without a state id',
    plant: () => {
      vi.spyOn(Attempts.prototype, 'isByObserver').mockReturnValue(false);
    },
    play: scenes.nobodyActive,
    finds: 'plain read',
  },
  {
    rule: 'msync asks the active',
    plant: () => {
      planted.forgetsMsync = true;
    },
    play: scenes.msyncAndRead,
    finds: 'msync',
    showsInRun: true,
    msyncs: 0.03,
  },
];

describe('without the rule that', () => {
  for (const { rule, plant, play, options = {}, finds } of FAULTS) {
    it(`${rule}: ${finds}`, async () => {
      await using scene = await Scene.start({ keys: LONG_PATIENCE, ...options });
      plant();
      await play(scene);
      expect(scene.report.countOf(finds), scene.report.text).toBeGreaterThan(0);
    });
  }
});

describe('in a random run without the rule that', () => {
  for (const { rule, plant, msyncs } of FAULTS.filter(({ showsInRun }) => showsInRun)) {
    it(rule, async () => {
      plant();
      const { report } = await run({
        seed: 1,
        operations: MOST_OPERATIONS,
        mischief: ['lag', 'pauseTailing'],
        endsAt: 1,
        ...(msyncs === undefined ? {} : { msyncs }),
      });
      expect(report.count, report.summary).toBeGreaterThan(0);
    });
  }
});

/** What is switched off, and the number that the rule keeps down. */
interface Burden {
  readonly rule: string;
  readonly plant: () => void;
  readonly play: (scene: Scene) => Promise<number>;
  readonly keys?: Readonly<Record<string, string>>;
  readonly most: number;
}

const BURDENS: readonly Burden[] = [
  {
    rule: 'the state of an answer is known before the answer goes out: the next read may go to an observer',
    plant: () => {
      const merge = StateWords.prototype.merge;
      let late = (): unknown => undefined;
      vi.spyOn(StateWords.prototype, 'merge').mockImplementation(function (this: StateWords, ...args) {
        const [nameservice, answer, ...rest] = args;
        late();
        const copy = Object.assign(new real.Answer(), answer);
        late = () => merge.call(this, nameservice, copy, ...rest);
        return false;
      });
    },
    play: scenes.readsAtActive,
    most: 0,
  },
  {
    rule: 'a floor above what is known goes to the active: no observer waits for what may never be',
    plant: () => {
      planted.rules.wayOf = (now, floor, isFresh) => real.wayOf(now, Math.min(floor, now.txid), isFresh);
    },
    play: scenes.waitsForMadeUpState,
    most: 0,
  },
  {
    rule: 'a new active that is behind begins a new epoch: nobody waits for what was never written',
    plant: () => {
      planted.rules.afterAnswer = (now, answer, next) => answer.txid > now.txid && real.afterAnswer(now, answer, next);
    },
    play: scenes.waitsForUnwritten,
    most: 0,
  },
  {
    rule: 'only observers get a state id: a standby would keep the call',
    plant: () => {
      const prepare = Outgoing.prototype.prepare;
      vi.spyOn(Outgoing.prototype, 'prepare').mockImplementation(function (this: Outgoing, call) {
        const splice = prepare.call(this, call);
        splice.stateIdPresent = call.floor >= 0;
        splice.stateIdHigh = Math.floor(call.floor / 2 ** 32);
        splice.stateIdLow = call.floor | 0;
        return splice;
      });
    },
    play: scenes.waitsAtStandby,
    most: 0,
  },
  {
    rule: 'one msync at a time',
    plant: () => {
      vi.spyOn(StateWords.prototype, 'claimRefresh').mockReturnValue(true);
    },
    play: scenes.msyncsOfBurst,
    keys: SLOW_REFRESH,
    most: 1,
  },
];

describe('what a history does not show:', () => {
  for (const { rule, plant, play, keys = LONG_PATIENCE, most } of BURDENS) {
    it(rule, async () => {
      {
        await using scene = await Scene.start({ keys });
        expect(await play(scene), 'with the rule').toBeLessThanOrEqual(most);
      }
      await using scene = await Scene.start({ keys });
      plant();
      expect(await play(scene), 'without it').toBeGreaterThan(most);
      expect(scene.report.count, scene.report.text).toBe(0);
    });
  }
});
