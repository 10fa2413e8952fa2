import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Refusal, Status } from './raw-namespace.ts';
import { isRefusal, RawNamespace } from './raw-namespace.ts';
import type { Endpoint } from './support.ts';
import { ENDPOINT, FULL, Rig, rigRouter, startEndpoint } from './support.ts';

/**
 * Random operations through the router and, mirrored below `/oracle`, on a NameNode without any router: one plain tree that has an
 * ordinary directory wherever the router has a mount point. Whatever is read must be the same in both, page by page; the names must be those
 * that the NameNodes hold together, and what Hadoop's Router says, where that is right.
 */

const SEQUENCES = FULL ? 500 : 100;
const OPERATIONS = 24;
const OPERATIONS_AFTER_MOVE = 4;
/** SWITCHYARD_TEST_SEED repeats a run that failed. */
const SEED = Number(process.env['SWITCHYARD_TEST_SEED'] ?? 20_260_105);
const RUN_WITHIN_MS = FULL ? 1_800_000 : 300_000;
/** Entries of a NameNode's page. */
const PAGE_ENTRIES = 3;
const ORACLE = '/oracle';

interface Place {
  readonly path: string;
  /** `ns0:/path` of every location. */
  readonly locations: readonly string[];
  readonly order: string;
}

const PLACES: readonly Place[] = [
  { path: '/m/one', locations: ['ns0:/one'], order: '' },
  { path: '/m/two', locations: ['ns1:/elsewhere/two'], order: '' },
  { path: '/m/one/in', locations: ['ns1:/in'], order: '' },
  { path: '/m/one/in/deeper/still', locations: ['ns0:/deeper'], order: '' },
  { path: '/v/x/y', locations: ['ns0:/y'], order: '' },
  { path: '/v/x/z', locations: ['ns1:/z'], order: '' },
  { path: '/m/all', locations: ['ns0:/all', 'ns1:/all'], order: 'HASH_ALL' },
  { path: '/m/random', locations: ['ns0:/random', 'ns1:/random'], order: 'RANDOM' },
  { path: '/m/hash', locations: ['ns0:/hash', 'ns1:/hash'], order: 'HASH' },
  { path: '/plain', locations: ['ns0:/plain'], order: '' },
];

/** Directories that are there because mount points are below them. */
const ANCESTORS = ['/m', '/m/one/in/deeper', '/v', '/v/x'];
/** For an ancestor below another mount Hadoop's Router shows owner, mode and children of that mount's target. */
const BELOW_A_MOUNT = '/m/one/in/deeper';

/** Hadoop's Router is the judge only where it is right: see java-defects.test.ts for the rest. */
const USED = ENDPOINT === 'java-router' ? PLACES.filter(({ order }) => order === '') : PLACES;

interface Operation {
  readonly kind: 'mkdirs' | 'create' | 'delete' | 'deleteAll' | 'rename' | 'renameStrictly' | 'setPermission';
  readonly path: readonly string[];
  /** Where a rename leads. */
  readonly to: readonly string[];
  readonly mode: number;
}

interface Sequence {
  readonly place: Place;
  /** The place of renames that leave the first one. */
  readonly other: Place;
  readonly operations: readonly Operation[];
}

const NAME = fc.constantFrom('a', 'b', 'c', 'a-b', 'größe');
const PATH = fc.array(NAME, { minLength: 1, maxLength: 3 });
const SEQUENCE: fc.Arbitrary<Sequence> = fc.record({
  place: fc.constantFrom(...USED),
  other: fc.constantFrom(...USED),
  operations: fc.array(
    fc.record({
      kind: fc.constantFrom<Operation['kind'][]>(
        'mkdirs',
        'mkdirs',
        'create',
        'create',
        'create',
        'delete',
        'deleteAll',
        'rename',
        'rename',
        'renameStrictly',
        'setPermission',
      ),
      path: PATH,
      to: PATH,
      mode: fc.constantFrom(0o700, 0o755, 0o777),
    }),
    { minLength: 1, maxLength: OPERATIONS, size: 'max' },
  ),
});

let rig: Rig;
let endpoint: Endpoint;
let routed: RawNamespace;
let oracle: RawNamespace;
let javaRouter: RawNamespace;
const namenodes = new Map<string, RawNamespace>();
let sequences = 0;
let operations = 0;
let reads = 0;

beforeAll(async () => {
  const mounts = PLACES.filter(({ path }) => path !== '/plain').map(({ path, locations, order }) => {
    const nameservices = locations.map((location) => location.slice(0, location.indexOf(':'))).join();
    const target = locations[0]?.slice(locations[0].indexOf(':') + 1);
    return `${path}=${nameservices}:${target}${order === '' ? '' : `@${order}`}`;
  });
  rig = await Rig.start({ mounts, javaRouters: 1, conf: { 'dfs.ls.limit': String(PAGE_ENTRIES) } });
  const oracles = PLACES.map(({ path }) => `ns0:${ORACLE}${path}`);
  await rig.makeTargets([...PLACES.flatMap(({ locations }) => locations), ...oracles]);
  endpoint = await startEndpoint(rig);
  const { user } = rig.up;
  routed = await RawNamespace.connect(endpoint, user);
  javaRouter = await RawNamespace.connect(await rigRouter(rig), user);
  oracle = await RawNamespace.connect(await rig.endpointOf('ns0'), user);
  for (const ns of ['ns0', 'ns1']) namenodes.set(ns, await RawNamespace.connect(await rig.endpointOf(ns), user));
});

afterAll(async () => {
  for (const client of [routed, oracle, javaRouter, ...namenodes.values()]) client?.[Symbol.dispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
});

/** What must be the same in both trees; refusals by their class, for the texts name different paths. */
function comparable(answer: unknown): unknown {
  return isRefusal(answer) ? answer.refused : answer;
}

/** Of a rename with a file above both of its paths either may be named: the first in another nameservice is met later. */
function judged({ kind }: Operation, answer: boolean | Refusal): unknown {
  const isAboveFile = kind.startsWith('rename') && isRefusal(answer) && answer.message.endsWith('(is not a directory)');
  return isAboveFile ? 'not a directory' : comparable(answer);
}

async function apply(on: RawNamespace, base: string, { kind, path, to, mode }: Operation): Promise<boolean | Refusal> {
  const src = `${base}/${path.join('/')}`;
  const dst = `${base}/${to.join('/')}`;
  switch (kind) {
    case 'mkdirs':
      return await on.mkdirs(src);
    case 'create':
      return await on.create(src);
    case 'delete':
      return await on.delete(src, false);
    case 'deleteAll':
      return await on.delete(src, true);
    case 'rename':
      return await on.rename(src, dst);
    case 'renameStrictly':
      return await on.renameStrictly(src, dst);
    case 'setPermission':
      return await on.setPermission(src, mode);
  }
}

/** A directory of several locations counts the entries of each: children are compared where there is one. */
function seen(status: Status | null | Refusal, withChildren: boolean): unknown {
  if (status === null || isRefusal(status)) return comparable(status);
  const { children, ...rest } = status;
  return withChildren ? { ...rest, children } : rest;
}

/** Everything below `path`: one line each, in the order of the listings. */
async function walk(on: RawNamespace, path: string): Promise<string[]> {
  const entries = await on.list(path);
  reads++;
  if (entries === null || isRefusal(entries)) return [`${JSON.stringify(comparable(entries))}`];
  const lines: string[] = [];
  for (const entry of entries) {
    lines.push(`${entry.directory ? 'd' : '-'} ${entry.mode.toString(8)} ${entry.owner} ${entry.name}`);
    if (entry.directory) lines.push(...(await walk(on, `${path}/${entry.name}`)).map((line) => `  ${line}`));
  }
  return lines;
}

/** The names that all NameNodes of a place have together in the directory of this sequence. */
async function union(place: Place, below: string): Promise<string[]> {
  const names = new Set<string>();
  for (const location of place.locations) {
    const colon = location.indexOf(':');
    const found = await namenodes.get(location.slice(0, colon))?.names(`${location.slice(colon + 1)}${below}`);
    if (Array.isArray(found)) for (const name of found) names.add(name);
  }
  return [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

async function compareReads(place: Place, base: string, path: string): Promise<void> {
  const one = place.locations.length === 1;
  const at = `${base}${path}`;
  const mine = await routed.status(at);
  expect(seen(mine, one), `status of ${at}`).toEqual(seen(await oracle.status(`${ORACLE}${at}`), one));
  expect(seen(mine, one), `status of ${at} as in Hadoop's Router`).toEqual(seen(await javaRouter.status(at), one));
  reads += 2;
}

async function compareTrees(place: Place, base: string): Promise<void> {
  const tree = await walk(routed, base);
  expect(tree, `everything below ${base}`).toEqual(await walk(oracle, `${ORACLE}${base}`));
  expect(tree, `everything below ${base} as in Hadoop's Router`).toEqual(await walk(javaRouter, base));
  const names = await routed.names(base);
  if (Array.isArray(names)) expect(names).toEqual(await union(place, base.slice(place.path.length)));
  const summary = await routed.summary(base);
  expect(comparable(summary), `summary of ${base}`).toEqual(comparable(await oracle.summary(`${ORACLE}${base}`)));
  // Directories that exist in several nameservices count several times there.
  if (place.locations.length === 1) expect(comparable(await javaRouter.summary(base))).toEqual(comparable(summary));
  reads += 4;
}

function nameservicesOf({ locations }: Place): string {
  return locations.map((location) => location.slice(0, location.indexOf(':'))).join();
}

async function applyAll(place: Place, base: string, steps: readonly Operation[]): Promise<void> {
  for (const step of steps) {
    operations++;
    const mine = await apply(routed, base, step);
    const right = await apply(oracle, `${ORACLE}${base}`, step);
    expect(judged(step, mine), JSON.stringify({ base, step, mine, right })).toEqual(judged(step, right));
    await compareReads(place, base, `/${step.path.join('/')}`);
  }
  await compareTrees(place, base);
}

async function runSequence({ place, other, operations: steps }: Sequence): Promise<void> {
  sequences++;
  const base = `${place.path}/s${sequences}`;
  const moved = `${other.path}/moved${sequences}`;
  await applyAll(place, base, steps);
  if (nameservicesOf(place) === nameservicesOf(other)) {
    const mine = await routed.rename(base, moved);
    const right = await oracle.rename(`${ORACLE}${base}`, `${ORACLE}${moved}`);
    expect(comparable(mine), `rename of ${base} to ${moved}`).toEqual(comparable(right));
    await applyAll(other, moved, steps.slice(0, OPERATIONS_AFTER_MOVE));
  } else if (place.locations.length === 1 && other.locations.length === 1) {
    // Out of its nameservice nothing moves, and nothing changes.
    expect(comparable(await routed.rename(base, moved)), `rename of ${base} to ${moved}`).toBe('IOException');
    expect(await routed.status(moved)).toBe(null);
    await compareTrees(place, base);
  }
}

describe.skipIf(ENDPOINT === 'namenode')('random operations', () => {
  it(`${SEQUENCES} sequences leave the tree that a single HDFS would have`, { timeout: RUN_WITHIN_MS }, async () => {
    await fc.assert(fc.asyncProperty(SEQUENCE, runSequence), { numRuns: SEQUENCES, seed: SEED });
    console.log(`${sequences} sequences, ${operations} operations, ${reads} reads compared`);
  });

  // Every sequence has left something in the places below.
  it.each(ANCESTORS)('%s shows every mount point once, and what lies below', async (path) => {
    const status = await routed.status(path);
    if (path !== BELOW_A_MOUNT) expect(seen(status, false)).toEqual(seen(await javaRouter.status(path), false));
    const right = await oracle.status(`${ORACLE}${path}`);
    if (status === null || right === null || isRefusal(status) || isRefusal(right))
      throw new Error(`${path} is missing`);
    expect(status.directory).toBe(true);
    if (ENDPOINT !== 'java-router' || path !== BELOW_A_MOUNT) expect(status.children).toBe(right.children);
    expect(await routed.names(path)).toEqual(await oracle.names(`${ORACLE}${path}`));
    expect(await routed.names(path)).toEqual(await javaRouter.names(path));
    if (ENDPOINT !== 'java-router') {
      expect(await routed.summary(path)).toEqual(await oracle.summary(`${ORACLE}${path}`));
    }
  });

  it.each(USED)('$path is listed page by page as a plain directory is', async ({ path }) => {
    const names = await routed.names(path);
    expect(names).toEqual(await oracle.names(`${ORACLE}${path}`));
    expect(names).toEqual(await javaRouter.names(path));
  });

  // Random sequences meet it seldom: for a superuser a NameNode says that nothing is below a file, not that a file is in the way.
  it('a rename to below a file of another nameservice is refused', async () => {
    const base = '/m/all/below-a-file';
    await routed.mkdirs(base);
    await namenodes.get('ns0')?.create('/all/below-a-file/moves');
    await namenodes.get('ns1')?.create('/all/below-a-file/file');
    for (const router of [routed, javaRouter]) {
      const refused = await router.rename(`${base}/moves`, `${base}/file/moved`);
      expect(comparable(refused)).toBe('ParentNotDirectoryException');
      expect(await router.names(base)).toEqual(['file', 'moves']);
    }
    await routed.delete(base, true);
  });
});
