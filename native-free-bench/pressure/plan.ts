/** The part of the command line that the benches of faults, abuse and overload have in common. */

import { writeFileSync } from 'node:fs';
import type { ParseArgsOptionsConfig } from 'node:util';
import { JAVA_HEAP_GIB } from '../against/java-router.ts';
import { type Arguments, readNames, readNumber, refuse } from '../harness/arguments.ts';
import { type CoreSplit, describeMachine, type Machine, readMachine, splitCores, toJson } from '../harness/machine.ts';
import { readAvailableMemoryBytes } from '../harness/process-meter.ts';
import { DIRECT, isJava, PEERS, type Peer } from './peers.ts';

export const COMMON_OPTIONS: ParseArgsOptionsConfig = {
  peers: { type: 'string' },
  'java-warmup': { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  markdown: { type: 'string' },
};

export interface CommonPlan {
  /** `peers` has the direct connection too. */
  readonly hasDirect: boolean;
  readonly peers: readonly Peer[];
  readonly quick: boolean;
  readonly javaWarmupSeconds: number;
  readonly cores: CoreSplit;
  readonly machine: Machine;
}

const GIB = 1 << 30;
const JAVA_OTHER_GIB = 0.5;
const OTHERS_GIB = 2;

/** Ends the program when this machine cannot do it. `mayBeDirect`: the direct connection can stand among the peers. */
export function readCommonPlan(values: Arguments, mayBeDirect: boolean): CommonPlan {
  const named = readNames(values, 'peers', mayBeDirect ? [DIRECT, ...PEERS] : PEERS);
  const peers = named.filter((name) => name !== DIRECT);
  const quick = values['quick'] === true;
  const needed = peers.filter(isJava).length * (JAVA_HEAP_GIB + JAVA_OTHER_GIB) + OTHERS_GIB;
  const available = readAvailableMemoryBytes() / GIB;
  if (available < needed) {
    refuse(
      `${needed} GiB of memory are needed, ${available.toFixed(1)} GiB are free: each Java Router has a heap of ${JAVA_HEAP_GIB} GiB; ` +
        'leave them out with --peers ring,inline',
    );
  }
  return {
    hasDirect: named.includes(DIRECT),
    peers,
    quick,
    javaWarmupSeconds: readNumber(values, 'java-warmup', 0, 3_600, quick ? 5 : 60),
    cores: splitCores(),
    machine: readMachine(),
  };
}

export function describePlan({ machine, cores }: CommonPlan): string {
  return `${describeMachine(machine)}; router on core ${cores.peerCores}, load and NameNodes on core ${cores.toolCores}`;
}

/** `result` goes into the JSON as it is, beside the machine. */
export function writeResults(values: Arguments, { machine }: CommonPlan, result: object, markdown: string): void {
  if (typeof values['json'] === 'string') writeFileSync(values['json'], toJson({ machine, ...result }));
  if (typeof values['markdown'] === 'string') writeFileSync(values['markdown'], markdown);
}

export function progress(line: string): void {
  process.stderr.write(`[${(performance.now() / 1_000).toFixed(0).padStart(5)} s] ${line}\n`);
}
