import fc from 'fast-check';
import type { MountRecord } from '../../support/inline-router.ts';
import { join } from '../../support/plain-view.ts';
import { isBelow, type Location, MountRules } from './mount-rules.ts';

/**
 * Random mount tables and sequences of operations.
 *
 * What a client sees is one plain tree only where no directory is seen twice: each mount has targets of its own, and those in the default
 * nameservice lie below a mount point, where nothing else leads. Mounts that lead into one another are tested with content summaries
 * (summary-model.test.ts).
 */

export const NAMESERVICES = ['ns0', 'ns1', 'ns2', 'ns3'] as const;
const DIRECTORIES = ['a', 'b', 'c'];
const FILES = ['f', 'g'];
const ORDERS = ['', 'HASH', 'HASH_ALL', 'RANDOM', 'SPACE', 'LOCAL', 'LEADER_FOLLOWER'];
const MAX_MOUNTS = 4;

/** A fixed path, or one of those that the sequence has made so far. */
export type PathChoice = string | { readonly nth: number; readonly child: string };

export const READS = [
  'getFileInfo',
  'getFileLinkInfo',
  'getLocatedFileInfo',
  'getContentSummary',
  'getBlockLocations',
  'getAclStatus',
  'getXAttrs',
  'listXAttrs',
  'isFileClosed',
  'getPreferredBlockSize',
  'getStoragePolicy',
  'checkAccess',
] as const;
export type Read = (typeof READS)[number];

export type Operation =
  | { readonly op: 'mkdirs'; readonly path: PathChoice; readonly parents: boolean; readonly perm: number }
  | {
      readonly op: 'write';
      readonly path: PathChoice;
      readonly parents: boolean;
      readonly overwrite: boolean;
      readonly perm: number;
      readonly bytes: number;
    }
  | { readonly op: 'append'; readonly path: PathChoice }
  | { readonly op: 'delete'; readonly path: PathChoice; readonly recursive: boolean }
  | { readonly op: 'rename'; readonly from: PathChoice; readonly to: PathChoice }
  | { readonly op: 'rename2'; readonly from: PathChoice; readonly to: PathChoice; readonly overwrite: boolean }
  | { readonly op: 'concat'; readonly target: PathChoice; readonly sources: readonly PathChoice[] }
  | { readonly op: 'setPermission'; readonly path: PathChoice; readonly perm: number }
  | { readonly op: 'setOwner'; readonly path: PathChoice; readonly owner: string; readonly group: string }
  | { readonly op: 'setTimes'; readonly path: PathChoice; readonly mtime: number }
  | { readonly op: 'setReplication'; readonly path: PathChoice; readonly replication: number }
  | { readonly op: 'truncate'; readonly path: PathChoice; readonly bytes: number }
  | { readonly op: 'setXAttr'; readonly path: PathChoice; readonly name: string; readonly value: string }
  | { readonly op: 'removeXAttr'; readonly path: PathChoice; readonly name: string }
  | { readonly op: 'read'; readonly path: PathChoice; readonly how: Read }
  | { readonly op: 'list'; readonly path: PathChoice; readonly located: boolean }
  | { readonly op: 'batch'; readonly paths: readonly PathChoice[] }
  | { readonly op: 'ancestors'; readonly path: PathChoice }
  | { readonly op: 'trash'; readonly path: PathChoice }
  | { readonly op: 'emptyTrash' };

/** One sequence, with what is there before it. */
export interface Plan {
  /** Names of one page of a NameNode's listing. */
  readonly pageSize: number;
  readonly defaultNameservice: string;
  readonly mounts: readonly MountRecord[];
  /** Directories of nameservices that are there before: targets, and what mount points hide. */
  readonly directories: readonly Location[];
  /** The same, files. */
  readonly files: readonly Location[];
  readonly operations: readonly Operation[];
  /** Of the router's own choices. */
  readonly seed: number;
}

interface MountDraft {
  readonly srcPath: string;
  readonly order: string;
  readonly nameservices: readonly string[];
  readonly place: 'own' | 'deep' | 'same';
  readonly target: 'there' | 'missing' | 'some';
  readonly readOnly: boolean;
  readonly faultTolerant: boolean;
  readonly hidden: 'nothing' | 'directory' | 'file';
}

const component = fc.constantFrom(...DIRECTORIES);
const pathOfDirectories = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.array(component, { minLength, maxLength }).map((names) => `/${names.join('/')}`);
const anyPath = fc
  .tuple(pathOfDirectories(0, 3), fc.constantFrom(...FILES, ...DIRECTORIES, ''))
  .map(([parent, name]) => join(parent, name));
const known = fc.record({ nth: fc.nat(1_000), child: fc.constantFrom('', '', '', 'f', 'g', 'a', 'b') });
const path: fc.Arbitrary<PathChoice> = fc.oneof({ weight: 2, arbitrary: anyPath }, { weight: 3, arbitrary: known });
/** Mostly one that exists. */
const existing: fc.Arbitrary<PathChoice> = fc.oneof(
  { weight: 1, arbitrary: anyPath },
  { weight: 5, arbitrary: fc.nat(1_000).map((nth) => ({ nth, child: '' })) },
);
const often = fc.constantFrom(true, true, true, false);
const seldom = fc.constantFrom(false, false, false, false, true);
const permission = fc.constantFrom(0o755, 0o700, 0o777, 0o644);
const attribute = fc.constantFrom('one', 'two');

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('mkdirs' as const), path, parents: often, perm: permission }) },
  {
    weight: 9,
    arbitrary: fc.record({
      op: fc.constant('write' as const),
      path,
      parents: often,
      overwrite: fc.boolean(),
      perm: permission,
      bytes: fc.constantFrom(0, 10, 100),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('append' as const), path: existing }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('delete' as const), path: existing, recursive: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('rename' as const), from: existing, to: path }) },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constant('rename2' as const), from: existing, to: path, overwrite: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('concat' as const),
      target: existing,
      sources: fc.array(existing, { minLength: 1, maxLength: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('setPermission' as const), path: existing, perm: permission }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('setOwner' as const),
      path: existing,
      owner: fc.constantFrom('', 'ann', 'bob'),
      group: fc.constantFrom('', 'staff'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('setTimes' as const),
      path: existing,
      mtime: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('setReplication' as const),
      path: existing,
      replication: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('truncate' as const),
      path: existing,
      bytes: fc.constantFrom(0, 5, 10, 200),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('setXAttr' as const),
      path: existing,
      name: attribute,
      value: fc.constantFrom('x', 'y'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('removeXAttr' as const), path: existing, name: attribute }) },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant('read' as const), path: existing, how: fc.constantFrom(...READS) }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('list' as const), path: existing, located: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('batch' as const),
      paths: fc.array(existing, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('ancestors' as const), path: existing }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('trash' as const), path: existing }) },
  { weight: 1, arbitrary: fc.constant({ op: 'emptyTrash' as const }) },
);

const mountDraft: fc.Arbitrary<MountDraft> = fc.record({
  srcPath: fc.oneof(
    { weight: 1, arbitrary: fc.constant('/') },
    { weight: 5, arbitrary: pathOfDirectories(1, 1) },
    { weight: 4, arbitrary: pathOfDirectories(2, 3) },
  ),
  // HASH and LOCAL more often: where a new path goes depends on what was renamed before.
  order: fc.constantFrom(...ORDERS, '', '', 'HASH', 'LOCAL'),
  nameservices: fc.shuffledSubarray([...NAMESERVICES], { minLength: 1, maxLength: 3 }),
  place: fc.constantFrom('own' as const, 'deep' as const, 'same' as const),
  target: fc.constantFrom('there' as const, 'there' as const, 'missing' as const, 'some' as const),
  readOnly: seldom,
  faultTolerant: seldom,
  hidden: fc.constantFrom('nothing' as const, 'nothing' as const, 'directory' as const, 'file' as const),
});

export function plans(maxOperations: number): fc.Arbitrary<Plan> {
  return fc
    .record({
      pageSize: fc.integer({ min: 1, max: 4 }),
      defaultNameservice: fc.constantFrom('', 'ns0', 'ns0', 'ns0'),
      used: fc.integer({ min: 1, max: NAMESERVICES.length }),
      drafts: fc.uniqueArray(mountDraft, { selector: ({ srcPath }) => srcPath, maxLength: MAX_MOUNTS }),
      operations: fc.array(operation, { minLength: 1, maxLength: maxOperations, size: 'max' }),
      seed: fc.nat(),
    })
    .map(({ drafts, used, operations, ...rest }) => ({
      ...rest,
      operations,
      ...layOut(drafts, NAMESERVICES.slice(0, used), rest.defaultNameservice),
    }));
}

type Laid = Pick<Plan, 'mounts' | 'directories' | 'files'>;

function layOut(drafts: readonly MountDraft[], used: readonly string[], defaultNameservice: string): Laid {
  const mounts: MountRecord[] = [];
  const directories: Location[] = [];
  const files: Location[] = [];
  const sorted = drafts
    .map((draft, i) => ({ draft, i }))
    .sort((a, b) => a.draft.srcPath.length - b.draft.srcPath.length);
  for (const { draft, i } of sorted) {
    const above = new MountRules(mounts, defaultNameservice).covering(draft.srcPath);
    const chosen = draft.nameservices.filter((each) => used.includes(each));
    const some = chosen.length === 0 ? used.slice(0, 1) : chosen;
    const nameservices = draft.order === '' ? some.slice(0, 1) : some;
    const hasRoot = mounts.some(({ srcPath }) => srcPath === '/') || draft.srcPath === '/';
    // One of several locations must not be where mount points below have their targets, which are in one only.
    const placed =
      nameservices.length === 1 ? draft : { ...draft, place: draft.place === 'same' ? 'own' : draft.place };
    const destinations = nameservices.map((nameserviceId) => ({
      nameserviceId,
      path: targetOf(placed, i, nameserviceId, above, nameserviceId === defaultNameservice && !hasRoot),
    }));
    const isTolerant = draft.faultTolerant && destinations.length > 1 && !['HASH', 'LOCAL', ''].includes(draft.order);
    mounts.push({
      srcPath: draft.srcPath,
      destinations,
      ...(draft.order === '' ? {} : { destOrder: draft.order }),
      ...(draft.readOnly ? { readOnly: true } : {}),
      ...(isTolerant ? { faultTolerant: true } : {}),
    });
    const there = { there: destinations.length, some: 1, missing: 0 }[draft.target];
    for (const { nameserviceId, path } of destinations.slice(0, there)) {
      directories.push({ nameservice: nameserviceId, path });
    }
  }
  for (const { draft } of sorted) hide(draft, mounts, defaultNameservice, files);
  return { mounts, directories, files };
}

/** A target that no other path of a client leads to. */
function targetOf(
  { srcPath, place }: MountDraft,
  i: number,
  nameservice: string,
  above: MountRecord | null,
  isDefault: boolean,
): string {
  if (isDefault) return place === 'same' ? srcPath : join(srcPath, place === 'deep' ? `t${i}/x` : `t${i}`);
  const around = above?.destinations.find(({ nameserviceId }) => nameserviceId === nameservice);
  // Of several locations a target in one would make the directories above it there alone, which are to be in one or in all.
  const isOne = above?.destinations.length === 1;
  if (place === 'same' && above !== null && around !== undefined && isOne) {
    return join(around.path, above.srcPath === '/' ? srcPath.slice(1) : srcPath.slice(above.srcPath.length + 1));
  }
  return place === 'deep' ? `/t${i}/x` : `/t${i}`;
}

/** Something real where a mount point stands, which nobody must see. */
function hide(
  { srcPath, hidden }: MountDraft,
  mounts: readonly MountRecord[],
  defaultNameservice: string,
  files: Location[],
): void {
  if (hidden === 'nothing' || srcPath === '/') return;
  const others = new MountRules(
    mounts.filter((mount) => !(mount.srcPath === srcPath || isBelow(mount.srcPath, srcPath))),
    defaultNameservice,
  );
  const [behind, ...more] = others.locations(srcPath);
  if (behind === undefined || more.length > 0) return;
  const isTaken = mounts
    .flatMap(({ destinations }) => destinations)
    .some(
      ({ nameserviceId, path }) =>
        nameserviceId === behind.nameservice && (path === behind.path || isBelow(path, behind.path)),
    );
  if (isTaken) return;
  files.push(hidden === 'file' ? behind : { ...behind, path: join(behind.path, 'hidden') });
}
