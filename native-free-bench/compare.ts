/**
 * Fresh results of benches beside the committed baselines, and both beside their peers in the same run.
 *
 *   npm run bench:compare -- [NAME…] [--fresh DIR] [--baselines DIR] [--markdown FILE]
 *
 * NAME: path, micro, against, against-rig, ablation, scale, memory; all that are there when none is given. --fresh: directory with results as the
 * benches write them with --json, each called NAME.json; without it the baselines are shown beside their peers. It reports and does not judge.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeLeftOut, printBaseline, printComparison } from './compare/comparison.ts';
import { describeConditions, describeDifferences } from './compare/conditions.ts';
import { BENCH_NAMES, type BenchFigures, type BenchName, readFigures } from './compare/figures.ts';
import { refuse } from './harness/arguments.ts';
import { markdownTable, type PrintTable, printTable } from './harness/table.ts';

/** Made by an option of another bench, and not missed when it is on neither side. */
const OPTIONAL: readonly BenchName[] = ['against-rig'];
const BASELINES: string = fileURLToPath(new URL('./baselines', import.meta.url));

const { values, positionals } = readCommandLine();
const baselines = values.baselines ?? BASELINES;
const fresh = values.fresh;
if (fresh !== undefined && !existsSync(fresh)) {
  refuse(
    `--fresh ${fresh}: there is no such directory; make it, and let the benches write into it: ${howToMake('path', fresh)}`,
  );
}
const { names, missing } = chooseNames();
const pairs = names.map((name) => ({
  name,
  baseline: readResult(baselines, name),
  fresh: fresh === undefined ? undefined : readResult(fresh, name),
}));
process.stdout.write(render(printTable, (name) => `${name}:`));
if (values.markdown !== undefined)
  writeResult(
    values.markdown,
    render(markdownTable, (name) => `## ${name}`),
  );

function render(table: PrintTable, heading: (name: string) => string): string {
  const sections = pairs.flatMap(({ name, baseline, fresh }) => {
    const shown = fresh === undefined ? printBaseline(baseline, table) : printComparison(baseline, fresh, table);
    const notes = [`baseline: ${describeConditions(baseline.conditions)}`, ...describeLeftOut('baseline', baseline)];
    if (fresh !== undefined) {
      notes.push(...describeLeftOut('fresh', fresh), ...describeDifferences(baseline.conditions, fresh.conditions));
    }
    return [heading(name), '', ...notes.map((note) => `* ${note}`), '', shown, ''];
  });
  if (missing.length > 0) sections.push(heading('missing'), '', ...missing.map((line) => `* ${line}`), '');
  return sections.join('\n').concat('\n');
}

/** Those that were asked for, or all that are there on both sides and what is missing of the others. */
function chooseNames(): { names: BenchName[]; missing: string[] } {
  const named = positionals.map(
    (text) =>
      BENCH_NAMES.find((name) => name === text) ??
      refuse(`${text}: no bench is called so; there are ${BENCH_NAMES.join(', ')}`),
  );
  const sides = fresh === undefined ? [baselines] : [baselines, fresh];
  const lacking = (name: BenchName): string[] => sides.filter((side) => !existsSync(fileOf(side, name)));
  if (named.length > 0) {
    for (const name of named) {
      for (const side of lacking(name)) refuse(describeMissing(name, side));
    }
    return { names: [...new Set(named)], missing: [] };
  }
  const names = BENCH_NAMES.filter((name) => lacking(name).length === 0);
  if (names.length === 0) refuseNothing(sides);
  const wanted = BENCH_NAMES.filter((name) => !OPTIONAL.includes(name) || lacking(name).length < sides.length);
  return { names, missing: wanted.flatMap((name) => lacking(name).map((side) => describeMissing(name, side))) };
}

/** No bench is there on all sides. */
function refuseNothing(sides: readonly string[]): never {
  for (const side of sides.toReversed()) {
    const isEmpty = BENCH_NAMES.every((name) => !existsSync(fileOf(side, name)));
    if (isEmpty) refuse(`${side} holds no result: ${howToMake('path', side)}`);
  }
  refuse(`${sides.join(' and ')} have no result in common; make one in the first: ${howToMake('path', baselines)}`);
}

function describeMissing(name: BenchName, directory: string): string {
  return `${fileOf(directory, name)} is not there: ${howToMake(name, directory)}`;
}

function readResult(directory: string, name: BenchName): BenchFigures {
  const file = fileOf(directory, name);
  try {
    return readFigures(name, readFileSync(file, 'utf8'), file);
  } catch (error) {
    return refuse(
      `${error instanceof Error ? error.message : String(error)}; make it anew: ${howToMake(name, directory)}`,
    );
  }
}

function writeResult(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    refuse(`--markdown ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Below the working directory as seen from there: reports that are kept name no place of one machine. */
function fileOf(directory: string, name: BenchName): string {
  const file = join(directory, `${name}.json`);
  const fromHere = relative('', file);
  return fromHere.startsWith('..') ? file : fromHere;
}

function howToMake(name: BenchName, directory: string): string {
  const file = fileOf(directory, name);
  if (name === 'path') return `npm run bench -- --json ${file}`;
  if (name === 'against-rig') return `npm run bench:against -- --backend rig --json ${file}`;
  return `npm run bench:${name} -- --json ${file}`;
}

function readCommandLine(): {
  values: { fresh?: string | undefined; baselines?: string | undefined; markdown?: string | undefined };
  positionals: string[];
} {
  try {
    return parseArgs({
      options: { fresh: { type: 'string' }, baselines: { type: 'string' }, markdown: { type: 'string' } },
      allowPositionals: true,
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}
