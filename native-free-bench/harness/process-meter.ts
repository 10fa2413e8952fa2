/** What the kernel says about a process: /proc, Linux only. */

import { readFileSync } from 'node:fs';
import { readUsage } from '../../src/load/run/watch.ts';

/** Clock ticks a second in which /proc/stat counts: 100 for user space on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** CPU seconds that all threads of the process have used, in user mode and in the kernel; to 10 ms. */
export function readCpuSeconds(pid: number): number {
  return usageOf(pid).cpuSeconds;
}

/** Seconds since the start of the machine in which the core did something or was taken away from this virtual machine. */
export function readCoreBusySeconds(core: number): number {
  return sumBusySeconds(readFileSync('/proc/stat', 'latin1'), core);
}

/**
 * The same from the text of /proc/stat:
 *
 *   cpuN user nice system idle iowait irq softirq steal guest guest_nice
 *
 * The kernel books interrupts that are served within a process on the process too, so they belong to the time of the core. Guests are part of
 * user and nice.
 */
export function sumBusySeconds(text: string, core: number): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`cpu${core} `));
  if (line === undefined) throw new Error(`core ${core} is not in /proc/stat`);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

/** Resident memory in bytes. */
export function readRssBytes(pid: number): number {
  return usageOf(pid).rssBytes;
}

/** Memory in bytes that new processes of this machine can take without swapping. */
export function readAvailableMemoryBytes(): number {
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'latin1'));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Soft limit of open descriptors of this process, which its children inherit. */
export function readDescriptorLimit(): number {
  const match = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
  return match?.[1] === undefined || match[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(match[1]);
}

/** Numbers of the processor cores that this process may use. */
export function readAllowedCores(): number[] {
  const match = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  const cores: number[] = [];
  for (const range of (match?.[1] ?? '0').split(',')) {
    const [first, last] = range.split('-').map(Number);
    for (let core = first as number; core <= (last ?? (first as number)); core++) cores.push(core);
  }
  return cores;
}

function usageOf(pid: number): { readonly cpuSeconds: number; readonly rssBytes: number } {
  const usage = readUsage(pid);
  if (usage === null) throw new Error(`process ${pid} cannot be measured: it has ended`);
  return usage;
}
