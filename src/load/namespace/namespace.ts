/**
 * The directory that a run makes for itself below each target.
 *
 *   <directory>/switchyard-load-1a2b3c4d/            0777, so are all directories in it
 *     .switchyard-load-1a2b3c4d                       marker: what has none is never deleted; as old as the last sign of life
 *     files/…                                         made here when the run reads them
 *     scratch/t<thread>/b<group>/…                    filled and changed by the run, when it changes anything
 */
import type { HdfsClient } from '../../control/hdfs-client.ts';
import { RemoteError } from '../../control/rpc-client.ts';
import { countScratchGroups, fileDirectory, filePath, scratchGroup } from '../plan/layout.ts';
import { neededFiles, needsScratch } from '../plan/needs.ts';
import type { LoadPlan, Target } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { explain } from './explain.ts';
import { MarkerRenewal } from './marker-renewal.ts';
import { checkOwn, connect, DIRECTORY_MODE, fileOptions, markerPath, ownerOf, type Server } from './own-directory.ts';
import { removeQuietly } from './removal.ts';

/** Calls of one preparation that wait for their answers at a time. */
const MAX_OUTSTANDING = 64;
/** A preparation waits for an answer as long as the run, and at least so long. */
const MIN_CALL_TIMEOUT_MS = 1000;
/** Connections of a preparation: one for each user that is to own something. */
const MAX_OWNERS = 256;

/** Something that has to be there before the run; parents come before what is in them. */
export interface NamespaceEntry {
  /** Inside the own directory of a target. */
  readonly path: string;
  readonly isDirectory: boolean;
  /** Null: the user of the preparation. */
  readonly owner: string | null;
}

export interface PrepareOptions {
  /** Made besides the files and scratch directories of the plan. */
  readonly entries?: readonly NamespaceEntry[];
  /** Who makes and removes the own directories; default: the owner of the plan, else its first user. */
  readonly user?: string;
  /** Ends the preparation early; what was made is removed. */
  readonly signal?: AbortSignal;
  /** The server is there and so are the directories of the targets; making begins. */
  readonly onChecked?: () => void;
}

/**
 * Makes the own directory of each target with everything that the plan needs in it. Rejects with LoadError, after removing what it made.
 */
export async function prepareNamespace(plan: LoadPlan, options: PrepareOptions = {}): Promise<void> {
  const { targets } = plan;
  for (const target of targets) checkOwn(target);
  const entries = options.entries ?? [];
  const outside = entries.find(({ path }) => !targets.some(({ own }) => path.startsWith(`${own}/`)));
  if (outside !== undefined) throw new LoadError(`${outside.path} is not in a directory of this run: nothing was made`);
  const made: Target[] = [];
  const user = options.user ?? ownerOf(plan);
  const clients = new Clients(plan, user, Math.max(MIN_CALL_TIMEOUT_MS, plan.timeoutMs));
  // Many files take their time.
  using _renewal = new MarkerRenewal(plan, user);
  try {
    const client = await endWith(options.signal, checkTargets(clients, targets));
    options.onChecked?.();
    for (const target of targets) {
      options.signal?.throwIfAborted();
      made.push(target);
      await makeOwn(client, target, () => made.pop());
    }
    for (const target of targets) await fillTarget(client, plan, target, options.signal);
    await makeEntries(clients, entries, options.signal);
  } catch (error) {
    clients.close();
    const left = await removeQuietly(plan, made, user);
    const reason = options.signal?.aborted === true ? 'the preparation was ended early' : explain(error, plan);
    throw new LoadError(`${reason}${left}`, { cause: error });
  } finally {
    clients.close();
  }
}

async function checkTargets(clients: Clients, targets: readonly Target[]): Promise<HdfsClient> {
  const client = await clients.first();
  for (const target of targets) await checkTarget(client, target);
  return client;
}

/** Waits for what changes nothing, but not beyond the signal. */
async function endWith<T>(signal: AbortSignal | undefined, waiting: Promise<T>): Promise<T> {
  if (signal === undefined) return await waiting;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([waiting, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function checkTarget(client: HdfsClient, { directory, own }: Target): Promise<void> {
  const status = await client.getFileInfo(directory);
  if (status === undefined) {
    throw new LoadError(`${directory} does not exist; make it (hdfs dfs -mkdir), or name another directory`);
  }
  if (status.fileType !== 'IS_DIR') {
    throw new LoadError(`${directory} is not a directory; name the directory in which this run may make its own`);
  }
  if ((await client.getFileInfo(own)) !== undefined)
    throw new LoadError(`${own} exists already; run the command again`);
}

/** Creating a file that is there, or that somebody else has open. */
const IS_TAKEN = /FileAlreadyExistsException|AlreadyBeingCreatedException/;

/**
 * The marker is created without overwriting: it tells who was first, should somebody else have made the directory just now. `onTaken`: it is
 * of somebody else, and must not be removed.
 */
async function makeOwn(client: HdfsClient, { directory, own }: Target, onTaken: () => void): Promise<void> {
  if (!(await client.mkdirs(own, DIRECTORY_MODE, false))) {
    throw new LoadError(`${own} was not made; name another directory than ${directory}`);
  }
  try {
    await client.createEmptyFile(markerPath(own), fileOptions());
  } catch (error) {
    if (!(error instanceof RemoteError) || !IS_TAKEN.test(error.className)) throw error;
    onTaken();
    throw new LoadError(`${own} is made by another run just now; run the command again`, { cause: error });
  }
}

async function fillTarget(
  client: HdfsClient,
  plan: LoadPlan,
  target: Target,
  signal: AbortSignal | undefined,
): Promise<void> {
  const directories = new Set<string>();
  const groups = needsScratch(plan) ? countScratchGroups(plan) : 0;
  for (let thread = 0; thread < plan.threads; thread++) {
    for (let group = 0; group < groups; group++)
      addWithParents(directories, target, scratchGroup(target, thread, group));
  }
  const files = neededFiles(plan);
  for (let file = 0; file < files; file++) addWithParents(directories, target, fileDirectory(target, file));
  // Parents come first, one after the other: a parent that a child's call makes would not be open to all.
  const byDepth = Map.groupBy(directories, (path) => path.split('/').length);
  for (const depth of [...byDepth.keys()].sort((left, right) => left - right)) {
    await callEach(byDepth.get(depth) ?? [], signal, (path) => makeDirectory(client, path));
  }
  await callEach(filePaths(target, files), signal, async (path) => {
    await client.createEmptyFile(path, fileOptions());
  });
}

function* filePaths(target: Target, files: number): Generator<string> {
  for (let file = 0; file < files; file++) yield filePath(target, file);
}

/** Adds a directory and those between it and the own directory. */
function addWithParents(directories: Set<string>, { own }: Target, path: string): void {
  for (let at = path; at.length > own.length && !directories.has(at); at = at.slice(0, at.lastIndexOf('/'))) {
    directories.add(at);
  }
}

/** Entries level by level: whatever is in a directory comes after it. */
async function makeEntries(
  clients: Clients,
  entries: readonly NamespaceEntry[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const byDepth = Map.groupBy(entries, ({ path }) => path.split('/').length);
  for (const depth of [...byDepth.keys()].sort((left, right) => left - right)) {
    await callEach(byDepth.get(depth) ?? [], signal, async ({ path, isDirectory, owner }) => {
      const client = await clients.of(owner);
      await (isDirectory ? makeDirectory(client, path) : client.createEmptyFile(path, fileOptions()));
    });
  }
}

async function makeDirectory(client: HdfsClient, path: string): Promise<void> {
  if (!(await client.mkdirs(path, DIRECTORY_MODE, false))) throw new LoadError(`${path} was not made`);
}

/** Runs `call` for each item, MAX_OUTSTANDING at a time. At the first failure, or the signal, no more begin; those that run are awaited. */
async function callEach<T>(
  items: Iterable<T>,
  signal: AbortSignal | undefined,
  call: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed = false;
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true && !failed; next = iterator.next()) {
      try {
        signal?.throwIfAborted();
        await call(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: MAX_OUTSTANDING }, lane));
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** Connections of the users that own something. Beyond MAX_OWNERS of them the first user owns the rest. */
class Clients {
  readonly #server: Server;
  readonly #user: string;
  readonly #timeoutMs: number;
  readonly #byUser = new Map<string, Promise<HdfsClient>>();
  #closed = false;

  constructor(server: Server, user: string, timeoutMs: number) {
    this.#server = server;
    this.#user = user;
    this.#timeoutMs = timeoutMs;
  }

  first(): Promise<HdfsClient> {
    return this.of(null);
  }

  of(owner: string | null): Promise<HdfsClient> {
    const user = owner ?? this.#user;
    const known = this.#byUser.get(user);
    if (known !== undefined) return known;
    if (this.#byUser.size >= MAX_OWNERS) return this.of(null);
    const client = connect(this.#server, user, this.#timeoutMs);
    this.#byUser.set(user, client);
    return client;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const client of this.#byUser.values()) {
      // One that did not come about was reported by who waited for it.
      client.then((one) => one.close()).catch(() => undefined);
    }
  }
}
