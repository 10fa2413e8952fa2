import { afterAll, describe, expect, it } from 'vitest';
import * as real from '../../src/observer/rules.ts';
import { type Answer, NO_NAMENODE, NO_TXID, Proof, type State, Way } from '../../src/observer/rules.ts';
import { explore } from '../support/observer-model/explore.ts';
import type { Rules } from '../support/observer-model/steps.ts';
import { Kind, type Scenario } from '../support/observer-model/world.ts';

/*
 * The rules of reads from observers, with two clients, two routers, two NameNodes that may be active and two observers: everything that can
 * happen within the bounds of a scenario is visited, in every order. What must hold stands in support/observer-model/steps.ts.
 *
 * Not here, because the rules say nothing of it: whom a router believes to be active, patience, holds, one msync at a time (I6, I7, I9, I11).
 */

const LIMIT_MS = 300_000;
const READS = [Kind.READ];
const WRITES = [Kind.WRITE];
const CHANGES = [Kind.READ, Kind.WRITE];
const ALL_KINDS = [Kind.READ, Kind.WRITE, Kind.MSYNC];

const SCENARIOS = {
  calm: { operations: [2, 2], kinds: [ALL_KINDS, ALL_KINDS], second: 'federated', budget: {} },
  refreshes: {
    operations: [2, 1],
    kinds: [ALL_KINDS, ALL_KINDS],
    second: 'federated',
    budget: { EXPIRIES: 2, LOSSES: 1 },
  },
  restart: {
    operations: [2, 1],
    kinds: [CHANGES, CHANGES],
    second: 'federated',
    budget: { RESTARTS: 1, ABANDONED: 1, LOSSES: 1 },
  },
  failover: {
    operations: [2, 1],
    kinds: [ALL_KINDS, ALL_KINDS],
    second: 'federated',
    budget: { FAILOVERS: 1, UNSYNCED: 1 },
  },
  lateAnswers: {
    operations: [1, 1],
    kinds: [ALL_KINDS, ALL_KINDS],
    second: 'federated',
    budget: { FAILOVERS: 2, RESTARTS: 1, UNSYNCED: 1, ABANDONED: 1 },
    tells: true,
  },
  stateIdsOff: { operations: [3, 1], kinds: [CHANGES, CHANGES], second: 'federated', budget: { STATE_IDS_OFF: 1 } },
  stateIdsOffAfter: {
    operations: [3, 1],
    kinds: [READS, WRITES],
    second: 'federated',
    budget: { STATE_IDS_OFF: 1, FAILOVERS: 1 },
  },
  observersWithout: {
    operations: [2, 2],
    kinds: [CHANGES, CHANGES],
    second: 'federated',
    budget: {},
    observersWithoutStateIds: true,
  },
  plain: { operations: [2, 1], kinds: [CHANGES, CHANGES], second: 'plain', budget: { FAILOVERS: 1 } },
  hostile: { operations: [1, 2], kinds: [CHANGES, CHANGES], second: 'hostile', budget: { FAILOVERS: 1 } },
} satisfies Record<string, Scenario>;
type Name = keyof typeof SCENARIOS;
const NAMES = Object.keys(SCENARIOS) as Name[];

const lines: string[] = [];
afterAll(() => console.log(lines.join('\n')));

function tell(what: string, states: number, steps: number, startedMs: number): void {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  lines.push(`${what}: ${states.toLocaleString('en')} states, ${steps.toLocaleString('en')} steps, ${seconds} s`);
}

describe('the rules hold', () => {
  it.each(NAMES)(
    'in all that can happen: %s',
    (name) => {
      const startedMs = performance.now();
      const { states, steps, broken } = explore(SCENARIOS[name], real);
      tell(name, states, steps, startedMs);
      expect(broken).toBeNull();
      expect(states).toBeGreaterThan(50_000);
    },
    LIMIT_MS,
  );
});

/** The real rules with one of them changed. */
function changed(changes: Partial<Rules>): Rules {
  return { ...real, ...changes };
}

/** `afterAnswer` for an answer that was changed before. */
function withAnswer(change: (answer: Answer, now: State) => void): Partial<Rules> {
  return {
    afterAnswer: (now, answer, next) => {
      const other = { ...answer };
      change(other, now);
      return real.afterAnswer(now, other, next);
    },
  };
}

/** `afterAnswer` whose result is changed. */
function withNext(change: (next: State, now: State, answer: Answer) => boolean): Partial<Rules> {
  return { afterAnswer: (now, answer, next) => real.afterAnswer(now, answer, next) && change(next, now, answer) };
}

interface Fault {
  readonly rules: Partial<Rules>;
  readonly scenario: Name;
  readonly breaks: string;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'a read without a state id of its client goes to an observer': {
    rules: { wayOf: (now, floor, isFresh) => real.wayOf(now, Math.max(0, floor), isFresh) },
    scenario: 'plain',
    breaks: 'I1/I2',
  },
  'a state id above what is known goes to an observer': {
    rules: { wayOf: (now, floor, isFresh) => real.wayOf(now, Math.min(floor, now.txid), isFresh) },
    scenario: 'hostile',
    breaks: 'I3',
  },
  'observers are asked while nothing is known of the active': {
    rules: {
      wayOf: (now, floor, isFresh) =>
        now.txid === NO_TXID && floor !== NO_TXID && isFresh ? Way.OBSERVER : real.wayOf(now, floor, isFresh),
    },
    scenario: 'stateIdsOff',
    breaks: 'I1/I2',
  },
  'the refresh period is not looked at': {
    rules: { wayOf: (now, floor) => real.wayOf(now, floor, true) },
    scenario: 'refreshes',
    breaks: 'I8',
  },
  'answers to what was sent in an earlier epoch count': {
    rules: withAnswer((answer, now) => {
      answer.sentEpoch = now.epoch;
    }),
    scenario: 'lateAnswers',
    breaks: 'known',
  },
  'an answer without a state id tells nothing': {
    rules: { afterAnswer: (now, answer, next) => answer.txid !== NO_TXID && real.afterAnswer(now, answer, next) },
    scenario: 'stateIdsOff',
    breaks: 'refresh',
  },
  'an answer without a state id tells nothing when it was asked in an earlier epoch': {
    rules: {
      afterAnswer: (now, answer, next) =>
        (answer.txid !== NO_TXID || answer.sentEpoch === now.epoch) && real.afterAnswer(now, answer, next),
    },
    scenario: 'stateIdsOff',
    breaks: 'I1/I2',
  },
  'a read without a state id tells nothing when another NameNode is the proved one': {
    rules: {
      afterAnswer: (now, answer, next) =>
        (answer.txid !== NO_TXID || answer.proof === Proof.ACTIVE || answer.namenode === now.active) &&
        real.afterAnswer(now, answer, next),
    },
    scenario: 'stateIdsOffAfter',
    breaks: 'I1/I2',
  },
  'an answer without a state id tells nothing when nothing is known': {
    rules: {
      afterAnswer: (now, answer, next) =>
        (answer.txid !== NO_TXID || answer.proof === Proof.ACTIVE || now.active !== NO_NAMENODE) &&
        real.afterAnswer(now, answer, next),
    },
    scenario: 'stateIdsOff',
    breaks: 'I1/I2',
  },
  'an answer without a state id is one of state 0': {
    rules: withAnswer((answer) => {
      answer.txid = Math.max(0, answer.txid);
    }),
    scenario: 'stateIdsOff',
    breaks: 'refresh',
  },
  'a new active does not lower what is known': {
    rules: withNext((next, now) => {
      next.txid = Math.max(next.txid, now.txid);
      return true;
    }),
    scenario: 'failover',
    breaks: 'refresh',
  },
  'a new active is taken for the old one': {
    rules: withAnswer((answer, now) => {
      if (now.active !== NO_NAMENODE) answer.namenode = now.active;
    }),
    scenario: 'failover',
    breaks: 'refresh',
  },
  'a new active begins no epoch': {
    rules: withNext((next, now) => {
      next.epoch = now.epoch;
      return true;
    }),
    scenario: 'failover',
    breaks: 'I4',
  },
  'reads of a NameNode that is not the proved one raise what is known': {
    rules: withAnswer((answer, now) => {
      if (answer.proof === Proof.READ && now.active !== NO_NAMENODE) answer.namenode = now.active;
    }),
    scenario: 'failover',
    breaks: 'known',
  },
  'the same active never lowers what is known': {
    rules: withAnswer((answer) => {
      answer.sentAfterRaise = false;
    }),
    scenario: 'restart',
    breaks: 'refresh',
  },
  'answers that overtake each other lower what is known': {
    rules: withAnswer((answer) => {
      answer.sentAfterRaise = true;
    }),
    scenario: 'restart',
    breaks: 'cause',
  },
  'clients are told what is known, not what they were served': {
    rules: {
      exposed: (now, proof, served, floor, told) =>
        proof === Proof.OBSERVER ? real.exposed(now, proof, served, floor, told) : now.txid,
    },
    scenario: 'failover',
    breaks: 'I1',
  },
  'clients are not told what an observer served them': {
    rules: {
      exposed: (now, proof, served, floor, told) =>
        proof === Proof.OBSERVER ? floor : real.exposed(now, proof, served, floor, told),
    },
    scenario: 'calm',
    breaks: 'I1',
  },
  'an observer that tells no state id is believed': {
    rules: { isOlder: (proof, served, floor) => proof !== Proof.OBSERVER && real.isOlder(proof, served, floor) },
    scenario: 'observersWithout',
    breaks: 'I1/I2',
  },
  'a fenced NameNode is believed though it is behind what the client has seen': {
    rules: { isOlder: (proof, served, floor) => proof === Proof.OBSERVER && real.isOlder(proof, served, floor) },
    scenario: 'failover',
    breaks: 'I1/I2',
  },
};

describe('a fault in a rule is found', () => {
  it.each(Object.entries(FAULTS))(
    '%s',
    (name, { rules, scenario, breaks }) => {
      const startedMs = performance.now();
      const { states, steps, broken } = explore(SCENARIOS[scenario], changed(rules));
      tell(`${name} (${scenario}): ${broken?.message} after ${broken?.path.length} steps`, states, steps, startedMs);
      expect(broken?.invariant).toBe(breaks);
    },
    LIMIT_MS,
  );
});

/*
 * What these rules do is not about what clients see: changed, everything holds that is looked at here. They decide how often the active is
 * asked though an observer could answer, and how long reads wait.
 */
const HARMLESS: Readonly<
  Record<string, { readonly rules: Partial<Rules>; readonly scenario: Name; readonly why: string }>
> = {
  'observers do not raise what is known': {
    rules: {
      afterAnswer: (now, answer, next) => answer.proof !== Proof.OBSERVER && real.afterAnswer(now, answer, next),
    },
    scenario: 'refreshes',
    why: 'more floors are above what is known',
  },
  'reads do not raise what is known': {
    rules: { afterAnswer: (now, answer, next) => answer.proof !== Proof.READ && real.afterAnswer(now, answer, next) },
    scenario: 'failover',
    why: 'a router that only serves reads never learns of the active',
  },
  'clients are told all that is known': {
    rules: { exposed: (now, _proof, served, floor) => Math.max(served, floor, now.txid) },
    scenario: 'failover',
    why: 'reads wait at observers for what others wrote',
  },
  'after an observer clients are not told what they brought': {
    rules: { exposed: (now, proof, served, _floor, told) => real.exposed(now, proof, served, NO_TXID, told) },
    scenario: 'refreshes',
    why: 'clients keep the larger of two, and an observer that has answered has reached it',
  },
};

describe('a rule that is not about consistency', () => {
  it.each(Object.entries(HARMLESS))(
    '%s',
    (name, { rules, scenario, why }) => {
      const startedMs = performance.now();
      const { states, steps, broken } = explore(SCENARIOS[scenario], changed(rules));
      tell(`${name} (${scenario}; ${why})`, states, steps, startedMs);
      expect(broken).toBeNull();
    },
    LIMIT_MS,
  );
});
