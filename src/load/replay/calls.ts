/** The calls of an audit log as a replay makes them: which, when, by whom, on which paths, and what has to be there before. */
import { UsageError } from '../../commands/usage.ts';
import type { NamespaceEntry } from '../namespace/namespace.ts';
import { isInside, MAX_PATH_BYTES } from '../plan/layout.ts';
import type { OperationName } from '../plan/operations.ts';
import type { ReplayCall, Target } from '../plan/plan.ts';
import { plainText } from '../result/format.ts';
import { LoadError } from '../run/load-error.ts';
import { type AuditCall, type AuditReading, readAuditLogs } from './audit-log.ts';
import { ReplayTree } from './tree.ts';

/** Calls that are kept in memory, twice with their threads; a longer log has to be replayed in parts. */
export const MAX_REPLAY_CALLS = 1_000_000;
/** Files and directories that are made before a replay. */
export const MAX_START_ENTRIES = 500_000;
/** Names under which calls that are left out are counted; the rest is one number. */
const MAX_LEFT_OUT_NAMES = 100;
const OTHER = 'other commands';
/** HDFS allows 1000, with those of the own directory. */
const MAX_PATH_COMPONENTS = 900;
/** Of a name that the log gives, in a message. */
const MAX_NAME_CHARACTERS = 60;
const TOO_MANY = `more than ${MAX_REPLAY_CALLS} calls to replay; take a part of it with --from and --to, or --limit`;
/** Directory in an own directory that stands for the root of the log's paths. */
const REPLAY_ROOT = 'replay';

interface Command {
  readonly operation: OperationName;
  readonly changes: boolean;
  /** Whether the call can be made with what is there at this point of the log. */
  readonly follow: (tree: ReplayTree, call: RecordedCall) => boolean;
  /** What it makes, and the directories around it when they are missing. */
  readonly makes?: 'file' | 'directory';
}

/** By the name in audit logs, which differs from the method's for some. */
const COMMANDS: Readonly<Record<string, Command>> = {
  open: {
    operation: 'getBlockLocations',
    changes: false,
    follow: (tree, { source }) => tree.use(source, 'file'),
  },
  getfileinfo: { operation: 'getFileInfo', changes: false, follow: (tree, { source }) => tree.look(source, 'file') },
  listStatus: { operation: 'getListing', changes: false, follow: (tree, { source }) => tree.look(source, 'directory') },
  contentSummary: {
    operation: 'getContentSummary',
    changes: false,
    follow: (tree, { source }) => tree.look(source, 'directory') && tree.use(source, 'any'),
  },
  create: {
    operation: 'create',
    changes: true,
    follow: (tree, { source }) => tree.createFile(source),
    makes: 'file',
  },
  mkdirs: {
    operation: 'mkdirs',
    changes: true,
    follow: (tree, { source }) => tree.makeDirectory(source),
    makes: 'directory',
  },
  rename: {
    operation: 'rename',
    changes: true,
    follow: (tree, { source, destination }) => tree.move(source, destination),
  },
  delete: { operation: 'delete', changes: true, follow: (tree, { source }) => tree.remove(source) },
  setPermission: {
    operation: 'setPermission',
    changes: true,
    follow: (tree, { source, user }) => tree.own(source, user),
  },
  setTimes: { operation: 'setTimes', changes: true, follow: (tree, { source }) => tree.use(source, 'any') },
};

export interface ReplayChoice {
  /** Within these times of the log, null: all; and no more than `limit` calls. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly limit: number;
  /** Reads alone, on the very paths of the log. */
  readonly readOnly: boolean;
}

export interface Recorded {
  /** By time, from 0. */
  readonly calls: readonly ReplayCall[];
  /** Of the calls, those with the most calls first. */
  readonly users: readonly string[];
  /** Has to be made before; empty for reads alone. */
  readonly entries: readonly NamespaceEntry[];
  readonly spanMs: number;
  /** Of the calls, those for directories that the log's calls make on their way: each is made by a call of its own. */
  readonly added: number;
  /** Calls of the log that are not replayed, by reason. */
  readonly leftOut: ReadonlyMap<string, number>;
  readonly reading: AuditReading;
}

/** What is kept of a call of the log. */
type RecordedCall = Pick<AuditCall, 'timeMs' | 'user' | 'command' | 'source' | 'destination'>;

/**
 * Reads logs for a replay below the own directories of `targets`, or of reads alone. Rejects with UsageError when there is nothing to replay
 * or too much.
 */
export async function readRecorded(
  files: readonly string[],
  targets: readonly Target[],
  choice: ReplayChoice,
): Promise<Recorded> {
  const leftOut = new LeftOut();
  const kept: RecordedCall[] = [];
  const texts = new Texts();
  const reading = await readAuditLogs(files, (call) => {
    if (choice.fromMs !== null && call.timeMs < choice.fromMs) return true;
    if (choice.toMs !== null && call.timeMs >= choice.toMs) return true;
    const reason = reasonAgainst(call, choice.readOnly);
    if (reason !== null) {
      leftOut.count(reason);
      return true;
    }
    if (kept.length === MAX_REPLAY_CALLS) throw new UsageError(`${files.join(', ')}: ${TOO_MANY}`);
    const { timeMs, user, command, source, destination } = call;
    kept.push({
      timeMs,
      user: texts.keep(user),
      command: texts.keep(command),
      source: texts.keep(source),
      destination: texts.keep(destination),
    });
    return kept.length < choice.limit;
  });
  if (reading.lines > 0 && reading.unreadable === reading.lines) {
    throw new UsageError(`${reading.firstUnreadable}: not a line of an audit log; name the audit log of a NameNode`);
  }
  // Lines of several handlers may stand a little out of order.
  kept.sort((left, right) => left.timeMs - right.timeMs);
  const recorded = choice.readOnly ? placeReads(kept) : placeBelow(kept, targets, leftOut);
  if (recorded.calls.length === 0) {
    const reasons = leftOut.size === 0 ? '' : ` (left out: ${[...leftOut.counts.keys()].join(', ')})`;
    throw new UsageError(`${files.join(', ')}: there is no call to replay${reasons}`);
  }
  return { ...recorded, users: usersOf(recorded.calls), leftOut: leftOut.counts, reading };
}

/** Null when the call can be replayed as far as can be seen from itself. */
function reasonAgainst(call: AuditCall, readOnly: boolean): string | null {
  if (!call.allowed) return 'refused in the log';
  const command = Object.hasOwn(COMMANDS, call.command) ? COMMANDS[call.command] : undefined;
  if (command === undefined || (readOnly && command.changes)) return plainText(call.command, MAX_NAME_CHARACTERS);
  if (!isPlain(call.source) || (command.operation === 'rename' && !isPlain(call.destination))) {
    return `${call.command} of a path that cannot be put elsewhere`;
  }
  return null;
}

/** A path that can be put below another directory: canonical, nothing that only the NameNode itself has. */
function isPlain(path: string): boolean {
  if (path === '/') return true;
  if (!path.startsWith('/') || path.startsWith('/.reserved/')) return false;
  const names = path.slice(1).split('/');
  return (
    names.length <= MAX_PATH_COMPONENTS &&
    !names.some((name) => name === '' || name === '.' || name === '..' || name === '.snapshot') &&
    !/[:\0]/.test(path)
  );
}

type Placed = Pick<Recorded, 'calls' | 'added' | 'entries' | 'spanMs'>;

function placeReads(kept: readonly RecordedCall[]): Placed {
  const startMs = kept[0]?.timeMs ?? 0;
  const calls = kept.map(({ timeMs, command, user, source }) => ({
    atMs: timeMs - startMs,
    operation: operationOf(command),
    user,
    source,
    destination: '',
  }));
  return { calls, added: 0, entries: [], spanMs: calls.at(-1)?.atMs ?? 0 };
}

function placeBelow(kept: readonly RecordedCall[], targets: readonly Target[], leftOut: LeftOut): Placed {
  const tree = new ReplayTree();
  const places = new Places(targets);
  const calls: ReplayCall[] = [];
  let startMs = 0;
  let added = 0;
  const follow = (call: RecordedCall): boolean => {
    const { timeMs, command, user, source, destination } = call;
    tree.call = calls.length;
    if (COMMANDS[command]?.follow(tree, call) !== true) return false;
    if (calls.length === MAX_REPLAY_CALLS) throw new UsageError(`the log: ${TOO_MANY}`);
    if (calls.length === 0) startMs = timeMs;
    const placed = {
      atMs: timeMs - startMs,
      operation: operationOf(command),
      user,
      source: places.of(source),
      destination: command === 'rename' ? places.of(destination) : '',
    };
    calls.push(tree.after.length === 0 ? placed : { ...placed, after: tree.after });
    return true;
  };
  for (const call of kept) {
    const { command, source, destination } = call;
    const reason = places.reasonAgainst(command, source, destination);
    if (reason !== null) {
      leftOut.count(`${command} ${reason}`);
      continue;
    }
    const makes = COMMANDS[command]?.makes;
    for (const path of makes === undefined ? [] : tree.missingAround(source, makes)) {
      if (follow({ ...call, command: 'mkdirs', source: path })) added++;
    }
    if (!follow(call)) leftOut.count(`${command} that the log does not explain`);
  }
  const entries: NamespaceEntry[] = places.roots();
  for (const { path, isDirectory, owner } of tree.startEntries()) {
    const entry = { path: places.of(path), isDirectory, owner };
    if (!places.isRoot(entry.path)) entries.push(entry);
  }
  if (entries.length > MAX_START_ENTRIES) {
    throw new UsageError(
      `the log needs ${entries.length} files and directories before it begins, at most ${MAX_START_ENTRIES} are made; ` +
        'take a part of it with --from and --to, or --limit',
    );
  }
  return { calls, added, entries, spanMs: calls.at(-1)?.atMs ?? 0 };
}

function operationOf(command: string): OperationName {
  const known = COMMANDS[command];
  if (known === undefined) throw new LoadError(`${command} is not replayed`);
  return known.operation;
}

/**
 * Where the paths of a log are put: `<own>/replay/<path>`, in the own directory of the target that holds the path, else in that of the first
 * target.
 */
class Places {
  readonly #targets: readonly Target[];
  readonly #first: Target;
  readonly #byPath = new Map<string, string>();
  readonly #roots = new Map<string, NamespaceEntry>();

  constructor(targets: readonly Target[]) {
    const [first] = targets;
    if (first === undefined) throw new LoadError('a replay needs a directory to work in');
    this.#first = first;
    // The longest directory that fits is the one that a router would choose.
    this.#targets = targets.toSorted((left, right) => right.directory.length - left.directory.length);
    for (const target of targets) this.#addRoots(target, targets.length > 1);
  }

  of(path: string): string {
    let place = this.#byPath.get(path);
    if (place === undefined) {
      const target = this.#targetOf(path);
      place = `${target.own}/${REPLAY_ROOT}${path === '/' ? '' : path}`;
      if (!isInside(target, place)) throw new LoadError(`${place} is not in ${target.own}`);
      this.#byPath.set(path, place);
    }
    return place;
  }

  /** Null when a call can be made on the paths where they are put. */
  reasonAgainst(command: string, source: string, destination: string): string | null {
    const isRename = command === 'rename';
    if ((isRename || command === 'delete') && (source === '/' || this.#holdsTarget(source))) {
      return 'of what holds a whole directory of --mounts';
    }
    if (isRename && this.#targetOf(source) !== this.#targetOf(destination))
      return 'between two directories of --mounts';
    const isLong = [source, destination].some((path) => Buffer.byteLength(this.of(path)) > MAX_PATH_BYTES);
    return isLong ? 'of a path that is too long where it is put' : null;
  }

  /** Made first: what stands for the root, and the way from there to each target's directory. */
  roots(): NamespaceEntry[] {
    return [...this.#roots.values()];
  }

  isRoot(place: string): boolean {
    return this.#roots.has(place);
  }

  #targetOf(path: string): Target {
    return this.#targets.find(({ directory }) => path === directory || path.startsWith(`${directory}/`)) ?? this.#first;
  }

  #holdsTarget(path: string): boolean {
    return (
      this.#targets.length > 1 &&
      this.#targets.some(({ directory }) => directory === path || directory.startsWith(`${path}/`))
    );
  }

  #addRoots({ directory, own }: Target, withDirectory: boolean): void {
    let path = `${own}/${REPLAY_ROOT}`;
    this.#addRoot(path);
    for (const name of withDirectory ? directory.slice(1).split('/') : []) {
      path += `/${name}`;
      this.#addRoot(path);
    }
  }

  #addRoot(path: string): void {
    this.#roots.set(path, { path, isDirectory: true, owner: null });
  }
}

/** Texts that are kept, each once and without the line of the log that it was cut from. */
class Texts {
  readonly #known = new Map<string, string>();

  keep(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // A part of a string keeps the whole of it in memory; what comes out of bytes is a string of its own.
    const own = Buffer.from(text).toString();
    this.#known.set(own, own);
    return own;
  }
}

/** Counts by reason, of a bounded number of reasons. */
class LeftOut {
  readonly counts = new Map<string, number>();

  get size(): number {
    return this.counts.size;
  }

  count(reason: string): void {
    const key = this.counts.has(reason) || this.counts.size < MAX_LEFT_OUT_NAMES ? reason : OTHER;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }
}

function usersOf(calls: readonly ReplayCall[]): string[] {
  const counts = new Map<string, number>();
  for (const { user } of calls) counts.set(user, (counts.get(user) ?? 0) + 1);
  return [...counts].sort(([, left], [, right]) => right - left).map(([user]) => user);
}
