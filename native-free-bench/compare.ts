/**
 * Fresh results of benches beside the committed baselines, and both beside their peers in the same run.
 *
 *   npm run bench:compare -- [NAME…] [--fresh DIR] [--baselines DIR] [--markdown FILE]
 *
 * NAME: path, micro, against, ablation, scale, memory; all that are there when none is given. --fresh: directory with results as the benches
 * write them with --json, each called NAME.json; without it the baselines are shown beside their peers. It reports and does not judge.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeConditions, describeDifferences, printBaseline, printComparison } from './compare/comparison.ts';
import { BENCH_NAMES, type BenchFigures, type BenchName, readFigures } from './compare/figures.ts';
import { refuse } from './harness/arguments.ts';
import { markdownTable, printTable } from './harness/table.ts';
import type { PrintTable } from './scale/report.ts';

const BASELINES: string = fileURLToPath(new URL('./baselines', import.meta.url));

const { values, positionals } = readCommandLine();
const baselines = values.baselines ?? BASELINES;
const fresh = values.fresh;
if (fresh !== undefined && !existsSync(fresh)) {
  refuse(
    `--fresh ${fresh}: there is no such directory; make it, and let the benches write into it: ${howToMake('path', fresh)}`,
  );
}
const names = chooseNames();
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
  return pairs
    .flatMap(({ name, baseline, fresh }) => {
      const shown = fresh === undefined ? printBaseline(baseline, table) : printComparison(baseline, fresh, table);
      const notes = [`baseline: ${describeConditions(baseline.conditions)}`];
      if (fresh !== undefined) notes.push(...describeDifferences(baseline.conditions, fresh.conditions));
      return [heading(name), '', ...notes.map((note) => `* ${note}`), '', shown, ''];
    })
    .join('\n')
    .concat('\n');
}

/** Those that were asked for, or all that are there on both sides. */
function chooseNames(): BenchName[] {
  const named = positionals.map(
    (text) =>
      BENCH_NAMES.find((name) => name === text) ??
      refuse(`${text}: no bench is called so; there are ${BENCH_NAMES.join(', ')}`),
  );
  const missing = (directory: string, name: BenchName): boolean => !existsSync(fileOf(directory, name));
  for (const name of named) {
    for (const directory of fresh === undefined ? [baselines] : [baselines, fresh]) {
      if (missing(directory, name)) refuse(`${fileOf(directory, name)} is not there: ${howToMake(name, directory)}`);
    }
  }
  if (named.length > 0) return [...new Set(named)];
  const known = BENCH_NAMES.filter((name) => !missing(fresh ?? baselines, name));
  const first = known[0] ?? refuse(`${fresh ?? baselines} holds no result: ${howToMake('path', fresh ?? baselines)}`);
  const both = known.filter((name) => !missing(baselines, name));
  if (both.length === 0) refuse(`${fileOf(baselines, first)} is not there: ${howToMake(first, baselines)}`);
  for (const name of known) {
    if (!both.includes(name))
      process.stderr.write(`${name}: left out, for it has no baseline: ${howToMake(name, baselines)}\n`);
  }
  return both;
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

function fileOf(directory: string, name: BenchName): string {
  return join(directory, `${name}.json`);
}

function howToMake(name: BenchName, directory: string): string {
  return `npm run ${name === 'path' ? 'bench' : `bench:${name}`} -- --json ${fileOf(directory, name)}`;
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
