/** `switchyard load clean`: removes what runs have left behind that were ended before they could do so themselves. */
import { ExitCode, parseFlags, printLine, UsageError } from '../../commands/usage.ts';
import { HdfsClient } from '../../control/hdfs-client.ts';
import { readPlan } from '../plan/flags.ts';
import type { Target } from '../plan/plan.ts';
import { parseDuration } from '../plan/values.ts';
import { formatMs } from '../result/format.ts';
import { LoadError } from '../run/load-error.ts';
import { explain, isOwnName, markerPath, removeOwn, type Server } from './namespace.ts';

const CLEAN_FLAGS = {
  fs: { type: 'string' },
  mounts: { type: 'string' },
  user: { type: 'string' },
  'older-than': { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const;

/** A run that goes on changes something below its directory all the time, unless it only reads. */
const DEFAULT_OLDER_THAN_MS = 3_600_000;
const MAX_OLDER_THAN_MS = 366 * 24 * 3_600_000;
/** As long as a NameNode may take to list a directory. */
const TIMEOUT_MS = 60_000;
/** Levels below an own directory whose times are looked at: scratch, scratch/t0 and its groups. */
const LOOKED_LEVELS = 3;
/** Entries whose times are looked at for one directory. */
const MAX_LOOKED = 10_000;

interface Leftover {
  readonly target: Target;
  /** Newest time of change, ms since 1970, by the NameNode's clock. */
  readonly changedMs: number;
}

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
  const leftovers = await findLeftovers(plan, plan.targets, caller);
  let failed = false;
  for (const { target, changedMs } of leftovers) {
    const ageMs = Math.max(0, Date.now() - changedMs);
    const age = `${target.own}  last changed ${formatMs(ageMs)} ago`;
    if (ageMs < olderThanMs) {
      printLine(`kept     ${age}: not longer than ${formatMs(olderThanMs)}, see --older-than`);
    } else if (flags['dry-run'] === true) {
      printLine(`found    ${age}`);
    } else {
      try {
        await removeOwn(plan, [target], caller);
        printLine(`removed  ${age}`);
      } catch (error) {
        failed = true;
        printLine(`left     ${age}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  if (leftovers.length === 0)
    printLine(`nothing was left in ${plan.targets.map(({ directory }) => directory).join(', ')}`);
  return failed ? ExitCode.FAILED : ExitCode.OK;
}

/** Directories of earlier runs below those of the targets; only those that are marked. Rejects with LoadError. */
export async function findLeftovers(
  server: Server,
  targets: readonly Target[],
  user: string,
): Promise<readonly Leftover[]> {
  try {
    using client = await HdfsClient.connect({ ...server, user, timeoutMs: TIMEOUT_MS });
    const found: Leftover[] = [];
    for (const target of targets) {
      const listed = await client.list(target.directory);
      if (listed === undefined) {
        throw new LoadError(`${target.directory} does not exist; name the directory in which runs have made theirs`);
      }
      for (const status of listed) {
        const name = status.path.toString();
        const own = `${target.directory}/${name}`;
        if (status.fileType !== 'IS_DIR' || !isOwnName(name)) continue;
        if ((await client.getFileInfo(markerPath(own))) === undefined) continue;
        const changedMs = await findNewest(client, own, status.modification_time);
        found.push({ target: { ...target, own }, changedMs });
      }
    }
    return found;
  } catch (error) {
    throw new LoadError(explain(error, server), { cause: error });
  }
}

/** A directory's own time says only when something was made right in it: those of the directories below count as well. */
async function findNewest(client: HdfsClient, own: string, changedMs: number): Promise<number> {
  let newestMs = changedMs;
  let looked = 0;
  let level = [own];
  for (let depth = 0; depth < LOOKED_LEVELS; depth++) {
    const below: string[] = [];
    for (const directory of level) {
      for (const status of (looked < MAX_LOOKED ? await client.list(directory) : undefined) ?? []) {
        looked++;
        newestMs = Math.max(newestMs, status.modification_time);
        if (status.fileType === 'IS_DIR') below.push(`${directory}/${status.path.toString()}`);
      }
    }
    level = below;
  }
  return newestMs;
}
