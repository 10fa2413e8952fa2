/** `export` and `apply`: the mount table as a file. */
import { ExitCode, UsageError } from '../../commands/usage.ts';
import { senselessReason } from '../../mount/entry.ts';
import type { AdminClient } from './admin-client.ts';
import { isGiven, readArguments, requireCount } from './arguments.ts';
import { type AdminContext, connect, printResult, readOwner, warn } from './context.ts';
import { applyDifference, type Outcome } from './declared/apply.ts';
import { declare, type PlacedMount } from './declared/declared.ts';
import {
  type Difference,
  type DifferenceOptions,
  findDifference,
  renderDifference,
  type Step,
} from './declared/difference.ts';
import { readDocumentFile } from './declared/read-document.ts';
import { documentOf, writeDocument } from './declared/write-document.ts';
import { countOf, reasonOf } from './text.ts';
import type { Verb } from './verb.ts';

const APPLY_FLAGS = { 'dry-run': { type: 'boolean' }, prune: { type: 'boolean' } } as const;
const APPLY_USAGE = 'apply FILE|- [--dry-run] [--prune]';
const EXPORT_FLAGS = { yaml: { type: 'boolean' } } as const;
const EXPORT_USAGE = 'export [--yaml|--json]';
/** Removals and refusals with a line of their own; more are counted. */
const MAX_LINES = 10_000;

export const TABLE_VERBS: readonly Verb[] = [
  {
    name: 'export',
    aliases: [],
    usage: EXPORT_USAGE,
    summary: 'write the mount table as a file for apply, in YAML or JSON',
    run: exportTable,
  },
  {
    name: 'apply',
    aliases: [],
    usage: APPLY_USAGE,
    summary: 'make the mount table what a file says; --dry-run only shows the difference, --prune removes the rest',
    run: applyFile,
  },
];

async function exportTable(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, EXPORT_FLAGS);
  requireCount(positionals, 0, 0, EXPORT_USAGE);
  const context = contextOf();
  if (isGiven(flags, 'yaml') && context.json) throw new UsageError('--yaml and --json: give one of them');
  using client = await connect(context);
  await refreshFirst(client);
  const entries = (await client.readMounts('/')).map(({ entry }) => entry);
  for (const entry of entries) {
    const reason = senselessReason(entry);
    if (reason !== null) warn(`${reason}; it is written as it is, apply takes it only while it stays so`);
  }
  const mounts = entries.map((entry) => [entry.sourcePath, documentOf(declare(entry))] as const);
  const comment = `${countOf(entries.length, 'mount')} of ${client.address}`;
  process.stdout.write(writeDocument(mounts, context.json ? 'json' : 'yaml', [comment]));
  return ExitCode.OK;
}

async function applyFile(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, APPLY_FLAGS);
  requireCount(positionals, 1, 1, APPLY_USAGE);
  const [file = ''] = positionals;
  const prune = isGiven(flags, 'prune');
  const context = contextOf();
  const declared = readDocumentFile(file);
  if (prune && declared.length === 0) {
    throw new UsageError(`${file}: it has no mounts, and --prune would remove all there are; remove them with rm`);
  }
  using client = await connect(context);
  await refreshFirst(client);
  const options = { prune, ...(await readOwner(context)), nowMs: Date.now() };
  const difference = findDifference(declared, await client.readMounts('/'), options);
  const isDry = isGiven(flags, 'dry-run');
  if (!context.json) printResult(context, null, renderDifference(difference));
  if (isDry || difference.steps.length === 0) {
    if (context.json) printResult(context, reportOf(difference, isDry, []), []);
    return ExitCode.OK;
  }
  return await carryOut(client, context, declared, difference, options);
}

async function carryOut(
  client: AdminClient,
  context: AdminContext,
  declared: readonly PlacedMount[],
  difference: Difference,
  options: DifferenceOptions,
): Promise<number> {
  const outcomes: Outcome[] = [];
  let broken: unknown = null;
  try {
    await applyDifference(client, declared, difference, options, (outcome) => outcomes.push(outcome));
  } catch (error) {
    broken = error;
  }
  const told = new Set(outcomes.map(({ path }) => path));
  const untold = difference.steps.filter(({ path }) => !told.has(path));
  for (const { kind, path } of untold) {
    outcomes.push({ kind, path, isDone: false, reason: `not known whether it is done: ${reasonOf(broken)}` });
  }
  const failed = outcomes.filter(({ isDone }) => !isDone);
  const done = outcomes.length - failed.length;
  if (done > 0 && broken === null) await refreshAll(context, client);
  printResult(context, reportOf(difference, false, outcomes), [
    `${countOf(done, 'change')} applied${failed.length > 0 ? `, ${failed.length} not` : ''}`,
  ]);
  for (const { kind, path, reason } of failed.slice(0, MAX_LINES)) warn(`${SIGNS[kind]} ${path}: ${reason}`);
  if (failed.length > MAX_LINES) warn(`and ${failed.length - MAX_LINES} more`);
  return failed.length === 0 ? ExitCode.OK : ExitCode.FAILED;
}

const SIGNS: Readonly<Record<Step['kind'], string>> = { add: '+', change: '~', remove: '-' };

function reportOf(difference: Difference, isDry: boolean, outcomes: readonly Outcome[]): object {
  const ends = new Map(outcomes.map((outcome) => [outcome.path, outcome]));
  return {
    dryRun: isDry,
    steps: difference.steps.map((step) => {
      const end = ends.get(step.path);
      return {
        kind: step.kind,
        path: step.path,
        ...(step.kind === 'change' ? { changes: step.changes } : {}),
        ...(step.kind === 'add' ? { mount: documentOf(declare(step.entry)) } : {}),
        ...(end === undefined ? {} : { applied: end.isDone }),
        ...(end === undefined || end.isDone ? {} : { reason: end.reason }),
      };
    }),
    unchanged: difference.unchanged,
    kept: difference.kept,
  };
}

/** What the router shows is its cache, and that of a Java router may be a minute old. */
async function refreshFirst(client: AdminClient): Promise<void> {
  if (!(await client.refreshMounts()))
    warn(`${client.address} could not read the State Store; its mount table may be old`);
}

/** One refresh of each router that is named, for the whole batch. Those that are not reached read the table by themselves. */
async function refreshAll(context: AdminContext, client: AdminClient): Promise<void> {
  for (const address of context.addresses) {
    try {
      if (await refreshOne(context, client, address)) continue;
      warn(`a router at ${address.host}:${address.port} has not read the mount table; it will by itself`);
    } catch (error) {
      warn(`${reasonOf(error)}; that router reads the mount table by itself later`);
    }
  }
}

async function refreshOne(
  context: AdminContext,
  client: AdminClient,
  address: AdminContext['addresses'][number],
): Promise<boolean> {
  if (client.isAt(address)) return await client.refreshMounts();
  using other = await connect(context, [address]);
  return await other.refreshMounts();
}
