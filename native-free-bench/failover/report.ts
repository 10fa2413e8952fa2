import type { Rounds } from '../../test/support/failover/rounds.ts';
import { markdownTable, median, type PrintTable, printTable } from '../harness/table.ts';

const HEADINGS = ['case', 'first ms p50', 'max', 'all ms p50', 'max', 'repairs', 'calls', 'errors'];

export function printReport(results: readonly Rounds[]): string {
  return `${table(printTable, results)}\n\n${legend(results)}`;
}

export function markdownReport(conditions: string, results: readonly Rounds[]): string {
  return `# Failover\n\n${conditions}\n\n${table(markdownTable, results)}\n\n${legend(results)}\n`;
}

function table(print: PrintTable, results: readonly Rounds[]): string {
  return print(HEADINGS, results.map(rowOf));
}

function rowOf({ id, firstMs, allMs, calls, errors }: Rounds): string[] {
  return [
    id,
    median(firstMs).toFixed(0),
    Math.max(...firstMs).toFixed(0),
    median(allMs).toFixed(0),
    Math.max(...allMs).toFixed(0),
    String(firstMs.length),
    String(calls),
    String(errors.length),
  ];
}

/** What each case is, and the first exception that a client saw in it. */
function legend(results: readonly Rounds[]): string {
  return results
    .map(({ id, title, errors }) => `${id}: ${title}${errors.length > 0 ? ` [error: ${errors[0]}]` : ''}`)
    .join('\n');
}
