/** Under what conditions a result was measured, and what it means when two results do not share them. */

import type { JsonPlace } from './json-place.ts';

/** Name of a condition as it is printed, and what a difference means. */
interface ConditionKind {
  readonly label: string;
  readonly group: 'machine' | 'effort' | 'rates';
}

const KINDS = {
  processor: { label: 'processor', group: 'machine' },
  cores: { label: 'number of cores', group: 'machine' },
  kernel: { label: 'kernel', group: 'machine' },
  node: { label: 'Node', group: 'machine' },
  handoff: { label: 'hand-off', group: 'machine' },
  namenode: { label: 'NameNode', group: 'machine' },
  haproxy: { label: 'HAProxy', group: 'machine' },
  java: { label: 'Java', group: 'machine' },
  rounds: { label: 'number of rounds', group: 'effort' },
  seconds: { label: 'seconds of a round', group: 'effort' },
  operationMs: { label: 'time for each operation in ms', group: 'effort' },
  javaWarmupSeconds: { label: 'seconds of warm-up of the Java Routers', group: 'effort' },
  rates: { label: 'fixed rates in calls/s', group: 'rates' },
} as const satisfies Readonly<Record<string, ConditionKind>>;

type ConditionName = keyof typeof KINDS;

/** As the result file says it; '' where it does not. */
export type Conditions = Readonly<Record<ConditionName, string>>;

const NAMES = Object.keys(KINDS) as readonly ConditionName[];
const CONSEQUENCES: Readonly<Record<ConditionKind['group'], string>> = {
  machine: 'so "fresh / baseline" compares two conditions too; ratios to peers of the same run suffer less',
  effort: 'so the shorter of the two runs (--quick is one) is less sure, and less of it was warm: measure both alike',
  rates: 'so figures at fixed rates belong to two loads; only their ratios to peers can be compared',
};

/** `rates`: what the reader of the bench has found. */
export function readConditions(whole: JsonPlace, rates: readonly string[]): Conditions {
  const machine = whole.optional('machine') ?? whole;
  const versions = whole.optional('versions');
  return {
    processor: word(machine, 'processor'),
    cores: word(machine, 'cores'),
    kernel: word(machine, 'kernel'),
    node: word(machine, 'node'),
    handoff: word(whole, 'handoff'),
    namenode: word(whole, 'backend'),
    haproxy: versions === null ? word(whole, 'peer') : word(versions, 'haproxy'),
    java: versions === null ? '' : word(versions, 'java'),
    rounds: word(whole, 'rounds'),
    seconds: word(whole, 'seconds'),
    operationMs: word(whole, 'operationMs'),
    javaWarmupSeconds: word(whole, 'javaWarmupSeconds'),
    rates: rates.join(', '),
  };
}

/** A warning for each condition that the two runs do not share, and after each kind of them what that means. */
export function describeDifferences(baseline: Conditions, fresh: Conditions): string[] {
  const lines: string[] = [];
  for (const group of Object.keys(CONSEQUENCES) as ConditionKind['group'][]) {
    const different = NAMES.filter((name) => KINDS[name].group === group && baseline[name] !== fresh[name]);
    if (different.length === 0) continue;
    for (const name of different) {
      const [before, now] = [baseline[name] || 'not named', fresh[name] || 'not named'];
      lines.push(`warning: different ${KINDS[name].label}: baseline ${before}, fresh ${now}`);
    }
    lines.push(CONSEQUENCES[group]);
  }
  return lines;
}

/** One line about the machine and how long was measured. */
export function describeConditions(conditions: Conditions): string {
  const { processor, cores, kernel, node, handoff, namenode, rounds, seconds, operationMs } = conditions;
  const parts = [
    processor || 'processor not named',
    cores === '' ? '' : `${cores} cores`,
    kernel === '' ? '' : `Linux ${kernel}`,
    `Node ${node || 'not named'}`,
    handoff === '' ? '' : `hand-off ${handoff}`,
    namenode === '' ? '' : `NameNode: ${namenode}`,
    rounds === '' ? '' : `${rounds} ${rounds === '1' ? 'round' : 'rounds'} of ${seconds || '?'} s`,
    operationMs === '' ? '' : `${operationMs} ms for each operation`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function word(place: JsonPlace, name: string): string {
  const found = place.optional(name);
  return found === null ? '' : String(found.value);
}
