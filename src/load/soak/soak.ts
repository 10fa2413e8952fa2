/** `switchyard load soak`: a long run at a share of the ceiling, and what drifts in it. */
import { ExitCode, parseFlags } from '../../commands/usage.ts';
import { choosePrint, type Print, refuseTooLongSearch, searchAndPrint, writeFiles } from '../ceiling/ceiling.ts';
import { perSecond } from '../ceiling/print.ts';
import type { Ceiling } from '../ceiling/search.ts';
import { StepPlans } from '../ceiling/step.ts';
import { writeDistributions } from '../histogram/hdr-files.ts';
import { describeNeeds } from '../plan/needs.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { judgeExpectations, recordVerdicts, renderVerdicts } from '../result/expect.ts';
import { formatShare } from '../result/format.ts';
import { renderResult } from '../result/print.ts';
import { attemptWrite, describeFailure, measure, type Reporting } from '../result/reporting.ts';
import { Interrupt } from '../run/interrupt.ts';
import { withNamespace } from '../run/run.ts';
import { checkDrift } from './drift-expect.ts';
import { readSoak, SOAK_FLAGS, type SoakSettings } from './flags.ts';
import { formatChecked, formatDrifts, formatWindow, type SoakReport, toSoakJson } from './print.ts';
import { runSoak } from './run-soak.ts';
import { measureDrifts } from './windows.ts';

/**
 * Resolves with OK, or FAILED for a missed expectation, when no ceiling was found or no call succeeded. Throws UsageError, LoadError.
 */
export async function run(args: string[]): Promise<number> {
  const { settings, plan, reporting } = readSoak(parseFlags(args, SOAK_FLAGS));
  const print = choosePrint(reporting.json);
  const plans = new StepPlans(plan);
  const { ceiling, atShare } = settings;
  if (typeof ceiling === 'number') plans.refuseTooLong(ceiling * atShare, plan.durationMs ?? 0);
  else refuseTooLongSearch(plans, ceiling);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const onChecked = () => process.stderr.write(`${describeNeeds(plan)}\n`);
  const soak = () => searchAndSoak(plan, plans, settings, reporting, print, signal);
  const report = await withNamespace(plan, soak, signal, { onChecked });
  if (report === null) return ExitCode.FAILED;
  return await reportSoak(report, reporting, print);
}

/** Null when no ceiling was found: that has been said. */
async function searchAndSoak(
  plan: LoadPlan,
  plans: StepPlans,
  { atShare, ceiling, drifts }: SoakSettings,
  reporting: Reporting,
  print: Print,
  signal: AbortSignal,
): Promise<SoakReport | null> {
  let found: Ceiling | null = null;
  let ceilingPerSecond = typeof ceiling === 'number' ? ceiling : 0;
  if (typeof ceiling !== 'number') {
    const search = await searchAndPrint(plan, plans, ceiling, print, signal);
    found = search.ceiling;
    if (found.heldPerSecond === null || signal.aborted) return null;
    ceilingPerSecond = found.heldPerSecond;
  }
  const soak = plans.next(ceilingPerSecond * atShare, plan.durationMs ?? 0);
  print(`Soak at ${perSecond(ceilingPerSecond * atShare)}, ${formatShare(atShare)} of ${perSecond(ceilingPerSecond)}`);
  const { windows, windowSeconds, processEnded, result } = await runSoak({
    durationMs: plan.durationMs ?? 0,
    pid: plan.watchedPid ?? process.pid,
    onMinute: (window) => printOverProgress(formatWindow(window, plan.durationMs ?? 0)),
    measure: (onSecond) => measure(soak, reporting, { signal, onSecond }),
  });
  const drift = measureDrifts(windows);
  return {
    atShare,
    ceilingPerSecond,
    found,
    process: {
      kind: plan.watchedPid === null ? 'loader' : 'server',
      pid: plan.watchedPid ?? process.pid,
      ended: processEnded,
    },
    windowSeconds,
    windows,
    drift,
    expectations: drifts.map((expectation) => checkDrift(expectation, drift[expectation.metric])),
    result,
  };
}

/** On a terminal the progress line is there already, and the next one comes below. */
function printOverProgress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}\n` : `${line}\n`);
}

async function reportSoak(report: SoakReport, reporting: Reporting, print: Print): Promise<number> {
  const { result, expectations } = report;
  const { json, hgrm, html } = reporting;
  const verdicts = judgeExpectations(reporting.expectations, result);
  for (const line of [...renderResult(result), '', ...formatDrifts(report)]) print(line);
  if (verdicts.length + expectations.length > 0) print('');
  for (const line of [...renderVerdicts(verdicts), ...expectations.map(formatChecked)]) print(line);
  const recorded = { ...report, result: recordVerdicts(result, verdicts) };
  await writeFiles(json, html, toSoakJson(recorded), async () => {
    const { renderSoakPage } = await import('../ceiling/page.ts');
    return renderSoakPage(recorded);
  });
  if (hgrm !== null) attemptWrite(hgrm, () => writeDistributions(hgrm, result.histogram));
  const failure = describeFailure(result);
  if (failure !== '') process.stderr.write(`switchyard load soak: ${failure}\n`);
  return failure === '' && [...verdicts, ...expectations].every(({ held }) => held) ? ExitCode.OK : ExitCode.FAILED;
}
