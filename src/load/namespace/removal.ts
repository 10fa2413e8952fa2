/** Removal of own directories. Each is looked at by itself: one that cannot be removed keeps none of the others back. */
import type { HdfsClient } from '../../control/hdfs-client.ts';
import { RemoteError, RpcError } from '../../control/rpc-client.ts';
import type { LoadPlan, Target } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { explain } from './explain.ts';
import { CALL_TIMEOUT_MS, checkOwn, connect, markerPath, ownerOf, type Server } from './own-directory.ts';

/** A NameNode deletes a large directory in one call. */
const DELETE_TIMEOUT_MS = 600_000;
/** A removal is tried again when the server is not there or not ready: what stays behind is a burden to others. */
const REMOVE_ATTEMPTS = 3;
const REMOVE_PAUSE_MS = 1_000;

/** Removes the own directory of each target of the plan, as removeOwn does. */
export async function removeNamespace(plan: LoadPlan, options: { readonly user?: string } = {}): Promise<void> {
  await removeOwn(plan, plan.targets, options.user ?? ownerOf(plan));
}

/**
 * Removes own directories, each after its marker was found in it. One that is gone is no error. Tries again when the server is away or not
 * ready. Rejects with a LoadError that names those that are left, and why.
 */
export async function removeOwn(server: Server, targets: readonly Target[], user: string): Promise<void> {
  for (const target of targets) checkOwn(target);
  let waiting = targets;
  const left: Failure[] = [];
  for (let attempt = 1; waiting.length > 0; attempt++) {
    const failures = await removeEach(server, waiting, user);
    const again = failures.filter(({ error }) => attempt < REMOVE_ATTEMPTS && mayPass(error));
    left.push(...failures.filter((failure) => !again.includes(failure)));
    waiting = again.map(({ target }) => target);
    if (waiting.length > 0) await new Promise((resolve) => setTimeout(resolve, REMOVE_PAUSE_MS));
  }
  const [first] = left;
  if (first !== undefined) throw new LoadError(describeLeft(server, left), { cause: first.error });
}

interface Failure {
  readonly target: Target;
  readonly error: unknown;
}

async function removeEach(server: Server, targets: readonly Target[], user: string): Promise<Failure[]> {
  let client: HdfsClient;
  try {
    client = await connect(server, user, DELETE_TIMEOUT_MS);
  } catch (error) {
    return targets.map((target) => ({ target, error }));
  }
  using connected = client;
  const failures: Failure[] = [];
  for (const target of targets) {
    try {
      if (await checkMarked(connected, target)) await connected.delete(target.own, true);
    } catch (error) {
      failures.push({ target, error });
    }
  }
  return failures;
}

/** One line for each reason. */
function describeLeft(server: Server, left: readonly Failure[]): string {
  const byReason = Map.groupBy(left, ({ error }) => explain(error, server));
  const lines = [...byReason].map(([reason, failures]) => {
    const where = failures.map(({ target }) => target.own).join(', ');
    return `not removed: ${where}: ${reason}`;
  });
  return `${lines.join('\n')}; \`switchyard load clean\` removes what was left`;
}

/** Whether the own directory is there. LoadError when it is there without its marker. */
async function checkMarked(client: HdfsClient, { own }: Target): Promise<boolean> {
  if ((await client.getFileInfo(markerPath(own))) !== undefined) return true;
  if ((await client.getFileInfo(own)) === undefined) return false;
  throw new LoadError(`it has no marker ${markerPath(own)}, so it is not of this tool, and was not deleted`);
}

/** Undoes a preparation that failed; '' or what has to be said of what is left. */
export async function removeQuietly(server: Server, made: readonly Target[], user: string): Promise<string> {
  const left: string[] = [];
  for (const target of made) {
    try {
      await removeMade(server, target, user);
    } catch (error) {
      left.push(explain(error, server));
    }
  }
  return left.length === 0 ? '' : `\n${left.join('\n')}`;
}

/** An own directory without a marker is empty, for the marker comes first: it is deleted as an empty directory only. */
async function removeMade(server: Server, target: Target, user: string): Promise<void> {
  using client = await connect(server, user, CALL_TIMEOUT_MS);
  const isMarked = (await client.getFileInfo(markerPath(target.own))) !== undefined;
  if (isMarked) await removeOwn(server, [target], user);
  else if ((await client.getFileInfo(target.own)) !== undefined) await client.delete(target.own, false);
}

/** Whether the same call may succeed a little later. */
function mayPass(error: unknown): boolean {
  if (error instanceof RpcError) return error.code !== 'MALFORMED';
  return error instanceof RemoteError && /StandbyException|RetriableException|NoNamenodes/.test(error.className);
}
