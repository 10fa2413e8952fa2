/** `switchyard load replay`: the calls of a NameNode's audit log, at their relative times and by their users. */
import { parseFlags, UsageError } from '../../commands/usage.ts';
import { LOAD_FLAGS, MAX_DURATION_MS, readPlan } from '../plan/flags.ts';
import type { LoadPlan, ReplayCall } from '../plan/plan.ts';
import { takePositionals } from '../plan/positionals.ts';
import { parseCount } from '../plan/values.ts';
import { alignRows, formatCount, formatMs, plainText } from '../result/format.ts';
import { measureAndReport, readReporting } from '../result/reporting.ts';
import { Interrupt } from '../run/interrupt.ts';
import { withNamespace } from '../run/run.ts';
import { parseAuditTime } from './audit-log.ts';
import { MAX_REPLAY_CALLS, type Recorded, type ReplayChoice, readRecorded } from './calls.ts';

const REPLAY_FLAGS = {
  ...LOAD_FLAGS,
  speed: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  limit: { type: 'string' },
  'read-only': { type: 'boolean' },
} as const;

type ReplayFlags = ReturnType<typeof parseFlags<typeof REPLAY_FLAGS>>;

/** Flags of a load whose part the log plays. */
const NO_MEANING = [
  'rate',
  'closed',
  'mix',
  'users',
  'paths',
  'path-distribution',
  'files',
  'warmup',
  'ramp',
  'seed',
] as const;
const MAX_SPEED = 1000;
const MIN_SPEED = 0.001;
/** Connections when the flag is not given: one for each user up to this many. */
const DEFAULT_CONNECTIONS = 64;
/** Reasons for calls that are left out, and lines of them, that are printed. */
const MAX_PRINTED_REASONS = 20;
const MAX_REASON_CHARACTERS = 120;
const MAX_LINE_CHARACTERS = 400;

export async function run(args: string[]): Promise<number> {
  const { positionals: files, rest } = takePositionals(args, REPLAY_FLAGS);
  const flags = parseFlags(rest, REPLAY_FLAGS);
  if (files.length === 0) throw new UsageError('name the audit log of a NameNode: load replay AUDIT_LOG --fs …');
  const choice = readChoice(flags);
  const asked = readAskedPlan(flags);
  const { log, plan, calls } = await readReplay(files, asked, choice, flags.connections !== undefined);
  const reporting = readReporting(flags, plan);
  const print = flags.json === '-' ? process.stderr : process.stdout;
  for (const line of describeReplay(files, log, plan)) print.write(`${line}\n`);
  using interrupt = new Interrupt();
  const { signal } = interrupt;
  const measured = () => measureAndReport(plan, reporting, { signal, replay: calls });
  return await withNamespace(plan, measured, signal, { entries: log.entries, user: userOf(asked) });
}

function readChoice(flags: ReplayFlags): ReplayChoice {
  const fromMs = readTime('--from', flags.from);
  const toMs = readTime('--to', flags.to);
  if (fromMs !== null && toMs !== null && toMs <= fromMs) {
    throw new UsageError(`--to ${flags.to} is not after --from ${flags.from}`);
  }
  const limit = parseCount('--limit', flags.limit, { otherwise: Number.POSITIVE_INFINITY, max: MAX_REPLAY_CALLS });
  return { fromMs, toMs, limit, readOnly: flags['read-only'] === true };
}

function readTime(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const timeMs = parseAuditTime(text.trim());
  if (timeMs === null) {
    throw new UsageError(`${flag} ${text}: give a time as it stands in the log, for instance '2026-11-30 12:00:00'`);
  }
  return timeMs;
}

/** Factor of the recorded speed: `2x`, `0.5x`; the x may be left out. */
export function parseSpeed(text: string | undefined): number {
  if (text === undefined) return 1;
  const [, digits] = /^([0-9]{1,6}(?:\.[0-9]{1,6})?)x?$/i.exec(text.trim()) ?? [];
  const speed = digits === undefined ? Number.NaN : Number(digits);
  if (speed >= MIN_SPEED && speed <= MAX_SPEED) return speed;
  throw new UsageError(`--speed ${text}: give a factor from ${MIN_SPEED}x to ${MAX_SPEED}x, for instance 2x`);
}

/** The plan of the flags, before the log says who calls. */
function readAskedPlan(flags: ReplayFlags): LoadPlan {
  for (const name of NO_MEANING) {
    if (flags[name] !== undefined)
      throw new UsageError(`--${name} has no meaning here: leave it out, the log tells it`);
  }
  const readOnly = flags['read-only'] === true;
  if (readOnly && flags.mounts !== undefined) {
    throw new UsageError('--mounts has no meaning with --read-only: nothing is made, paths are those of the log');
  }
  const plan = readPlan(flags, { loop: { kind: 'replay', speed: parseSpeed(flags.speed) } });
  if (!readOnly && plan.targets.length === 0) {
    throw new UsageError(
      'give --mounts /directory, in which the replay makes a directory of its own for all paths of the log, ' +
        'or --read-only to replay reads alone on the paths themselves',
    );
  }
  return { ...plan, targets: readOnly ? [] : plan.targets, filesPerTarget: 0 };
}

/** Reads the log and gives its users their connections. */
async function readReplay(
  files: readonly string[],
  asked: LoadPlan,
  choice: ReplayChoice,
  isBounded: boolean,
): Promise<{ log: Recorded; plan: LoadPlan; calls: readonly ReplayCall[] }> {
  const log = await readRecorded(files, asked.targets, choice);
  refuseTooLong(log.spanMs, asked);
  const connections = Math.min(log.users.length, isBounded ? asked.connections : DEFAULT_CONNECTIONS);
  if (asked.threads > connections) {
    throw new UsageError(`--threads ${asked.threads}: each needs a connection, and there are ${connections}`);
  }
  const plan = { ...asked, connections, users: log.users.slice(0, connections) };
  return { log, plan, calls: shareUsers(log.calls, log.users, connections) };
}

export function refuseTooLong(spanMs: number, { loop }: Pick<LoadPlan, 'loop'>): void {
  const speed = loop.kind === 'replay' ? loop.speed : 1;
  if (spanMs / speed <= MAX_DURATION_MS) return;
  throw new UsageError(
    `the replay would take ${formatCount(spanMs / speed / 3_600_000)} hours, at most ${MAX_DURATION_MS / 3_600_000} are possible; ` +
      'choose a part of the log with --from and --to, or give a higher --speed',
  );
}

/** The users with the most calls keep their names, the others call by theirs in turn: a connection has one user. */
export function shareUsers(
  calls: readonly ReplayCall[],
  users: readonly string[],
  connections: number,
): readonly ReplayCall[] {
  if (users.length <= connections) return calls;
  const caller = new Map(users.map((user, index) => [user, users[index % connections] ?? user]));
  return calls.map((call) => ({ ...call, user: caller.get(call.user) ?? call.user }));
}

/** Who makes and removes the own directories: --user, not somebody of the log. */
function userOf({ users: [user] }: LoadPlan): string {
  if (user === undefined) throw new UsageError('give --user NAME');
  return user;
}

function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** What is replayed and what is not. */
export function describeReplay(files: readonly string[], log: Recorded, { users, loop }: LoadPlan): string[] {
  const { added, calls, entries, leftOut, reading, spanMs } = log;
  const speed = loop.kind === 'replay' ? loop.speed : 1;
  const lines = [
    `replay of ${plainText(files.join(', '), MAX_LINE_CHARACTERS)}: ${countOf(calls.length, 'call')} of ${countOf(log.users.length, 'user')} ` +
      `over ${formatMs(spanMs)}${speed === 1 ? '' : `, at ${speed} times its speed in ${formatMs(spanMs / speed)}`}`,
  ];
  if (entries.length > 0) {
    const made =
      entries.length === 1 ? '1 file or directory is' : `${formatCount(entries.length)} files and directories are`;
    lines.push(`  ${made} made for it before`);
  }
  if (added > 0) {
    lines.push(
      `  ${formatCount(added)} of the calls are mkdirs for directories that calls of the log make on their way`,
    );
  }
  if (users.length < log.users.length) {
    lines.push(
      `  ${countOf(log.users.length - users.length, 'user')} ${log.users.length - users.length === 1 ? 'calls by the name of another' : 'call by the names of others'}: a connection has one user, ` +
        'give --connections to have more',
    );
  }
  if (leftOut.size > 0) {
    const sorted = [...leftOut].sort(([, left], [, right]) => right - left);
    lines.push('  not replayed');
    lines.push(
      ...alignRows(
        sorted
          .slice(0, MAX_PRINTED_REASONS)
          .map(([reason, count]) => [plainText(reason, MAX_REASON_CHARACTERS), formatCount(count)]),
        '    ',
      ),
    );
    if (sorted.length > MAX_PRINTED_REASONS) lines.push(`    and ${sorted.length - MAX_PRINTED_REASONS} more kinds`);
  }
  if (reading.unreadable > 0) {
    lines.push(
      `  ${reading.unreadable === 1 ? '1 line is' : `${formatCount(reading.unreadable)} lines are`} not of an audit log, the first is ${plainText(reading.firstUnreadable, MAX_LINE_CHARACTERS)}`,
    );
  }
  return [...lines, ''];
}
