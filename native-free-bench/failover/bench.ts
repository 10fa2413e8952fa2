/**
 * Bench of failovers: simulated nameservices of two NameNodes each behind one router, and one fault for each of them, again and again.
 *
 *   npm run bench:failover -- [--only CASE,…] [--rounds N] [--connections N] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when a case could not be played. ../README.md says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { FAILOVER_CASES, NAMED } from '../../test/support/failover/cases.ts';
import { playRounds } from '../../test/support/failover/rounds.ts';
import { Stage } from '../../test/support/failover/stage.ts';
import { readArguments, readNames, readWhole } from '../harness/arguments.ts';
import { describeMachine, readMachine, toJson } from '../harness/machine.ts';
import { markdownReport, printReport } from './report.ts';

const values = readArguments({
  only: { type: 'string' },
  rounds: { type: 'string' },
  connections: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  markdown: { type: 'string' },
});
const rounds = readWhole(values, 'rounds', 1, 1_000, values['quick'] === true ? 1 : 5);
const connections = readWhole(values, 'connections', 1, 100, 4);
const ids = readNames(
  values,
  'only',
  FAILOVER_CASES.map(({ id }) => id),
);
const cases = FAILOVER_CASES.filter(({ id }) => ids.includes(id));
const machine = readMachine();

try {
  await using stage = await Stage.start({ nameservices: ids, named: NAMED });
  const conditions =
    `${describeMachine(machine)}; each case ${rounds} times, in a nameservice of its own, ${connections} clients of one call each, reads and writes in ` +
    'turn; settings of the router as they are by default';
  process.stdout.write(`${conditions}\n\n`);
  const results = await Promise.all(cases.map((each) => playRounds(stage, each, rounds, connections)));
  process.stdout.write(`${printReport(results)}\n`);
  if (typeof values['json'] === 'string') writeFileSync(values['json'], toJson({ ...machine, rounds, results }));
  if (typeof values['markdown'] === 'string') writeFileSync(values['markdown'], markdownReport(conditions, results));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
