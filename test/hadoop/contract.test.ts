import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENDPOINT, Rig, startEndpoint } from './support.ts';

/** Hadoop's own contract tests for file systems, over a mount on each nameservice. */

const ALL_TESTS = 225;
const RUN_WITHIN_MS = 900_000;

/** They delete or empty `/`, which no router with a mount point can allow: Hadoop's Router fails the same four. */
const FORCED_BY_MOUNT_POINTS = [
  'RootDirectory.testListEmptyRootDirectory',
  'RootDirectory.testRmEmptyRootDirNonRecursive',
  'RootDirectory.testRmEmptyRootDirRecursive',
  'RootDirectory.testRmRootRecursive',
];

/** Hadoop's Router 3.4.1 fails these besides: concat onto an empty file ends in a NullPointerException there. */
const KNOWN_OF_JAVA_ROUTER = /^MultipartUploader\./;

/** Opened by inode number, these tests meet the default nameservice, whatever nameservice the file is on. */
const BY_INODE = /^PathHandle\./;

interface Tally {
  readonly class: string;
  readonly run: number;
  readonly skipped: number;
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
  const reasons = tallies
    .filter((tally) => tally !== total)
    .flatMap((tally) => Object.entries(tally.failing).map(([test, why]) => `${tally.class}.${test}: ${why}`));
  return { run: total.run, failing: total.failing as readonly string[], reasons };
}

let rig: Rig;

beforeAll(async () => {
  rig = await Rig.start({ mounts: ['/data0=ns0:/data0', '/data1=ns1:/data1'] });
  await rig.makeTargets(['ns0:/data0', 'ns1:/data1', 'ns0:/data1']);
});

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]();
});

async function runContract(mount: string, defaultNameservice: string, only: readonly string[]): Promise<Outcome> {
  await using endpoint = await startEndpoint(rig, {
    'dfs.federation.router.default.nameserviceId': defaultNameservice,
  });
  const args = ['contract', '--fs', endpoint.uri, '--path', mount];
  if (only.length > 0) args.push('--only', only.join(','));
  const { out, err } = await rig.command(args, RUN_WITHIN_MS);
  try {
    return readOutcome(out);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${err}\n${endpoint.log}`, { cause: error });
  }
}

/** Failures that nothing explains, with their reasons. */
function unexplained({ failing, reasons }: Outcome): readonly string[] {
  const explained = new Set(ENDPOINT === 'namenode' ? [] : FORCED_BY_MOUNT_POINTS);
  const left = failing.filter(
    (test) => !explained.has(test) && !(ENDPOINT === 'java-router' && KNOWN_OF_JAVA_ROUTER.test(test)),
  );
  return left.map((test) => reasons.find((reason) => reason.startsWith(`${test}:`)) ?? test);
}

describe("Hadoop's contract tests", () => {
  it.each([
    ['/data0', 'ns0'],
    ['/data1', 'ns1'],
  ])('on %s with %s as the default nameservice', { timeout: RUN_WITHIN_MS }, async (mount, ns) => {
    const outcome = await runContract(mount, ns, []);
    console.log(
      `contract tests on ${mount}: ${outcome.run} run, ${outcome.failing.length} failed: ${outcome.failing.join(' ')}`,
    );
    expect(unexplained(outcome)).toEqual([]);
    expect(outcome.run).toBe(ALL_TESTS);
  });

  // A file's inode number says nothing of its nameservice: opening by number may fail there, but must not open another file.
  it.skipIf(ENDPOINT === 'namenode')(
    'PathHandle on /data1 with ns0 as the default nameservice: counted apart',
    { timeout: RUN_WITHIN_MS },
    async () => {
      const outcome = await runContract('/data1', 'ns0', ['PathHandle']);
      console.log(`PathHandle with another default nameservice: ${outcome.run} run, ${outcome.failing.length} failed`);
      expect(outcome.failing.filter((test) => !BY_INODE.test(test))).toEqual([]);
      const wrongData = outcome.reasons.filter((reason) => /byte at|expected:<.*> but was:<|arrays/i.test(reason));
      expect(wrongData).toEqual([]);
    },
  );

  // Hadoop's Router opens the file of the default nameservice that has the same number.
  it.skipIf(ENDPOINT !== 'switchyard')("a handle never opens another nameservice's file", async () => {
    await using endpoint = await startEndpoint(rig, { 'dfs.federation.router.default.nameserviceId': 'ns0' });
    const { out, err } = await rig.command(['probe', 'path-handle', '--fs', endpoint.uri, '--path', '/data1']);
    console.log(out);
    expect(out, `${err}\n${endpoint.log}`).toMatch(/^2 passed, 0 failed$/m);
  });
});
