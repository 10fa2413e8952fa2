import type { History } from './history.ts';

/**
 * - `read-your-writes`: a client did not see what it had written itself
 * - `monotonic reads`: it saw a file older than it had seen it
 * - `writes-follow-reads`: it did not see what comes before something else that it has seen (its own or another's write, of any file of the
 *   nameservice), or wrote before what it had seen
 * - `msync`: after an msync it did not see what was written when it began
 * - `bounded staleness`: it did not see what had been written `freshMs` before its last operation on the nameservice
 * - `plain read`: a client without state did not see all that was written before
 * - `wrong answer`: an answer that belongs to another call or tells what cannot be
 * - `executed twice`: one write, two versions
 * - `one version twice`: two writes were told the same version: the first was lost
 */
export const RULES = [
  'read-your-writes',
  'monotonic reads',
  'writes-follow-reads',
  'msync',
  'bounded staleness',
  'plain read',
  'wrong answer',
  'executed twice',
  'one version twice',
] as const;
export type Rule = (typeof RULES)[number];

/** Violations that are kept with their text; all are counted. */
const MAX_KEPT = 5;
/** Operations of the same client and file before a violation that its text shows. */
const MAX_BEFORE = 3;

export interface Violation {
  readonly rule: Rule;
  /** The operation that broke it. */
  readonly row: number;
  readonly text: string;
}

/** What the checker found. */
export class Report {
  readonly violations: Violation[] = [];
  readonly counts = new Map<Rule, number>();
  reads = 0;
  writes = 0;
  msyncs = 0;
  failed = 0;
  /**
   * Reads of which nothing can be said: they saw what a forgetful nameservice may have forgotten since, or missed something while two NameNodes
   * acted as active.
   */
  excused = 0;
  readonly #history: History;

  constructor(history: History) {
    this.#history = history;
  }

  /** All violations. */
  get count(): number {
    let sum = 0;
    for (const count of this.counts.values()) sum += count;
    return sum;
  }

  countOf(rule: Rule): number {
    return this.counts.get(rule) ?? 0;
  }

  add(rule: Rule, row: number, why: string): void {
    this.counts.set(rule, this.countOf(rule) + 1);
    if (this.violations.length < MAX_KEPT) {
      this.violations.push({ rule, row, text: `${rule}: ${this.#history.describe(row)}; ${why}` });
    }
  }

  /** One line for a test's output. */
  get summary(): string {
    const rules = RULES.flatMap((rule) => (this.countOf(rule) === 0 ? [] : [`${this.countOf(rule)} ${rule}`]));
    const operations = this.reads + this.writes + this.msyncs;
    return (
      `${operations} operations (${this.reads} reads, ${this.writes} writes, ${this.msyncs} msyncs; ${this.failed} more failed), ` +
      `${this.count} violations${rules.length === 0 ? '' : ` (${rules.join(', ')})`}` +
      `${this.excused === 0 ? '' : `, ${this.excused} reads excused`}`
    );
  }

  /** The summary and the violations that are kept, each with what its client did before. */
  get text(): string {
    return [this.summary, ...this.violations.flatMap(({ row, text }) => [text, ...this.#before(row)])].join('\n');
  }

  /** What the same client did last with the file before this operation was invoked. */
  #before(row: number): string[] {
    const { client, file, returnedAt, invokedAt } = this.#history;
    const lines: string[] = [];
    for (let at = row - 1; at >= 0 && lines.length < MAX_BEFORE; at--) {
      if (client[at] !== client[row] || file[at] !== file[row]) continue;
      if (this.#history.hasReturned(at) && returnedAt[at]! < invokedAt[row]!) {
        lines.push(`  before: ${this.#history.describe(at)}`);
      }
    }
    return lines;
  }
}
