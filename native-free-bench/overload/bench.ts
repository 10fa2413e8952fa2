/**
 * Bench of overload: many users ask a router for a multiple of what the NameNode behind it can do, in an open loop that keeps account of every
 * call.
 *
 *   npm run bench:overload -- [--peers ring,inline,java,java-fair] [--duration S] [--cap CALLS_PER_SECOND] [--offered FACTOR]
 *     [--connections N] [--users N] [--in-flight N] [--fair] [--java-warmup S] [--quick] [--json FILE] [--markdown FILE]
 *
 * It reports and does not judge: exit 1 only when it cannot measure. ../README.md says what each number means.
 */

import { readArguments, readNumber, readWhole } from '../harness/arguments.ts';
import { pinThisProcess, stopAll } from '../harness/children.ts';
import { makeRunDirectory } from '../harness/run-directory.ts';
import { SimulatedNamenodes } from '../pressure/namenodes.ts';
import { startPeers } from '../pressure/peers.ts';
import { COMMON_OPTIONS, describePlan, progress, readCommonPlan, writeResults } from '../pressure/plan.ts';
import { measureCapacity, measureOverload, type OverloadOptions } from './measure.ts';
import { markdownReport, printReport, type Row } from './report.ts';

const values = readArguments({
  ...COMMON_OPTIONS,
  duration: { type: 'string' },
  cap: { type: 'string' },
  offered: { type: 'string' },
  connections: { type: 'string' },
  users: { type: 'string' },
  'in-flight': { type: 'string' },
  fair: { type: 'boolean', default: false },
});
const plan = readCommonPlan(values, false);
const seconds = readNumber(values, 'duration', 1, 86_400, plan.quick ? 5 : 300);
const cap = readWhole(values, 'cap', 10, 100_000, 2_000);
const offered = readNumber(values, 'offered', 0.1, 100, 3);
const connections = readWhole(values, 'connections', 1, 10_000, 200);
const users = readWhole(values, 'users', 1, 10_000, 100);
const inFlight = readWhole(values, 'in-flight', 1, 65_536, 512);
const isFair = values['fair'] === true;
const directory = makeRunDirectory('overload');
pinThisProcess(plan.cores.toolCores);

await using namenodes = await SimulatedNamenodes.start(1);
try {
  const conditions =
    `${describePlan(plan)}; a NameNode that does ${cap} calls/s at the most, ${cap * offered} calls/s asked for ${seconds} s by ` +
    `${users} users over ${connections} connections with at most ${inFlight} calls in flight each; call queue: ${isFair ? 'fair' : 'first come, first served'}`;
  process.stdout.write(`${conditions}\n\n`);
  const peers = await startPeers({ ...plan, namenodes, directory, isFair, progress });
  // After the warm-up of the Java Routers, which is none of its business.
  await namenodes.setCap(cap);
  const options: OverloadOptions = {
    namenodes,
    nameservice: namenodes.ids[0] as string,
    ratePerSecond: cap * offered,
    seconds,
    connections,
    users,
    inFlight,
  };
  const capacityPerSecond = await measureCapacity(options);
  progress(`the NameNode alone: ${capacityPerSecond.toFixed(0)} calls/s`);
  const rows: Row[] = [];
  for (const router of peers) {
    const measured = await measureOverload(options, router, peers);
    rows.push({ peer: router.peer, capacityPerSecond, ...measured });
    progress(`${router.peer}: ${measured.goodput.toFixed(0)} calls/s of ${capacityPerSecond.toFixed(0)}`);
  }
  process.stdout.write(`${printReport(rows)}\n`);
  const result = { seconds, cap, capacityPerSecond, offered, connections, users, inFlight, isFair, rows };
  writeResults(values, plan, result, markdownReport(conditions, rows));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await stopAll();
}
