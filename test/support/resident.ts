import { readFileSync } from 'node:fs';

/** Resident memory of a process in KiB, as the kernel counts it. */
export function residentKib(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (line === null) throw new Error(`no resident size of process ${pid}`);
  return Number(line[1]);
}
