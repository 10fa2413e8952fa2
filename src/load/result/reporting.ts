/** What becomes of a result: text, files, expectations, exit code. Shared by the commands that end with one result. */
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { ExitCode, type parseFlags, UsageError } from '../../commands/usage.ts';
import { IntervalLog, serviceFile, writeDistributions } from '../histogram/hdr-files.ts';
import { countRecords } from '../histogram/latency.ts';
import type { OUTPUT_FLAGS } from '../plan/flags.ts';
import type { LoadPlan, ReplayCall } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { Progress } from '../run/progress.ts';
import { type RunOptions, runLoad, warmupMs } from '../run/run.ts';
import {
  type Expectation,
  judgeExpectations,
  parseExpectations,
  recordVerdicts,
  renderVerdicts,
  type Verdict,
} from './expect.ts';
import { renderResult } from './print.ts';
import type { LoadResult } from './result.ts';

export type OutputFlags = ReturnType<typeof parseFlags<typeof OUTPUT_FLAGS>>;

/** The checked form of the output flags. */
export interface Reporting {
  readonly expectations: readonly Expectation[];
  /** Files, null when not asked for; '-' for `json` is standard output. */
  readonly json: string | null;
  readonly hgrm: string | null;
  readonly hlog: string | null;
  readonly html: string | null;
}

export interface MeasureOptions {
  readonly replay?: readonly ReplayCall[];
  readonly signal?: AbortSignal;
  /** Each second, after the progress line. */
  readonly onSecond?: RunOptions['onSecond'];
}

/** Throws UsageError for expectations that make no sense and files that cannot be written: before the run, not after it. */
export function readReporting(flags: OutputFlags, plan: LoadPlan): Reporting {
  const { json = null, hgrm = null, hlog = null, html = null, expect } = flags;
  const files = Object.entries({ json: json === '-' ? null : json, hgrm, hlog, html });
  for (const [flag, file] of files) if (file !== null) refuseUnwritable(`--${flag}`, file);
  if (hgrm !== null) refuseUnwritable('--hgrm', serviceFile(hgrm));
  const named = files.flatMap(([, file]) => (file === null ? [] : [file]));
  const repeated = named.find((file, index) => named.indexOf(file) !== index);
  if (repeated !== undefined) throw new UsageError(`${repeated} is named by two flags; give each a file of its own`);
  return { expectations: expect === undefined ? [] : parseExpectations(expect, plan), json, hgrm, hlog, html };
}

/** Opening is the only test that counts; what was not there before is not there after it. */
export function refuseUnwritable(flag: string, file: string): void {
  if (file === '-') throw new UsageError(`${flag} -: only --json can go to standard output; name a file`);
  const isThere = existsSync(file);
  try {
    closeSync(openSync(file, 'a'));
    if (!isThere) rmSync(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${flag} ${file}: ${reason}; name a file that this user can write`);
  }
}

/**
 * Runs the plan, whose own directories are there, with a progress line on standard error, prints the result, writes the files, and resolves
 * with the exit code: FAILED for a missed expectation, and when no call has succeeded.
 */
export async function measureAndReport(
  plan: LoadPlan,
  reporting: Reporting,
  { replay, signal }: MeasureOptions = {},
): Promise<number> {
  const result = await measure(plan, reporting, {
    ...(replay === undefined ? {} : { replay }),
    ...(signal === undefined ? {} : { signal }),
  });
  return await reportResult(result, reporting);
}

/** The run with its progress line and interval log, without the report at the end. */
export async function measure(
  plan: LoadPlan,
  { hlog }: Pick<Reporting, 'hlog'>,
  options: MeasureOptions = {},
): Promise<LoadResult> {
  const totalSeconds = plan.durationMs === null ? null : (warmupMs(plan) + plan.durationMs) / 1000;
  const progress = new Progress(process.stderr, totalSeconds);
  using log = hlog === null ? null : attemptWrite(hlog, () => new IntervalLog(hlog));
  let isLogBegun = false;
  try {
    return await runLoad(plan, {
      ...options,
      onSecond: (point, counts) => {
        progress.show(point);
        options.onSecond?.(point, counts);
        if (log === null || hlog === null) return;
        // Also what is over after the end: the lines add up to the calls of the result.
        if (!point.measured && countRecords(counts.measuredCalls.corrected) === 0) return;
        attemptWrite(hlog, () => {
          if (!isLogBegun) log.begin(Date.now() - (point.second + 1) * 1000);
          isLogBegun = true;
          log.add(point.second, counts.measuredCalls);
        });
      },
    });
  } finally {
    progress.end();
  }
}

/** Text, files, expectations; resolves with the exit code. */
export async function reportResult(result: LoadResult, reporting: Reporting): Promise<number> {
  const { json, hgrm, html, expectations } = reporting;
  const verdicts = judgeExpectations(expectations, result);
  const print =
    json === '-'
      ? (line: string) => process.stderr.write(`${line}\n`)
      : (line: string) => process.stdout.write(`${line}\n`);
  for (const line of renderResult(result)) print(line);
  if (verdicts.length > 0) print('');
  for (const line of renderVerdicts(verdicts)) print(line);
  const recorded = recordVerdicts(result, verdicts);
  const text = json === null ? '' : `${JSON.stringify(recorded)}\n`;
  if (json === '-') process.stdout.write(text);
  else if (json !== null) writeResult(json, text);
  if (hgrm !== null) attemptWrite(hgrm, () => writeDistributions(hgrm, result.histogram));
  if (html !== null) {
    const { renderReport } = await import('../report/page.ts');
    writeResult(html, renderReport([recorded]));
  }
  return judge(result, verdicts);
}

export function writeResult(file: string, text: string): void {
  attemptWrite(file, () => writeFileSync(file, text));
}

/** What cannot be written in spite of the test before the run is an error of its own: throws LoadError. */
export function attemptWrite<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw new LoadError(`${file} could not be written: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function judge(result: LoadResult, verdicts: readonly Verdict[]): number {
  const failure = describeFailure(result);
  if (failure !== '') {
    process.stderr.write(`switchyard load: ${failure}\n`);
    return ExitCode.FAILED;
  }
  return verdicts.every(({ held }) => held) ? ExitCode.OK : ExitCode.FAILED;
}

/** Why a run is a failure whatever was expected of it; '' when it is none. */
export function describeFailure({ successes, errors, gaveUp }: LoadResult): string {
  if (gaveUp === true) return 'the server was gone, and the run has ended before its time';
  if (successes > 0) return '';
  return errors === 0 ? 'nothing was measured' : 'no call succeeded';
}
