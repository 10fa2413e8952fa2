/** The table of the micro bench: each operation beside what it took the place of. */

import { describeMachine, type Machine } from '../harness/machine.ts';
import { markdownTable, printTable } from '../harness/table.ts';
import type { Subject } from './subject.ts';

/** Of batches, divided by the operations in each. */
export interface OperationResult {
  readonly name: string;
  readonly medianNs: number;
  readonly p99Ns: number;
  readonly operations: number;
}

export interface Comparison {
  readonly operation: string;
  readonly medianNs: number;
  readonly p99Ns: number;
  /** Null: there is nothing to compare it with. */
  readonly alternative: string | null;
  readonly alternativeNs: number | null;
  /** Alternative through operation. */
  readonly factor: number | null;
}

export function compare(subjects: readonly Subject[], results: readonly OperationResult[]): Comparison[] {
  const byName = new Map(results.map((result) => [result.name, result]));
  return subjects.map(({ name, alternative }) => {
    const own = byName.get(name) as OperationResult;
    const other = alternative === undefined ? null : (byName.get(alternative.name) as OperationResult);
    return {
      operation: name,
      medianNs: own.medianNs,
      p99Ns: own.p99Ns,
      alternative: other?.name ?? null,
      alternativeNs: other?.medianNs ?? null,
      factor: other === null ? null : Math.round((other.medianNs / own.medianNs) * 100) / 100,
    };
  });
}

const HEADINGS = ['operation', 'ns', 'p99 ns', 'alternative', 'ns', 'factor'];

export function printReport(machine: Machine, operationMs: number, comparisons: readonly Comparison[]): string {
  return `${describe(machine, operationMs)}\n\n${printTable(HEADINGS, comparisons.map(rowOf))}\n`;
}

export function markdownReport(machine: Machine, operationMs: number, comparisons: readonly Comparison[]): string {
  return `# Single operations\n\n${describe(machine, operationMs)}.\n\n${markdownTable(HEADINGS, comparisons.map(rowOf))}\n`;
}

function describe(machine: Machine, operationMs: number): string {
  return (
    `${describeMachine(machine)}; ${operationMs} ms for each operation; median and p99 of batches, per operation; ` +
    'factor: alternative through operation'
  );
}

function rowOf(comparison: Comparison): string[] {
  const { operation, medianNs, p99Ns, alternative, alternativeNs, factor } = comparison;
  return [
    operation,
    medianNs.toFixed(1),
    p99Ns.toFixed(1),
    alternative ?? '–',
    alternativeNs?.toFixed(1) ?? '–',
    factor?.toFixed(factor < 10 ? 2 : 1) ?? '–',
  ];
}
