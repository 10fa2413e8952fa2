/**
 * Micro bench of the operations of the data path, in ns.
 *
 *   npm run bench:micro -- [--ms N] [--json FILE]
 */

import { writeFileSync } from 'node:fs';
import { Bench } from 'tinybench';
import { readArguments, readWhole } from '../harness/arguments.ts';
import { callSubjects } from './calls.ts';
import { mountSubjects } from './mounts.ts';
import { recordSubjects } from './records.ts';
import { expect } from './subject.ts';

/** Operations for each reading of the clock. */
const BATCH = 10_000;
const NS_PER_MS = 1e6;

const values = readArguments({ ms: { type: 'string' }, json: { type: 'string' } });
const bench = new Bench({ time: readWhole(values, 'ms', 10, 600_000, 1_000), warmupTime: 300, throws: true });
let kept = 0;
for (const subject of [...callSubjects(), ...mountSubjects(), ...recordSubjects()]) {
  bench.add(subject.name, () => {
    kept += subject.run(BATCH);
  });
}
await bench.run();
expect(kept > 0, 'an operation failed while it was timed');

const rows = bench.tasks.map((task) => {
  const { result } = task;
  if (!('latency' in result)) throw new Error(`micro bench: ${task.name} gave no result (${result.state})`);
  const { p50, p99, samplesCount } = result.latency;
  return {
    name: task.name,
    medianNs: nanosOf(p50),
    p99Ns: nanosOf(p99),
    operations: samplesCount * BATCH,
  };
});
const width = Math.max(...rows.map((row) => row.name.length));
process.stdout.write(
  `Node ${process.version}; median and p99 of batches of ${BATCH.toLocaleString('en-US')} operations\n\n`,
);
process.stdout.write(`${'operation'.padEnd(width)}  ns median  ns p99\n`);
for (const row of rows) {
  process.stdout.write(
    `${row.name.padEnd(width)}  ${row.medianNs.toFixed(1).padStart(9)}  ${row.p99Ns.toFixed(1).padStart(6)}\n`,
  );
}
if (typeof values['json'] === 'string') {
  writeFileSync(values['json'], `${JSON.stringify({ node: process.version, operations: rows }, null, 2)}\n`);
}

/** Tenths of a ns for one operation of a batch that took `batchMs`. */
function nanosOf(batchMs: number): number {
  return Math.round((batchMs * NS_PER_MS * 10) / BATCH) / 10;
}
