/**
 * Micro bench of the operations of the data path, in ns, against the straightforward alternative that each took the place of.
 *
 *   npm run bench:micro -- [--ms N] [--json FILE] [--markdown FILE]
 */

import { writeFileSync } from 'node:fs';
import { Bench } from 'tinybench';
import { readArguments, readWhole } from '../harness/arguments.ts';
import { readMachine } from '../harness/machine.ts';
import { admissionSubjects } from './admission.ts';
import { callSubjects } from './calls.ts';
import { counterSubjects } from './counters.ts';
import { frameSubjects } from './frames.ts';
import { hopSubjects } from './hops.ts';
import { mountSubjects } from './mounts.ts';
import { observerSubjects } from './observers.ts';
import { recordSubjects } from './records.ts';
import { replySubjects } from './replies.ts';
import { compare, markdownReport, type OperationResult, printReport } from './report.ts';
import { BATCH, expect, type Subject } from './subject.ts';

const NS_PER_MS = 1e6;

const values = readArguments({ ms: { type: 'string' }, json: { type: 'string' }, markdown: { type: 'string' } });
const timeMs = readWhole(values, 'ms', 10, 600_000, 1_000);
const warmupMs = Math.min(300, timeMs);

await using records = recordSubjects();
await using hops = await hopSubjects();
await using observers = observerSubjects();
await using admission = admissionSubjects();
const subjects: readonly Subject[] = [
  ...frameSubjects(),
  ...callSubjects(),
  ...mountSubjects(),
  ...records.subjects,
  ...hops.subjects,
  ...replySubjects(),
  ...counterSubjects(),
  ...observers.subjects,
  ...admission.subjects,
];
const operations: OperationResult[] = [];
for (const subject of subjects) {
  operations.push(await time(subject));
  if (subject.alternative !== undefined) operations.push(await time(subject.alternative));
}
const comparisons = compare(subjects, operations);
const machine = readMachine();
process.stdout.write(printReport(machine, timeMs, comparisons));
if (typeof values['json'] === 'string') {
  const report = { ...machine, operationMs: timeMs, operations, comparisons };
  writeFileSync(values['json'], `${JSON.stringify(report, null, 2)}\n`);
}
if (typeof values['markdown'] === 'string') {
  writeFileSync(values['markdown'], markdownReport(machine, timeMs, comparisons));
}

/** One subject after the other, each with its warm-up right before it. */
async function time(subject: Subject): Promise<OperationResult> {
  const batch = subject.batch ?? BATCH;
  const bench = new Bench({ time: timeMs, warmupTime: warmupMs, iterations: 1, throws: true });
  let kept = 0;
  const keep = (sum: number): void => {
    expect(sum > 0, `${subject.name} failed while it was timed`);
    kept += sum;
  };
  if (subject.awaited === true) {
    bench.add(subject.name, async () => keep(await subject.run(batch)), { async: true });
  } else {
    bench.add(subject.name, () => keep(subject.run(batch) as number), { async: false });
  }
  await bench.run();
  expect(kept > 0, `${subject.name} was not run`);
  const result = bench.tasks[0]?.result;
  if (result === undefined || !('latency' in result)) {
    throw new Error(`micro bench: ${subject.name} gave no result (${result?.state ?? 'not run'})`);
  }
  const { p50, p99, samplesCount } = result.latency;
  // Tenths of a ns for one operation.
  const nanosOf = (batchMs: number): number => Math.round((batchMs * NS_PER_MS * 10) / batch) / 10;
  return { name: subject.name, medianNs: nanosOf(p50), p99Ns: nanosOf(p99), operations: samplesCount * batch };
}
