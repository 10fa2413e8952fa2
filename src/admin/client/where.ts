/** `where PATH`: where a router would send a call for a path, by its mount table, and why. */
import { formatAddress } from '../../config/address.ts';
import { namesOfThisHost, readTopology } from '../../config/topology.ts';
import { HdfsClient } from '../../control/hdfs-client.ts';
import { RemoteError, RpcError } from '../../control/rpc-client.ts';
import { canonicalPath } from '../../mount/canonical.ts';
import { type MountEntry, type MountOrder, unusableReason } from '../../mount/entry.ts';
import { NO_FIGURES } from '../../mount/order/figures.ts';
import { firstNameservice, orderDestinations, RECORD_ORDER } from '../../mount/order/order.ts';
import { buildSnapshot } from '../../mount/radix-build.ts';
import { MountSnapshot, NO_MOUNT } from '../../mount/snapshot.ts';
import type { NameNodeAddress } from '../../shared/settings.ts';
import type { AdminClient } from './admin-client.ts';
import { readArguments, requireCount } from './arguments.ts';
import { type AdminContext, connect, printResult } from './context.ts';
import { readSource } from './mount-flags.ts';
import { alignColumns, plainText, reasonOf } from './text.ts';
import type { Verb } from './verb.ts';

const USAGE = 'where PATH';
const ASK_NAMENODE_MS = 3_000;

export const WHERE_VERB: Verb = {
  name: 'where',
  aliases: [],
  usage: USAGE,
  summary: 'show to which nameservice and NameNode a path leads, and why',
  run: where,
};

/** A destination of the path. */
export interface Target {
  readonly nameservice: string;
  readonly path: string;
}

/** What the mount table says of a path. */
export interface Route {
  /** Null: no mount takes the path. */
  readonly mount: MountEntry | null;
  /** In the order in which a router asks them, as far as `isOrdered`. */
  readonly targets: readonly Target[];
  /** False: which target comes first is chosen call by call, from what only the router knows. */
  readonly isOrdered: boolean;
  readonly why: string;
}

/** A path in the trash of a user: the user, and the path that was deleted. */
const IN_TRASH = /^\/user\/([^/]+)\/\.Trash\/(?:Current|\d+(?:-\d+)?)(\/.*)?$/s;

/** Finds the way of a path with the code that routers use. Entries that no router can use are left out. */
export function findRoute(path: string, entries: readonly MountEntry[]): Route {
  const [, user, deleted] = IN_TRASH.exec(canonicalPath(path)) ?? [];
  if (user === undefined) return findPlainRoute(path, entries);
  const route = findPlainRoute(deleted ?? '/', entries);
  const targets = route.targets.map(({ nameservice }) => ({ nameservice, path: canonicalPath(path) }));
  const why = `the trash of ${user}, when ${user} asks, is where the deleted path ${deleted ?? '/'} was; ${route.why}`;
  return { ...route, targets, isOrdered: targets.length < 2, why };
}

function findPlainRoute(path: string, entries: readonly MountEntry[]): Route {
  const usable = entries.filter((entry) => unusableReason(entry) === null);
  const snapshot = MountSnapshot.from(buildSnapshot(usable, [], 1, null));
  const bytes = Buffer.from(canonicalPath(path));
  const mount = snapshot.find(bytes, 0, bytes.length);
  if (mount === NO_MOUNT) {
    const why = 'no mount is at or above the path; it goes to the default nameservice of the router, where it has one';
    return { mount: null, targets: [], isOrdered: true, why };
  }
  const rest = bytes.toString('utf8', snapshot.matchedEnd);
  const entry = snapshot.entryOf(mount);
  const first = firstNameservice(snapshot, mount, path, entry.sourcePath, '', NO_FIGURES, () => 0, 100);
  const isFixed = isOrderFixed(entry);
  const order = orderDestinations(snapshot, mount, isFixed ? first : RECORD_ORDER);
  const targets = order.flatMap((i) => {
    const destination = entry.destinations[i];
    if (destination === undefined) return [];
    const target = canonicalPath(`${destination.path}/${rest}`);
    return [{ nameservice: destination.nameservice, path: target === '' ? '/' : target }];
  });
  return { mount: entry, targets, isOrdered: isFixed, why: reasonFor(entry, targets[0]?.nameservice ?? '') };
}

function isOrderFixed({ destinations, order }: MountEntry): boolean {
  return destinations.length === 1 || order === 'HASH' || order === 'HASH_ALL' || order === 'LEADER_FOLLOWER';
}

function reasonFor({ destinations, order }: MountEntry, first: string): string {
  if (destinations.length === 1) return 'the mount has one destination';
  const reasons: Readonly<Record<MountOrder, string>> = {
    HASH: `HASH: the name below the mount belongs to ${first} by its hash`,
    HASH_ALL: `HASH_ALL: the whole path belongs to ${first} by its hash; what another nameservice has already is found there`,
    LEADER_FOLLOWER: `LEADER_FOLLOWER: ${first} is the first of the mount; the others follow`,
    LOCAL: 'LOCAL: the nameservice with a DataNode on the machine of the client comes first; it depends on who asks',
    RANDOM: 'RANDOM: each call may begin with another one; what is there already is found wherever it is',
    SPACE: 'SPACE: new files mostly go where more space is free, as the router last heard from the NameNodes',
  };
  return reasons[order];
}

/** A NameNode that the configuration files name, and what it says of itself. */
interface AskedNamenode {
  readonly id: string;
  readonly address: string;
  /** As HDFS calls it in lower case, or why it is not known. */
  readonly state: string;
}

async function where(args: readonly string[], contextOf: () => AdminContext): Promise<number> {
  const { positionals } = readArguments(args, {});
  requireCount(positionals, 1, 1, USAGE);
  const given = positionals[0] ?? '';
  readSource(given);
  const context = contextOf();
  using client = await connect(context);
  const records = await client.readMounts('');
  const route = findRoute(
    given,
    records.map(({ entry }) => entry),
  );
  const disabled = new Set(await client.readDisabledNameservices());
  const isInSafeMode = await client.isInSafeMode();
  const answer = await askRouter(client, given);
  const nameservices = [...new Set([...route.targets.map(({ nameservice }) => nameservice), ...answer.nameservices])];
  const { namenodes, problem } = await askNamenodes(context, nameservices);
  const notKnown = findUnknown(route, nameservices, namenodes, problem, answer.nameservices.length > 1);
  const { mount, targets, isOrdered, why } = route;
  const value = {
    path: given,
    router: client.address,
    mount: mount === null ? null : mount.sourcePath,
    order: mount === null ? null : mount.order,
    readOnly: mount?.readOnly ?? false,
    targets: targets.map((target) => ({ ...target, disabled: disabled.has(target.nameservice) })),
    isOrdered,
    why,
    routerAnswers: answer,
    safeMode: isInSafeMode,
    namenodes: Object.fromEntries(namenodes),
    notKnown,
  };
  return printResult(context, value, renderWhere(value));
}

interface Where {
  readonly path: string;
  readonly router: string;
  readonly mount: string | null;
  readonly order: MountOrder | null;
  readonly readOnly: boolean;
  readonly targets: readonly (Target & { readonly disabled: boolean })[];
  readonly isOrdered: boolean;
  readonly why: string;
  readonly routerAnswers: RouterAnswer;
  readonly safeMode: boolean;
  readonly namenodes: Readonly<Record<string, readonly AskedNamenode[]>>;
  readonly notKnown: readonly string[];
}

function* renderWhere(found: Where): Generator<string> {
  const { targets, isOrdered, routerAnswers } = found;
  const rows: [string, string][] = [['path', found.path]];
  const marks = found.readOnly ? ', read-only' : '';
  rows.push(['mount', found.mount === null ? 'none' : `${found.mount} (${found.order}${marks})`]);
  for (const [i, { nameservice, path, disabled }] of targets.entries()) {
    const rank = isOrdered && targets.length > 1 ? `${i + 1}. ` : '';
    rows.push([i === 0 ? 'leads to' : '', `${rank}${nameservice}:${path}${disabled ? ' (nameservice disabled)' : ''}`]);
  }
  rows.push(['why', found.why]);
  const said = routerAnswers.reason || routerAnswers.nameservices.join(', ') || 'no nameservice';
  rows.push(['router', `${found.router} says: ${said}`]);
  if (found.safeMode) rows.push(['', 'it is in safe mode and refuses changes']);
  for (const [nameservice, namenodes] of Object.entries(found.namenodes)) {
    for (const { id, address, state } of namenodes) {
      rows.push(['NameNode', `${nameservice}${id === '' ? '' : `.${id}`} ${address}: ${state}`]);
    }
  }
  for (const text of found.notKnown) rows.push(['not known', text]);
  yield* alignColumns(rows.map((row) => row.map(plainText)));
}

interface RouterAnswer {
  readonly nameservices: readonly string[];
  /** Why there is no answer; ''. */
  readonly reason: string;
}

async function askRouter(client: AdminClient, path: string): Promise<RouterAnswer> {
  try {
    return { nameservices: await client.readDestination(path), reason: '' };
  } catch (error) {
    if (error instanceof RpcError) throw error;
    return { nameservices: [], reason: reasonOf(error) };
  }
}

/** The NameNodes of nameservices that the configuration files have, each asked for its state. */
async function askNamenodes(
  { configuration, user, timeoutMs }: AdminContext,
  nameservices: readonly string[],
): Promise<{ namenodes: [string, AskedNamenode[]][]; problem: string }> {
  try {
    const { topology } = readTopology(configuration, namesOfThisHost());
    const known = topology.nameservices.filter(({ id }) => nameservices.includes(id));
    const limitMs = Math.min(timeoutMs, ASK_NAMENODE_MS);
    const asked = known.map(async ({ id, namenodes }): Promise<[string, AskedNamenode[]]> => {
      return [id, await Promise.all(namenodes.map((namenode) => askNamenode(namenode, user, limitMs)))];
    });
    return { namenodes: await Promise.all(asked), problem: '' };
  } catch (error) {
    return { namenodes: [], problem: reasonOf(error) };
  }
}

async function askNamenode({ id, host, port }: NameNodeAddress, user: string, limitMs: number): Promise<AskedNamenode> {
  const address = formatAddress(host, port);
  try {
    using client = await HdfsClient.connect({ host, port, user, connectTimeoutMs: limitMs, timeoutMs: limitMs });
    return { id, address, state: (await client.getHAServiceState()).toLowerCase() };
  } catch (error) {
    const state = error instanceof RemoteError ? `does not tell its state (${reasonOf(error)})` : reasonOf(error);
    return { id, address, state };
  }
}

function findUnknown(
  { isOrdered }: Route,
  nameservices: readonly string[],
  namenodes: readonly (readonly [string, readonly AskedNamenode[]])[],
  problem: string,
  isThere: boolean,
): string[] {
  const unknown: string[] = [];
  if (!isOrdered) unknown.push('which target comes first: the admin protocol does not tell what the router goes by');
  if (!isThere) unknown.push('whether the path is there: a router names the first nameservice also when it is in none');
  const told = new Set(namenodes.map(([nameservice]) => nameservice));
  const others = nameservices.filter((nameservice) => !told.has(nameservice));
  if (problem !== '') unknown.push(`the NameNodes: ${problem}`);
  else if (others.length > 0) {
    unknown.push(
      `the NameNodes of ${others.join(', ')}: the admin protocol does not tell them; --config-dir with their addresses does`,
    );
  }
  return unknown;
}
