/**
 * Prints the sizing table from the result of a scale bench, or writes the page of the manual.
 *
 *   node native-free-bench/scale/sizing.ts [--model FILE] [--calls N,…] [--clients N] [--nameservices N] [--users N] [--mounts N]
 *     [--reply-bytes N] [--namenode-ms N] [--markdown] [--write | --check]
 *
 * --model: a file that bench:scale wrote with --json; the committed baseline without it. --users: users that work on one nameservice at the
 * same time. --write: makes src/manual/sizing.md from the model, not from a quick run or one with gaps; --check: exit 1 when the page is not what the model gives.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { readArguments, readNumber, readWhole, refuse } from '../harness/arguments.ts';
import { markdownTable, printTable } from '../harness/table.ts';
import { FLEETS, type Fleet } from './fleet.ts';
import { describeError, describeMachine } from './report.ts';
import type { ScaleResult } from './result.ts';
import { findGap, readScaleResult } from './result-file.ts';
import { BASELINE, printSensitivity, printSizing, renderSizingPage, SIZING_PAGE } from './sizing-page.ts';

const MOST_CALLS = 1e9;

const values = readArguments({
  model: { type: 'string', default: BASELINE },
  calls: { type: 'string' },
  clients: { type: 'string' },
  nameservices: { type: 'string' },
  users: { type: 'string' },
  mounts: { type: 'string' },
  'reply-bytes': { type: 'string' },
  'namenode-ms': { type: 'string' },
  markdown: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
});
const fleetFlags = ['calls', 'clients', 'nameservices', 'users', 'mounts', 'reply-bytes', 'namenode-ms'];
const given = fleetFlags.filter((flag) => values[flag] !== undefined);
if ((values['write'] === true || values['check'] === true) && given.length > 0) {
  refuse(`--${given[0]} does not go with --write and --check: the page has fleets of its own`);
}
const fleets = readFleets();
const file = String(values['model']);
const result = readScaleResult(file);
if (result instanceof Error) refuse(result.message);
if (values['write'] === true) writePage(result);
else if (values['check'] === true) checkPage(result);
else print(result);

function print(result: ScaleResult): void {
  const { model } = result;
  if (model === null) refuse(`${file}: it has no capacity model: ${result.modelMissing}`);
  const [fleet] = fleets as [Fleet];
  const table = values['markdown'] === true ? markdownTable : printTable;
  const lines = [
    `From ${file}: ${describeMachine(result.machine)}; hand-off ${result.handoff}`,
    `Fleet: ${fleet.clients} clients, ${fleet.nameservices} nameservices with ${fleet.usersPerNameservice} users each, ${fleet.mounts} mount points, ` +
      `replies of ${fleet.replyBytes} bytes, NameNodes take ${fleet.namenodeMs} ms`,
    '',
    printSizing(model, fleets, table),
    '',
    printSensitivity(model, fleets, table),
    '',
    `CPU times ${model.cpuMargin.toFixed(2)}, for what the model says too little in the median. ${model.together.toFixed(1)} calls come at once as measured; the second`,
    'table says what follows when they do not.',
    `Error of the CPU model on points that it had not seen: ${describeError(model.cpuHeldOutError)}; of the memory model: ` +
      `${describeError(model.memoryHeldOutError)}. Beyond one core all is extrapolated (switchyard help sizing).`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function writePage(result: ScaleResult): void {
  const gap = findGap(result);
  if (gap !== '') refuse(`${file}: ${gap}; the page is made from a whole run: npm run bench:scale -- --json FILE`);
  writeFileSync(SIZING_PAGE, renderPage(result));
}

function renderPage(result: ScaleResult): string {
  try {
    return renderSizingPage(result);
  } catch (error) {
    return refuse(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checkPage(result: ScaleResult): void {
  if (readFileSync(SIZING_PAGE, 'utf8') === renderPage(result)) return;
  process.stderr.write(
    `src/manual/sizing.md is not what ${file} gives: run \`node native-free-bench/scale/sizing.ts --write\`\n`,
  );
  process.exitCode = 1;
}

function readFleets(): Fleet[] {
  const usual = FLEETS[0] as Fleet;
  const callRates =
    values['calls'] === undefined
      ? FLEETS.map((fleet) => fleet.callsPerSecond)
      : String(values['calls'])
          .split(',')
          .map((text) => readNumber({ calls: text }, 'calls', 1, MOST_CALLS, 0));
  const fleet = {
    clients: readWhole(values, 'clients', 1, 1e8, usual.clients),
    nameservices: readWhole(values, 'nameservices', 1, 1000, usual.nameservices),
    usersPerNameservice: readWhole(values, 'users', 1, 1e6, usual.usersPerNameservice),
    mounts: readWhole(values, 'mounts', 1, 1e7, usual.mounts),
    replyBytes: readNumber(values, 'reply-bytes', 1, 1 << 27, usual.replyBytes),
    namenodeMs: readNumber(values, 'namenode-ms', 0, 60_000, usual.namenodeMs),
  };
  return callRates.map((callsPerSecond) => ({ callsPerSecond, ...fleet }));
}
