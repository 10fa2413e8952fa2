/** `switchyard load ceiling`: the highest rate that holds an objective. */
import { ExitCode, parseFlags } from '../../commands/usage.ts';
import { type PlanFlags, readPlan } from '../plan/flags.ts';
import { describeNeeds } from '../plan/needs.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { refuseUnwritable, writeResult } from '../result/reporting.ts';
import { Interrupt } from '../run/interrupt.ts';
import { Progress } from '../run/progress.ts';
import { warmupMs, withNamespace } from '../run/run.ts';
import { type FoundCeiling, findCeiling } from './find-ceiling.ts';
import {
  CEILING_FLAGS,
  type CeilingSettings,
  chooseStepMs,
  readCeilingSettings,
  refuseSearchedFlags,
} from './flags.ts';
import { describeCeiling, formatBest, formatObjective, formatStep, STEP_HEADING, toCeilingJson } from './print.ts';
import { measureStep, StepPlans } from './step.ts';

/** What a search sets itself. */
const SEARCHED_FLAGS = ['rate', 'closed', 'duration', 'calls'] as const;

export type Print = (line: string) => void;

/** Resolves with OK when a rate held, with FAILED when none did or the search was ended early. Throws UsageError, LoadError. */
export async function run(args: string[]): Promise<number> {
  const flags = parseFlags(args, CEILING_FLAGS);
  refuseSearchedFlags(flags, SEARCHED_FLAGS);
  const settings = readCeilingSettings(flags);
  const plan = readSearchedPlan(flags, settings);
  const { json = null, html = null } = flags;
  refuseUnwritableFiles(json, html);
  const print = choosePrint(json);
  const plans = new StepPlans(plan);
  refuseTooLongSearch(plans, settings);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const onChecked = () => process.stderr.write(`${describeNeeds(plan)}\n`);
  const search = () => searchAndPrint(plan, plans, settings, print, signal);
  const found = await withNamespace(plan, search, signal, { onChecked });
  if (found.best !== null) for (const line of formatBest(found.best)) print(line);
  await writeFiles(json, html, toCeilingJson(found, settings), async () => {
    const { renderCeilingPage } = await import('./page.ts');
    return renderCeilingPage(found, settings);
  });
  const { outcome } = found.ceiling;
  return outcome === 'found' || outcome === 'loader' || outcome === 'max-rate' ? ExitCode.OK : ExitCode.FAILED;
}

/** The plan of the flags; its rate and time are those of the first step. */
export function readSearchedPlan(flags: PlanFlags, { search }: CeilingSettings): LoadPlan {
  return readPlan(flags, { loop: { kind: 'open', callsPerSecond: search.startPerSecond, rampMs: 0 } });
}

/** Throws UsageError when not even the first step can be made. */
export function refuseTooLongSearch(plans: StepPlans, { search, stepMs }: CeilingSettings): void {
  plans.refuseTooLong(search.startPerSecond, chooseStepMs(stepMs, search.startPerSecond));
}

/** The search with its lines; own directories are there. */
export async function searchAndPrint(
  plan: LoadPlan,
  plans: StepPlans,
  settings: CeilingSettings,
  print: Print,
  signal: AbortSignal,
): Promise<FoundCeiling> {
  print(
    `Search for the highest rate with ${formatObjective(settings)}; each step after ${warmupMs(plan) / 1000} s of warm-up`,
  );
  print(STEP_HEADING);
  const found = await findCeiling(settings, {
    signal,
    onStep: (step) => print(formatStep(step)),
    measure: async ({ callsPerSecond, durationMs }) => {
      const progress = new Progress(process.stderr, (warmupMs(plan) + durationMs) / 1000);
      try {
        return await measureStep(plans.next(callsPerSecond, durationMs), {
          signal,
          onSecond: (point) => progress.show(point),
        });
      } finally {
        progress.end();
      }
    },
  });
  print(describeCeiling(found, settings));
  return found;
}

/** With the JSON on standard output, text for people goes to standard error. */
export function choosePrint(json: string | null): Print {
  const stream = json === '-' ? process.stderr : process.stdout;
  return (line) => stream.write(`${line}\n`);
}

export function refuseUnwritableFiles(json: string | null, html: string | null): void {
  if (json !== null && json !== '-') refuseUnwritable('--json', json);
  if (html !== null) refuseUnwritable('--html', html);
}

/** Throws LoadError for a file that cannot be written any more. */
export async function writeFiles(
  json: string | null,
  html: string | null,
  value: object,
  renderPage: () => Promise<string>,
): Promise<void> {
  const text = json === null ? '' : `${JSON.stringify(value)}\n`;
  if (json === '-') process.stdout.write(text);
  else if (json !== null) writeResult(json, text);
  if (html !== null) writeResult(html, await renderPage());
}
