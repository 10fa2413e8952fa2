import { ExitCode, UsageError } from '../../commands/usage.ts';
import { emptyEntry, type MountEntry, senselessReason } from '../../mount/entry.ts';
import { escapeKey } from '../../state-store/record-names.ts';
import { modeText, quotaText } from '../mount-rules.ts';
import { readArguments, requireCount } from './arguments.ts';
import { type AdminContext, connect, printResult, readOwner, warn } from './context.ts';
import { declare } from './declared/declared.ts';
import { documentOf } from './declared/write-document.ts';
import { ADD_FLAGS, readDestinations, readMountFields, readSource, UPDATE_FLAGS } from './mount-flags.ts';
import { alignColumns, countOf, plainText } from './text.ts';
import type { Verb } from './verb.ts';

const ADD_USAGE =
  'add SOURCE NS[,NS…] PATH [--order O] [--read-only] [--fault-tolerant] [--owner U] [--group G] [--mode M]';
const ADD_ALL_USAGE = 'add-all SOURCE NS[,NS…] PATH [flags of add] , SOURCE NS PATH [flags] …';
const UPDATE_USAGE =
  'update SOURCE [NS[,NS…] PATH] [--order O] [--read-only true|false] [--fault-tolerant true|false] [--owner U] [--group G] [--mode M]';

const LIST_FLAGS = { detail: { type: 'boolean', short: 'd' } } as const;

export const MOUNT_VERBS: readonly Verb[] = [
  {
    name: 'add',
    aliases: [],
    usage: ADD_USAGE,
    summary: 'add a mount entry, or more destinations to one that is there',
    run: add,
  },
  {
    name: 'add-all',
    aliases: ['addAll'],
    usage: ADD_ALL_USAGE,
    summary: 'add several mount entries in one call',
    run: addAll,
  },
  {
    name: 'update',
    aliases: [],
    usage: UPDATE_USAGE,
    summary: 'change a mount entry; what is not given stays',
    run: update,
  },
  {
    name: 'rm',
    aliases: ['remove'],
    usage: 'rm SOURCE…',
    summary: 'remove mount entries',
    run: remove,
  },
  {
    name: 'ls',
    aliases: ['list'],
    usage: 'ls [-d] [PATH]',
    summary: 'list the mount entries at and below a path; -d: with order and marks',
    run: list,
  },
];

/** As the Java tool does it; but an entry that is there keeps what no flag names. */
async function add(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, ADD_FLAGS);
  requireCount(positionals, 3, 3, ADD_USAGE);
  const [source = '', nameservices = '', path = ''] = positionals;
  const sourcePath = readSource(source);
  const destinations = readDestinations(nameservices, path);
  const fields = readMountFields(flags);
  const context = contextOf();
  using client = await connect(context);
  await client.refreshMounts();
  const before = await client.findMount(sourcePath);
  if (before === null) {
    const entry = await newEntry(context, { sourcePath, destinations, ...fields });
    if (await client.addMount(entry)) return done(context, 'added', sourcePath);
    return refused(`mount ${sourcePath} was not added: there is an entry already that ${context.user} may not read`);
  }
  for (const { nameservice, path: target } of destinations) {
    const known = before.entry.destinations.some(
      (destination) => destination.nameservice === nameservice && destination.path === target,
    );
    if (known) return refused(`mount ${sourcePath} leads to ${nameservice}:${target} already; nothing was changed`);
  }
  const entry = {
    ...before.entry,
    ...fields,
    destinations: [...before.entry.destinations, ...destinations],
    dateModified: Date.now(),
  };
  requireSense(entry);
  if (await client.updateMount(entry, before)) return done(context, 'extended', sourcePath);
  return refused(`the router did not change mount ${sourcePath}`);
}

async function addAll(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const context = contextOf();
  const entries: MountEntry[] = [];
  for (const words of splitAtCommas(args)) {
    const { positionals: own, flags } = readArguments(words, ADD_FLAGS);
    requireCount(own, 3, 3, ADD_ALL_USAGE);
    const [source = '', nameservices = '', path = ''] = own;
    const sourcePath = readSource(source);
    if (entries.some((entry) => entry.sourcePath === sourcePath)) {
      throw new UsageError(`mount ${sourcePath} is given twice; put its destinations into one`);
    }
    const destinations = readDestinations(nameservices, path);
    entries.push(await newEntry(context, { sourcePath, destinations, ...readMountFields(flags) }));
  }
  if (entries.length === 0) throw new UsageError(`something is missing; write: switchyard admin ${ADD_ALL_USAGE}`);
  using client = await connect(context);
  const failed = await client.addMounts(entries);
  // A Java router that could not add all shows what it did add only after that.
  if (failed !== null) await client.refreshMounts();
  const names = new Set((failed ?? []).map(escapeKey));
  const isAdded = (path: string): boolean => failed === null || (names.size > 0 && !names.has(escapeKey(path)));
  const paths = entries.map(({ sourcePath }) => sourcePath);
  const added = paths.filter(isAdded);
  const others = paths.filter((path) => !isAdded(path));
  printResult(
    context,
    { added, failed: others },
    added.map((path) => plainText(`added ${path}`)),
  );
  for (const path of others)
    warn(`mount ${path} was not added: there is an entry already, or the store did not take it`);
  return failed === null ? ExitCode.OK : ExitCode.FAILED;
}

async function update(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, UPDATE_FLAGS);
  requireCount(positionals, 1, 3, UPDATE_USAGE);
  const [source = '', nameservices, path] = positionals;
  const sourcePath = readSource(source);
  if (nameservices !== undefined && path === undefined) {
    throw new UsageError(`a path in ${nameservices} is missing; write: switchyard admin ${UPDATE_USAGE}`);
  }
  const fields = readMountFields(flags);
  if (nameservices === undefined && Object.keys(fields).length === 0) {
    throw new UsageError(`nothing to change is given; write: switchyard admin ${UPDATE_USAGE}`);
  }
  const destinations = nameservices === undefined ? null : readDestinations(nameservices, path ?? '');
  const context = contextOf();
  using client = await connect(context);
  await client.refreshMounts();
  const before = await client.findMount(sourcePath);
  if (before === null)
    return refused(`there is no mount ${sourcePath} that ${context.user} may read; add makes a new one`);
  const entry = {
    ...before.entry,
    ...fields,
    destinations: destinations ?? before.entry.destinations,
    dateModified: Date.now(),
  };
  requireSense(entry);
  if (await client.updateMount(entry, before)) return done(context, 'updated', sourcePath);
  return refused(`the router did not change mount ${sourcePath}`);
}

async function remove(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals } = readArguments(args, {});
  requireCount(positionals, 1, Number.MAX_SAFE_INTEGER, 'rm SOURCE…');
  for (const path of positionals) readSource(path);
  const context = contextOf();
  using client = await connect(context);
  const removed: string[] = [];
  const missing: string[] = [];
  for (const path of positionals) {
    // As it is typed: entries that Java tools have made may end with a slash.
    const isGone =
      (await client.removeMount(path)) || (path !== readSource(path) && (await client.removeMount(readSource(path))));
    (isGone ? removed : missing).push(path);
  }
  printResult(
    context,
    { removed, missing },
    removed.map((path) => plainText(`removed ${path}`)),
  );
  for (const path of missing) warn(`there is no mount ${path}`);
  return missing.length === 0 ? ExitCode.OK : ExitCode.FAILED;
}

async function list(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals, flags } = readArguments(args, LIST_FLAGS);
  requireCount(positionals, 0, 1, 'ls [-d] [PATH]');
  const root = readSource(positionals[0] ?? '/');
  const context = contextOf();
  using client = await connect(context);
  const entries = (await client.readMounts(root)).map(({ entry }) => entry);
  return printResult(context, entries.map(listedOf), tableOf(entries, flags['detail'] === true));
}

/** An entry as `--json` shows it: the fields of a file of mounts, dates in ms since 1970, and what the quotas count. */
export function listedOf(entry: MountEntry): object {
  const { quota } = entry;
  return {
    path: entry.sourcePath,
    ...documentOf(declare(entry)),
    order: entry.order,
    readOnly: entry.readOnly,
    faultTolerant: entry.faultTolerant,
    dateCreated: entry.dateCreated,
    dateModified: entry.dateModified,
    usage: {
      filesAndDirectories: quota.fileAndDirectoryCount,
      spaceBytes: quota.spaceConsumed,
      storageTypes: Object.fromEntries(quota.types.map(({ type, consumed }) => [type, consumed])),
    },
  };
}

function* tableOf(entries: readonly MountEntry[], detail: boolean): Generator<string> {
  const rows = entries.map((entry) => {
    const destinations = entry.destinations.map(({ nameservice, path }) => `${nameservice}:${path}`).join(', ');
    const marks = [entry.readOnly ? 'read-only' : '', entry.faultTolerant ? 'fault-tolerant' : ''];
    const more = detail ? [entry.order, marks.filter((mark) => mark !== '').join(' ') || '-'] : [];
    const owner = `${entry.owner}:${entry.group}`;
    return [entry.sourcePath, destinations, owner, modeText(entry.mode), quotaText(entry.quota), ...more].map(
      plainText,
    );
  });
  const more = detail ? ['order', 'marks'] : [];
  if (rows.length > 0) yield* alignColumns([['mount', 'leads to', 'owner', 'mode', 'quota', ...more], ...rows]);
  yield countOf(rows.length, 'mount entry');
}

async function newEntry(
  context: AdminContext,
  given: Partial<MountEntry> & Pick<MountEntry, 'sourcePath'>,
): Promise<MountEntry> {
  const { owner, group } = await readOwner(context);
  const nowMs = Date.now();
  const entry = {
    ...emptyEntry(given.sourcePath, { routerUser: owner, superGroup: group }),
    dateCreated: nowMs,
    dateModified: nowMs,
    ...given,
  };
  requireSense(entry);
  return entry;
}

function requireSense(entry: MountEntry): void {
  const reason = senselessReason(entry);
  if (reason !== null) throw new UsageError(plainText(reason));
}

function splitAtCommas(words: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (word === ',') parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts.filter((part) => part.length > 0);
}

function done(context: AdminContext, what: string, path: string): number {
  return printResult(context, { [what]: path }, [plainText(`${what} ${path}`)]);
}

export function refused(message: string): number {
  warn(message);
  return ExitCode.FAILED;
}
