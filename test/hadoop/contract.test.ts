import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINT, FULL, Rig, startEndpoint } from './support.ts';

/** Hadoop's own contract tests for file systems, over every kind of mount. */

const ALL_TESTS = 225;
const RUN_WITHIN_MS = 900_000;

/** They delete or empty `/`, which no router with a mount point can allow: Hadoop's Router fails the same four. */
const FORCED_BY_MOUNT_POINTS = [
  'RootDirectory.testListEmptyRootDirectory',
  'RootDirectory.testRmEmptyRootDirNonRecursive',
  'RootDirectory.testRmEmptyRootDirRecursive',
  'RootDirectory.testRmRootRecursive',
];

/** The classes in which a router can differ from a NameNode: the others read and write one file. */
const TELLING = [
  'Create',
  'Delete',
  'Mkdir',
  'Rename',
  'Concat',
  'GetFileStatus',
  'ContentSummary',
  'MultipartUploader',
  'BulkDelete',
];

/** PathHandle's tests that open a file by its inode number; the number says nothing of the nameservice. */
const BY_INODE = /^PathHandle\./;

interface Kind {
  readonly name: string;
  /** Where the tests work. */
  readonly path: string;
  readonly defaultNameservice: string;
  /** All classes in every run, or the telling ones unless everything is asked for. */
  readonly always: boolean;
  /** What Hadoop's Router 3.4.1 fails besides. */
  readonly javaRouter: RegExp;
}

/** Concat onto an empty file ends in a NullPointerException in Hadoop's Router, whatever the mount. */
const CONCAT_ONTO_EMPTY = /^MultipartUploader\./;

const KINDS: readonly Kind[] = [
  {
    name: 'a mount with one destination',
    path: '/data1',
    defaultNameservice: 'ns1',
    always: false,
    javaRouter: CONCAT_ONTO_EMPTY,
  },
  {
    name: 'a mount below another mount',
    path: '/top/in',
    defaultNameservice: 'ns1',
    always: false,
    javaRouter: CONCAT_ONTO_EMPTY,
  },
  {
    name: 'a HASH_ALL mount',
    path: '/all',
    defaultNameservice: 'ns0',
    always: true,
    javaRouter: /^(?:MultipartUploader|Delete|Mkdir|ContentSummary|BulkDelete|PathHandle)\./,
  },
  {
    name: 'the default nameservice',
    path: '/plain',
    defaultNameservice: 'ns0',
    always: false,
    javaRouter: CONCAT_ONTO_EMPTY,
  },
];

const MOUNTS = ['/data1=ns1:/data1', '/top=ns0:/top', '/top/in=ns1:/in', '/all=ns0,ns1:/all@HASH_ALL'];
const TARGETS = ['ns1:/data1', 'ns0:/data1', 'ns0:/top', 'ns1:/in', 'ns0:/all', 'ns1:/all'];

interface Tally {
  readonly class: string;
  readonly run: number;
  readonly skipped: number;
  readonly ms: number;
  readonly failing: Readonly<Record<string, string>> | readonly string[];
}

interface Outcome {
  readonly run: number;
  readonly failing: readonly string[];
  /** Test and first line of its failure, for the message. */
  readonly reasons: readonly string[];
}

function readOutcome(out: string): Outcome {
  const tallies = out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Tally);
  const total = tallies.find((tally) => tally.class === 'total');
  if (total === undefined) throw new Error(`the contract suite printed no total:\n${out}`);
  console.log(tallies.map((tally) => `${tally.class} ${tally.run} in ${tally.ms} ms`).join(', '));
  const reasons = tallies
    .filter((tally) => tally !== total)
    .flatMap((tally) => Object.entries(tally.failing).map(([test, why]) => `${tally.class}.${test}: ${why}`));
  return { run: total.run, failing: total.failing as readonly string[], reasons };
}

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start({ mounts: MOUNTS });
  await rig.makeTargets(TARGETS);
});

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

async function runContract(path: string, defaultNameservice: string, only: readonly string[]): Promise<Outcome> {
  await using endpoint = await startEndpoint(rig, {
    'dfs.federation.router.default.nameserviceId': defaultNameservice,
  });
  const args = ['contract', '--fs', endpoint.uri, '--path', path];
  if (only.length > 0) args.push('--only', only.join(','));
  const { out, err } = await rig.command(args, RUN_WITHIN_MS);
  try {
    return readOutcome(out);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${err}\n${endpoint.log}`, { cause: error });
  }
}

/** Failures that nothing explains, with their reasons. */
function unexplained({ failing, reasons }: Outcome, kind: Kind): readonly string[] {
  const explained = (test: string): boolean => {
    if (ENDPOINT === 'namenode') return false;
    if (FORCED_BY_MOUNT_POINTS.includes(test)) return true;
    return ENDPOINT === 'java-router' && kind.javaRouter.test(test);
  };
  return failing
    .filter((test) => !explained(test))
    .map((test) => reasons.find((reason) => reason.startsWith(`${test}:`)) ?? test);
}

/** Failures that say that a test has read bytes that it did not write. */
function wrongData({ reasons }: Outcome): readonly string[] {
  return reasons.filter((reason) => BY_INODE.test(reason) && /byte at|expected:<.*> but was:<|arrays/i.test(reason));
}

describe("Hadoop's contract tests", () => {
  // Hadoop's Router opens the file of the default nameservice that has the same number. The first: the probe makes files until numbers meet.
  it.skipIf(ENDPOINT !== 'switchyard')("a handle never opens another nameservice's file", async () => {
    await using endpoint = await startEndpoint(rig, { 'dfs.federation.router.default.nameserviceId': 'ns0' });
    const { out, err } = await rig.command(['probe', 'path-handle', '--fs', endpoint.uri, '--path', '/data1']);
    console.log(out);
    expect(out, `${err}\n${endpoint.log}`).toMatch(/^2 passed, 0 failed$/m);
  });

  // A NameNode has no mounts: one run says all.
  const kinds = ENDPOINT === 'namenode' ? KINDS.filter(({ path }) => path === '/plain') : KINDS;

  it.each(kinds)('on $name: $path', { timeout: RUN_WITHIN_MS }, async (kind) => {
    const everything = kind.always || FULL || ENDPOINT === 'namenode';
    const outcome = await runContract(kind.path, kind.defaultNameservice, everything ? [] : TELLING);
    console.log(
      `contract tests on ${kind.path}: ${outcome.run} run, ${outcome.failing.length} failed\n${outcome.reasons.join('\n')}`,
    );
    expect(unexplained(outcome, kind)).toEqual([]);
    expect(outcome.run).toBeGreaterThan(TELLING.length);
    if (everything) expect(outcome.run).toBe(ALL_TESTS);
  });

  // Opening by number may fail when the file is not on the default nameservice, but must not open another file.
  it.skipIf(ENDPOINT === 'namenode')(
    'PathHandle on /data1 with ns0 as the default nameservice: counted apart',
    { timeout: RUN_WITHIN_MS },
    async () => {
      const outcome = await runContract('/data1', 'ns0', ['PathHandle']);
      console.log(`PathHandle with another default nameservice: ${outcome.run} run, ${outcome.failing.length} failed`);
      expect(outcome.failing.filter((test) => !BY_INODE.test(test))).toEqual([]);
      expect(wrongData(outcome)).toEqual([]);
    },
  );
});
