/**
 * Switchyard against its peers: a direct connection, HAProxy and the tuned Java Router 3.4.1, all in the same run and interleaved, each alone
 * on one core, load and NameNode on the others.
 *
 *   npm run bench:against -- [--only NAME,…] [--peers direct,haproxy,java-pool,java-single,ring,inline] [--rounds N] [--seconds S]
 *     [--backend stub|rig] [--java-warmup SECONDS] [--ceiling CALLS_PER_SECOND] [--starts N] [--quick] [--json FILE] [--markdown FILE]
 *
 * Progress goes to stderr, tables to stdout. Exit 1 when calls failed, 2 when it was called wrongly. The README.md beside says what each number means.
 */

import { writeFileSync } from 'node:fs';
import { stopAll } from '../harness/children.ts';
import { readMachine } from '../harness/machine.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { readPlan } from './plan.ts';
import {
  printConditions,
  printScenario,
  printStarts,
  printVerdicts,
  type Report,
  reportJson,
  toMarkdown,
} from './report.ts';
import { runComparison } from './run.ts';

const plan = readPlan();
const directory = makeRunDirectory('against');
const machine = readMachine();
try {
  process.stdout.write(`${printConditions(machine, plan)}\n\n`);
  const measured = await runComparison({
    plan,
    directory: directory.path,
    env: directory.env,
    progress: (line) => process.stderr.write(`[${(performance.now() / 1000).toFixed(0).padStart(5)} s] ${line}\n`),
    onScenario: (summary) => process.stdout.write(`${printScenario(summary)}\n`),
  });
  const report: Report = { machine, plan, ...measured };
  process.stdout.write(`${printStarts(report.starts)}\n${printVerdicts(report.verdicts)}`);
  if (plan.json !== undefined) writeFileSync(plan.json, reportJson(report));
  if (plan.markdown !== undefined) writeFileSync(plan.markdown, toMarkdown(report));
  const failed = report.scenarios.some((scenario) => scenario.peers.some((peer) => peer.errors > 0));
  process.exitCode = failed ? 1 : 0;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}
