/** The machine of a bench run: what it is, how its cores are divided, and how results are written. */

import { cpus, release } from 'node:os';
import { refuse } from './arguments.ts';
import { readAllowedCores, readDescriptorLimit } from './process-meter.ts';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly kernel: string;
  readonly node: string;
}

export interface CoreSplit {
  /** Core lists as taskset takes them. */
  readonly peerCores: string;
  readonly toolCores: string;
  readonly toolCoreCount: number;
}

/** Sockets of 1,000 clients and as many server connections, in one process. */
const MIN_DESCRIPTORS = 4_096;

export function readMachine(): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: cpus().length,
    kernel: release(),
    node: process.version,
  };
}

export function describeMachine(machine: Machine): string {
  return `${machine.processor}, Linux ${machine.kernel}, Node ${machine.node}`;
}

/** One core for the peer alone, the others for load and NameNode. Ends the program when there is only one. */
export function splitCores(): CoreSplit {
  const cores = readAllowedCores();
  if (cores.length < 2) refuse('two processor cores are needed: one for the peer alone, another for load and NameNode');
  // The kernel likes to serve interrupts on the first core: the load gets it.
  return {
    peerCores: String(cores.at(-1)),
    toolCores: cores.slice(0, -1).join(','),
    toolCoreCount: cores.length - 1,
  };
}

/** Ends the program when the benches' thousand clients would not find enough descriptors. */
export function checkDescriptors(): void {
  if (readDescriptorLimit() >= MIN_DESCRIPTORS) return;
  refuse(
    `the limit of open files is ${readDescriptorLimit()}, at least ${MIN_DESCRIPTORS} are needed: raise it (ulimit -n)`,
  );
}

/** JSON text with numbers of five significant digits. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, (_, item) => (typeof item === 'number' ? Number(item.toPrecision(5)) : item), 2)}\n`;
}
