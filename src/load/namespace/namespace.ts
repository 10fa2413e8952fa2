/**
 * The directory that a run makes for itself below each target, and its removal.
 *
 *   <directory>/switchyard-load-1a2b3c4d/            0777, so are all directories in it
 *     .switchyard-load-1a2b3c4d                       marker: what has none is never deleted
 *     files/…                                         made here, read by the run
 *     scratch/t<thread>/…                             filled and changed by the run
 */
import { type CreateOptions, HdfsClient } from '../../control/hdfs-client.ts';
import { RemoteError, RpcError } from '../../control/rpc-client.ts';
import { fileDirectory, filePath, scratchDirectory } from '../plan/layout.ts';
import type { LoadPlan, Target } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';

/** Last component of every directory that this tool makes for itself, and the only one whose removal it asks for. */
const OWN_NAME = /^switchyard-load-[0-9a-f]{8}$/;
/** Everything is open to all users of the run. */
const DIRECTORY_MODE = 0o777;
const FILE_MODE = 0o666;
/** Calls of one preparation that wait for their answers at a time. */
const MAX_OUTSTANDING = 64;
/** Connections of a preparation: one for each user that is to own something. */
const MAX_OWNERS = 256;
/** Of a router that has to find another NameNode first. */
const CALL_TIMEOUT_MS = 60_000;
/** A NameNode deletes a large directory in one call. */
const DELETE_TIMEOUT_MS = 600_000;
/** A removal is tried again when the server is not there or not ready: what stays behind is a burden to others. */
const REMOVE_ATTEMPTS = 3;
const REMOVE_PAUSE_MS = 1_000;

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
}

export type Server = Pick<LoadPlan, 'host' | 'port'>;

/** Name of the marker in an own directory, from the path of that directory. */
export function markerPath(own: string): string {
  return `${own}/.${own.slice(own.lastIndexOf('/') + 1)}`;
}

/** Whether a directory's name is one that this tool gives. */
export function isOwnName(name: string): boolean {
  return OWN_NAME.test(name);
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
  const clients = new Clients(plan, options.user ?? firstUser(plan));
  try {
    const client = await clients.first();
    for (const target of targets) await checkTarget(client, target);
    for (const target of targets) {
      options.signal?.throwIfAborted();
      made.push(target);
      await makeOwn(client, target);
    }
    for (const target of targets) await fillTarget(client, plan, target, options.signal);
    await makeEntries(clients, entries, options.signal);
  } catch (error) {
    clients.close();
    const left = await removeQuietly(plan, made, options.user);
    const reason = options.signal?.aborted === true ? 'the preparation was ended early' : explain(error, plan);
    throw new LoadError(`${reason}${left}`, { cause: error });
  } finally {
    clients.close();
  }
}

/** Removes the own directory of each target; nothing at all when one of them is not marked as ours. One that is gone is no error. */
export async function removeNamespace(plan: LoadPlan, options: Pick<PrepareOptions, 'user'> = {}): Promise<void> {
  await removeOwn(plan, plan.targets, options.user ?? firstUser(plan));
}

/**
 * Removes own directories, after it has found the marker in each. Tries again when the server is away or not ready. Rejects with
 * LoadError.
 */
export async function removeOwn(server: Server, targets: readonly Target[], user: string): Promise<void> {
  for (const target of targets) checkOwn(target);
  for (let attempt = 1; ; attempt++) {
    try {
      using client = await connect(server, user, DELETE_TIMEOUT_MS);
      const there: Target[] = [];
      for (const target of targets) if (await checkMarked(client, target)) there.push(target);
      for (const { own } of there) await client.delete(own, true);
      return;
    } catch (error) {
      if (attempt === REMOVE_ATTEMPTS || !mayPass(error)) {
        const where = targets.map(({ own }) => own).join(', ');
        throw new LoadError(
          `not removed: ${where}: ${explain(error, server)}; \`switchyard load clean\` removes what was left`,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, REMOVE_PAUSE_MS));
    }
  }
}

/** What a failed call means for the user, with what to do about it. */
export function explain(error: unknown, { host, port }: Server): string {
  const where = `${host}:${port}`;
  if (error instanceof LoadError) return error.message;
  if (error instanceof RpcError) {
    return error.code === 'CONNECT' || error.code === 'MALFORMED'
      ? `${error.message}; name the RPC port of a router or NameNode with --fs`
      : error.message;
  }
  if (!(error instanceof RemoteError)) return error instanceof Error ? error.message : String(error);
  const remedy = REMEDIES.find(({ sign }) => sign.test(error.className) || sign.test(firstLine(error.text)));
  return `${where} answered ${error.message}${remedy === undefined ? '' : `; ${remedy.text}`}`;
}

/** By Java class or first line of the text, the first that fits. */
const REMEDIES: readonly { readonly sign: RegExp; readonly text: string }[] = [
  {
    sign: /SafeModeException|safe mode/i,
    text: 'wait until the NameNode has left safe mode (hdfs dfsadmin -safemode get)',
  },
  {
    sign: /StandbyException|ObserverRetryOnActiveException/,
    text: 'name the active NameNode, or a router, with --fs',
  },
  { sign: /AccessControlException/, text: 'name a user who may write there with --user, or another directory' },
  { sign: /QuotaExceeded|MaxDirectoryItems/, text: 'ask for fewer --files, or name another directory' },
  {
    sign: /UnsupportedOperationException|mount point/,
    text: 'name a directory below a mount point with one destination',
  },
];

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function firstUser({ owner, users }: LoadPlan): string {
  const user = owner ?? users[0];
  if (user === undefined) throw new LoadError('the plan has no user');
  return user;
}

/** Refuses by name alone: whatever else goes wrong, nothing but directories of this tool is ever filled or deleted. */
function checkOwn({ directory, own }: Target): void {
  const name = own.slice(own.lastIndexOf('/') + 1);
  if (directory === '' || own !== `${directory}/${name}` || !isOwnName(name)) {
    throw new LoadError(`${own} is not a directory of this tool below ${directory}: nothing was touched`);
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

/** The marker is created without overwriting: it tells who was first, should somebody else have made the directory just now. */
async function makeOwn(client: HdfsClient, { directory, own }: Target): Promise<void> {
  if (!(await client.mkdirs(own, DIRECTORY_MODE, false))) {
    throw new LoadError(`${own} was not made; name another directory than ${directory}`);
  }
  await client.createEmptyFile(markerPath(own), fileOptions());
}

async function fillTarget(
  client: HdfsClient,
  plan: LoadPlan,
  target: Target,
  signal: AbortSignal | undefined,
): Promise<void> {
  const directories = new Set<string>();
  for (let thread = 0; thread < plan.threads; thread++)
    addWithParents(directories, target, scratchDirectory(target, thread));
  for (let file = 0; file < plan.filesPerTarget; file++)
    addWithParents(directories, target, fileDirectory(target, file));
  // Parents come first, one after the other: a parent that a child's call makes would not be open to all.
  const byDepth = Map.groupBy(directories, (path) => path.split('/').length);
  for (const depth of [...byDepth.keys()].sort((left, right) => left - right)) {
    await callEach(byDepth.get(depth) ?? [], signal, (path) => makeDirectory(client, path));
  }
  await callEach(filePaths(target, plan.filesPerTarget), signal, async (path) => {
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

function fileOptions(): CreateOptions {
  return { createParent: false, permission: FILE_MODE };
}

/** Whether the own directory is there. LoadError when it is there without its marker. */
async function checkMarked(client: HdfsClient, { own }: Target): Promise<boolean> {
  if ((await client.getFileInfo(markerPath(own))) !== undefined) return true;
  if ((await client.getFileInfo(own)) === undefined) return false;
  throw new LoadError(`${own} has no marker ${markerPath(own)}: it is not of this tool, nothing was deleted`);
}

/** Undoes a preparation that failed; '' or what has to be said of what is left. */
async function removeQuietly(plan: LoadPlan, made: readonly Target[], user: string | undefined): Promise<string> {
  const left: string[] = [];
  for (const target of made) {
    try {
      await removeMade(plan, target, user ?? firstUser(plan));
    } catch (error) {
      left.push(error instanceof Error ? error.message : String(error));
    }
  }
  return left.length === 0 ? '' : `\n${left.join('\n')}`;
}

/** An own directory without a marker is empty, for the marker comes first: it is deleted as an empty directory only. */
async function removeMade(plan: LoadPlan, target: Target, user: string): Promise<void> {
  using client = await connect(plan, user, CALL_TIMEOUT_MS);
  const isMarked = (await client.getFileInfo(markerPath(target.own))) !== undefined;
  if (isMarked) await removeOwn(plan, [target], user);
  else if ((await client.getFileInfo(target.own)) !== undefined) await client.delete(target.own, false);
}

/** Whether the same call may succeed a little later. */
function mayPass(error: unknown): boolean {
  if (error instanceof RpcError) return error.code !== 'MALFORMED';
  return error instanceof RemoteError && /StandbyException|RetriableException|NoNamenodes/.test(error.className);
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

async function connect({ host, port }: Server, user: string, timeoutMs: number): Promise<HdfsClient> {
  return await HdfsClient.connect({ host, port, user, timeoutMs });
}

/** Connections of the users that own something. Beyond MAX_OWNERS of them the first user owns the rest. */
class Clients {
  readonly #server: Server;
  readonly #user: string;
  readonly #byUser = new Map<string, Promise<HdfsClient>>();
  #closed = false;

  constructor(server: Server, user: string) {
    this.#server = server;
    this.#user = user;
  }

  first(): Promise<HdfsClient> {
    return this.of(null);
  }

  of(owner: string | null): Promise<HdfsClient> {
    const user = owner ?? this.#user;
    const known = this.#byUser.get(user);
    if (known !== undefined) return known;
    if (this.#byUser.size >= MAX_OWNERS) return this.of(null);
    const client = connect(this.#server, user, CALL_TIMEOUT_MS);
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
