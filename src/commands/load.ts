import { LOAD_FLAGS, readPlan } from '../load/plan/flags.ts';
import { countNames, findNameFault } from '../load/plan/names.ts';
import { describeNeeds } from '../load/plan/needs.ts';
import type { LoadPlan } from '../load/plan/plan.ts';
import { measureAndReport, readReporting } from '../load/result/reporting.ts';
import { Interrupt } from '../load/run/interrupt.ts';
import { warmupMs, withNamespace } from '../load/run/run.ts';
import { nearestWord, parseFlags, UsageError } from './usage.ts';

interface Subcommand {
  run(args: string[]): Promise<number>;
}

/** The code of each subcommand. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  ceiling: () => import('../load/ceiling/ceiling.ts'),
  soak: () => import('../load/soak/soak.ts'),
  replay: () => import('../load/replay/replay.ts'),
  compare: () => import('../load/result/compare.ts'),
  clean: () => import('../load/namespace/clean.ts'),
};

/** `switchyard load`: one run, or a subcommand; resolves with the exit code. */
export async function run(args: string[]): Promise<number> {
  const [first = '', ...rest] = args;
  const load = Object.hasOwn(SUBCOMMANDS, first) ? SUBCOMMANDS[first] : undefined;
  if (load !== undefined) return await (await load()).run(rest);
  if (first !== '' && !first.startsWith('-')) {
    const near = nearestWord(first, Object.keys(SUBCOMMANDS));
    throw new UsageError(
      `there is no subcommand '${first}'${near === null ? `; it has ${Object.keys(SUBCOMMANDS).join(', ')}` : `; did you mean ${near}?`}`,
    );
  }
  const flags = parseFlags(args, LOAD_FLAGS);
  const plan = readPlan(flags);
  refuseTooManyNames(plan);
  const reporting = readReporting(flags, plan);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const onChecked = () => process.stderr.write(`${describeNeeds(plan)}\n`);
  return await withNamespace(plan, () => measureAndReport(plan, reporting, { signal }), signal, { onChecked });
}

/** What a closed loop with a time calls is not known before. */
function refuseTooManyNames(plan: LoadPlan): void {
  const { loop, calls, durationMs } = plan;
  const perSecond = loop.kind === 'open' ? loop.callsPerSecond : 0;
  const fault = findNameFault(countNames(plan, calls ?? (perSecond * (warmupMs(plan) + (durationMs ?? 0))) / 1000));
  if (fault !== '') throw new UsageError(`${calls === null ? '--rate and --duration' : '--calls'}: ${fault}`);
}
