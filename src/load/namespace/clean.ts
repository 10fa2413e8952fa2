/** `switchyard load clean`: removes what runs have left behind that were ended before they could do so themselves. */
import { randomBytes } from 'node:crypto';
import { ExitCode, parseFlags, printLine, UsageError } from '../../commands/usage.ts';
import type { HdfsClient } from '../../control/hdfs-client.ts';
import { readPlan } from '../plan/flags.ts';
import type { Target } from '../plan/plan.ts';
import { parseDuration } from '../plan/values.ts';
import { formatMs } from '../result/format.ts';
import { LoadError } from '../run/load-error.ts';
import { explain } from './explain.ts';
import { connect, fileOptions, isOwnName, markerPath, type Server } from './own-directory.ts';
import { removeOwn } from './removal.ts';

const CLEAN_FLAGS = {
  fs: { type: 'string' },
  mounts: { type: 'string' },
  user: { type: 'string' },
  'older-than': { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const;

/** A run that goes on renews its markers each minute, see marker-renewal.ts. */
const DEFAULT_OLDER_THAN_MS = 3_600_000;
const MAX_OLDER_THAN_MS = 366 * 24 * 3_600_000;
/** As long as a NameNode may take to list a directory. */
const TIMEOUT_MS = 60_000;

export async function run(args: string[]): Promise<number> {
  const flags = parseFlags(args, CLEAN_FLAGS);
  const olderThanMs = parseDuration('--older-than', flags['older-than'], {
    otherwise: DEFAULT_OLDER_THAN_MS,
    max: MAX_OLDER_THAN_MS,
  });
  const { fs, mounts, user } = flags;
  // A plan only for its checked targets.
  const plan = readPlan(
    {
      ...(fs === undefined ? {} : { fs }),
      ...(mounts === undefined ? {} : { mounts }),
      ...(user === undefined ? {} : { user }),
    },
    { loop: { kind: 'replay', speed: 1 } },
  );
  if (plan.targets.length === 0)
    throw new UsageError('give --mounts /directory,…: where runs have made their directories');
  const [caller = ''] = plan.users;
  const { marked: leftovers, unmarked } = await findLeftovers(plan, plan.targets, caller);
  const choice = { olderThanMs, isDry: flags['dry-run'] === true };
  let failed = false;
  for (const target of leftovers) {
    try {
      const said = await cleanOne(plan, target, caller, choice);
      if (said !== null) printLine(said);
    } catch (error) {
      failed = true;
      printLine(`left     ${target.own}: ${explain(error, plan)}`);
    }
  }
  for (const each of unmarked) {
    try {
      printLine(await cleanUnmarked(plan, each, caller, choice));
    } catch (error) {
      failed = true;
      printLine(`left     ${each.own}: ${explain(error, plan)}`);
    }
  }
  if (leftovers.length + unmarked.length === 0)
    printLine(`nothing was left in ${plan.targets.map(({ directory }) => directory).join(', ')}`);
  return failed ? ExitCode.FAILED : ExitCode.OK;
}

interface Choice {
  readonly olderThanMs: number;
  readonly isDry: boolean;
}

/** What has become of it; null when it is gone. The age is read just before the removal: a run may have given a sign of life since the listing. */
async function cleanOne(
  server: Server,
  target: Target,
  user: string,
  { olderThanMs, isDry }: Choice,
): Promise<string | null> {
  const ageMs = await readMarkerAge(server, target.own, user);
  if (ageMs === null) return null;
  const age = `${target.own}  last sign of life ${formatMs(ageMs)} ago`;
  if (ageMs < olderThanMs) return `kept     ${age}: not longer than ${formatMs(olderThanMs)}, see --older-than`;
  if (isDry) return `found    ${age}`;
  await removeOwn(server, [target], user);
  return `removed  ${age}`;
}

/**
 * A directory with a name of ours and no marker: of somebody else, or of a run that was ended before it made the marker. Only an empty one is
 * removed, and as an empty one. Its age is told by the clock of this process: nothing is written into it to ask the server for the time.
 */
async function cleanUnmarked(
  server: Server,
  { own, changedAtMs }: Unmarked,
  user: string,
  { olderThanMs, isDry }: Choice,
): Promise<string> {
  using client = await connect(server, user, TIMEOUT_MS);
  const listed = await client.list(own);
  if (listed === undefined) return `gone     ${own}`;
  if (listed.length > 0) return `kept     ${own}: no marker, and not empty; remove it yourself if it is of no use`;
  const ageMs = Math.max(0, Date.now() - changedAtMs);
  const age = `${own}: no marker, empty, last changed ${formatMs(ageMs)} ago`;
  if (ageMs < olderThanMs) return `kept     ${age}: not longer than ${formatMs(olderThanMs)}, see --older-than`;
  if (isDry) return `found    ${age}`;
  await client.delete(own, false);
  return `removed  ${age}`;
}

interface Unmarked {
  readonly own: string;
  /** By the clock of the server. */
  readonly changedAtMs: number;
}

interface Found {
  readonly marked: readonly Target[];
  readonly unmarked: readonly Unmarked[];
}

/** Directories with names of ours below those of the targets. Rejects with LoadError. */
export async function findLeftovers(server: Server, targets: readonly Target[], user: string): Promise<Found> {
  try {
    using client = await connect(server, user, TIMEOUT_MS);
    const marked: Target[] = [];
    const unmarked: Unmarked[] = [];
    for (const target of targets) {
      const listed = await client.list(target.directory);
      if (listed === undefined) {
        throw new LoadError(`${target.directory} does not exist; name the directory in which runs have made theirs`);
      }
      for (const status of listed) {
        const name = status.path.toString();
        const own = `${target.directory}/${name}`;
        if (status.fileType !== 'IS_DIR' || !isOwnName(name)) continue;
        if ((await client.getFileInfo(markerPath(own))) !== undefined) marked.push({ ...target, own });
        else unmarked.push({ own, changedAtMs: status.modification_time });
      }
    }
    return { marked, unmarked };
  } catch (error) {
    throw new LoadError(explain(error, server), { cause: error });
  }
}

/**
 * Ms since the marker of an own directory was made or renewed, by the clock of the server alone: against the time of a file that is made in
 * the same directory for it. Null when the marker is gone.
 */
export async function readMarkerAge(server: Server, own: string, user: string): Promise<number | null> {
  using client = await connect(server, user, TIMEOUT_MS);
  const marker = markerPath(own);
  if ((await client.getFileInfo(marker)) === undefined) return null;
  try {
    const nowMs = await readServerTime(client, `${own}/.clock-${randomBytes(4).toString('hex')}`);
    const status = await client.getFileInfo(marker);
    return status === undefined ? null : Math.max(0, nowMs - status.modification_time);
  } catch (error) {
    if ((await client.getFileInfo(marker)) === undefined) return null;
    throw error;
  }
}

async function readServerTime(client: HdfsClient, path: string): Promise<number> {
  await client.createEmptyFile(path, fileOptions());
  const status = await client.getFileInfo(path);
  await client.delete(path);
  if (status === undefined) throw new LoadError(`${path} was made and is gone: somebody else removes the directory`);
  return status.modification_time;
}
