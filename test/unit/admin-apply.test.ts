import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDifference, type Calls, MAX_BATCH, type Outcome } from '../../src/admin/client/declared/apply.ts';
import { declare } from '../../src/admin/client/declared/declared.ts';
import { findDifference, renderDifference } from '../../src/admin/client/declared/difference.ts';
import { parseDocumentText } from '../../src/admin/client/declared/read-document.ts';
import { documentOf, writeDocument } from '../../src/admin/client/declared/write-document.ts';
import { UsageError } from '../../src/commands/usage.ts';
import { RemoteError, RpcError } from '../../src/control/rpc-client.ts';
import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import { escapeKey, unescapeKey } from '../../src/state-store/record-names.ts';
import { encodeMount, type MountRecord, readMount } from '../../src/state-store/records.ts';

const OPTIONS = { prune: false, owner: 'hdfs', group: 'hadoop', nowMs: 7 };
const NOBODY = { routerUser: '', superGroup: '' };

function recordOf(sourcePath: string, more: Partial<MountEntry> = {}): MountRecord {
  const entry = {
    ...emptyEntry(sourcePath, { routerUser: 'hdfs', superGroup: 'hadoop' }),
    destinations: [{ nameservice: 'ns0', path: sourcePath }],
    dateCreated: 3,
    dateModified: 3,
    ...more,
  };
  return readMount(encodeMount(entry), NOBODY).record;
}

function declared(text: string) {
  return parseDocumentText(text, 'm.yaml');
}

function refusal(message: string): RemoteError {
  return new RemoteError({
    callId: 0,
    status: 'ERROR',
    exceptionClassName: 'java.lang.IllegalArgumentException',
    errorMsg: `${message}\n\tat a.b.c`,
  });
}

/** A router's mount table. Paths in `refused` are refused as Java routers do it; `lose` loses the answers of the next calls, done or not. */
class Table implements Calls {
  readonly entries = new Map<string, MountEntry>();
  readonly refused = new Set<string>();
  readonly log: string[] = [];
  lose: ('before' | 'after')[] = [];
  reconnects = 0;
  isSilent = false;

  constructor(records: readonly MountRecord[] = []) {
    for (const { entry } of records) this.entries.set(entry.sourcePath, entry);
  }

  async addMount(entry: MountEntry): Promise<boolean> {
    return await this.#answer(`add ${entry.sourcePath}`, () => this.#add(entry));
  }

  async addMounts(entries: readonly MountEntry[]): Promise<readonly string[] | null> {
    return await this.#answer(`add ${entries.length}`, () => {
      for (const { sourcePath } of entries) this.#check(sourcePath);
      const failed = entries.filter((entry) => !this.#add(entry)).map(({ sourcePath }) => sourcePath);
      if (failed.length === 0) return null;
      return this.isSilent ? [] : failed.map((path) => unescapeKey(escapeKey(path)));
    });
  }

  async updateMount(entry: MountEntry): Promise<boolean> {
    return await this.#answer(`update ${entry.sourcePath}`, () => {
      this.#check(entry.sourcePath);
      this.entries.set(entry.sourcePath, entry);
      return true;
    });
  }

  async removeMount(path: string): Promise<boolean> {
    return await this.#answer(`remove ${path}`, () => {
      this.#check(path);
      return this.entries.delete(path);
    });
  }

  async readMounts(): Promise<MountRecord[]> {
    return [...this.entries.values()].map((entry) => readMount(encodeMount(entry), NOBODY).record);
  }

  async refreshMounts(): Promise<boolean> {
    return true;
  }

  async reconnect(): Promise<void> {
    this.reconnects++;
  }

  #add(entry: MountEntry): boolean {
    this.#check(entry.sourcePath);
    if (this.entries.has(entry.sourcePath)) return false;
    this.entries.set(entry.sourcePath, entry);
    return true;
  }

  #check(path: string): void {
    if (this.refused.has(path)) throw refusal(`not ${path}`);
  }

  async #answer<T>(what: string, work: () => T): Promise<T> {
    this.log.push(what);
    const lose = this.lose.shift();
    if (lose === 'before') throw new RpcError('CLOSED', 'lost');
    const result = work();
    if (lose === 'after') throw new RpcError('TIMEOUT', 'lost');
    return result;
  }
}

async function apply(table: Table, text: string, prune = false): Promise<Outcome[]> {
  const options = { ...OPTIONS, prune };
  const mounts = declared(text);
  const outcomes: Outcome[] = [];
  const difference = findDifference(mounts, await table.readMounts(), options);
  await applyDifference(table, mounts, difference, options, (outcome) => outcomes.push(outcome));
  return outcomes;
}

function reasons(outcomes: readonly Outcome[]): string[] {
  return outcomes.map(({ kind, path, isDone, reason }) => `${kind} ${path} ${isDone ? 'done' : reason}`);
}

describe('the difference of a file and a mount table', () => {
  const present = [
    recordOf('/same'),
    recordOf('/other', { owner: 'bob', order: 'RANDOM' }),
    recordOf('/old'),
    recordOf('/old/deep'),
  ];
  const text = `mounts:
  /new/deep: ns1:/x
  /same: ns0:/same
  /other: {destinations: [ns0:/other, "ns1:/a,b"], order: HASH_ALL, mode: 0700, quota: {namespace: 5, space: 1k}}
  /new: ns1:/new
`;

  it('is printed as a diff, parents first', () => {
    expect([...renderDifference(findDifference(declared(text), present, OPTIONS))]).toEqual([
      '+ /new',
      '    destinations: ns1:/new',
      '    owner: hdfs',
      '    group: hadoop',
      '    mode: rwxr-xr-x',
      '+ /new/deep',
      '    destinations: ns1:/x',
      '    owner: hdfs',
      '    group: hadoop',
      '    mode: rwxr-xr-x',
      '~ /other',
      '    destinations: ns0:/other -> ns0:/other, "ns1:/a,b"',
      '    order: RANDOM -> HASH_ALL',
      '    mode: rwxr-xr-x -> rwx------',
      '    namespace quota: none -> 5',
      '    space quota: none -> 1k',
      '',
      '2 to add, 1 to change, 0 to remove, 1 unchanged',
      '2 mounts not in the file, kept (--prune removes what is not in it)',
    ]);
  });

  it('with prune has the removals, children first', () => {
    const { steps, kept } = findDifference(declared(text), present, { ...OPTIONS, prune: true });
    expect(steps.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'add /new',
      'add /new/deep',
      'change /other',
      'remove /old/deep',
      'remove /old',
    ]);
    expect(kept).toEqual([]);
  });

  it('keeps what a file does not say: owner, group, dates, counts', () => {
    const quota = {
      fileAndDirectoryCount: 9n,
      namespaceQuota: 10n,
      spaceConsumed: 8n,
      spaceQuota: -1n,
      types: [{ type: 'SSD', quota: 5n, consumed: 4n } as const],
    };
    const before = recordOf('/a', { owner: 'bob', group: 'staff', quota });
    const [step] = findDifference(declared('mounts: {/a: "ns1:/a"}'), [before], OPTIONS).steps;
    expect(step?.kind === 'change' ? step.entry : null).toMatchObject({
      owner: 'bob',
      group: 'staff',
      dateCreated: 3,
      dateModified: 7,
      quota: {
        fileAndDirectoryCount: 9n,
        namespaceQuota: -1n,
        spaceConsumed: 8n,
        types: [{ type: 'SSD', quota: -1n, consumed: 4n }],
      },
    });
  });

  it('refuses a mount that no router could use, with its place, but lets one be that is there', () => {
    const bad = 'mounts:\n  /a/: ns0:/a';
    expect(() => findDifference(declared(bad), [], OPTIONS)).toThrow(UsageError);
    expect(() => findDifference(declared(bad), [], OPTIONS)).toThrow(/^m\.yaml:2:3: .*trailing slash/);
    expect(() =>
      findDifference(declared('mounts: {/a: {destinations: "ns0:/a", faultTolerant: true}}'), [], OPTIONS),
    ).toThrow(/fault tolerant/);
    const there = recordOf('/a/', { destinations: [{ nameservice: 'ns0', path: '/a' }] });
    expect(findDifference(declared(bad), [there], OPTIONS).steps).toEqual([]);
  });

  it('is nothing between a table and its own export', () => {
    const table = [...present, recordOf('/q', { quota: { ...recordOf('/q').entry.quota, spaceQuota: 1234n } })];
    const text = writeDocument(
      table.map(({ entry }) => [entry.sourcePath, documentOf(declare(entry))]),
      'yaml',
    );
    const { steps, unchanged } = findDifference(declared(text), table, { ...OPTIONS, prune: true });
    expect({ steps, unchanged }).toEqual({ steps: [], unchanged: 5 });
  });
});

describe('applying a file', () => {
  it('adds all in one call, then changes, then removes', async () => {
    const table = new Table([recordOf('/a'), recordOf('/z')]);
    const outcomes = await apply(table, 'mounts: {/n: "ns0:/n", /m: "ns0:/m", /a: "ns1:/a"}', true);
    expect(reasons(outcomes)).toEqual(['add /m done', 'add /n done', 'change /a done', 'remove /z done']);
    expect(table.log).toEqual(['add 2', 'update /a', 'remove /z']);
    expect([...table.entries.keys()].sort()).toEqual(['/a', '/m', '/n']);
  });

  it('applies the others when a router refuses one of them', async () => {
    const table = new Table([recordOf('/c'), recordOf('/d')]);
    table.refused.add('/n3').add('/c');
    const names = Array.from({ length: 8 }, (_, i) => `/n${i}: "ns0:/n"`).join(', ');
    const outcomes = await apply(table, `mounts: {${names}, /c: "ns1:/c", /d: "ns1:/d"}`);
    const failed = outcomes.filter(({ isDone }) => !isDone);
    expect(reasons(failed)).toEqual([
      'add /n3 java.lang.IllegalArgumentException: not /n3',
      'change /c java.lang.IllegalArgumentException: not /c',
    ]);
    expect(outcomes).toHaveLength(10);
    expect(table.entries.size).toBe(9);
    expect(table.entries.get('/d')?.destinations[0]?.nameservice).toBe('ns1');
    // Halves, not one call for each.
    expect(table.log.filter((line) => line.startsWith('add'))).toEqual([
      'add 8',
      'add 4',
      'add 2',
      'add 2',
      'add /n2',
      'add /n3',
      'add 4',
    ]);
  });

  it('splits what is too much for one call', async () => {
    const table = new Table();
    const names = Array.from({ length: MAX_BATCH + 1 }, (_, i) => `/n${i}: "ns0:/n"`).join(', ');
    expect(await apply(table, `mounts: {${names}}`)).toHaveLength(MAX_BATCH + 1);
    expect(table.log).toHaveLength(2);
    const long = new Table();
    const paths = Array.from({ length: 300 }, (_, i) => `/n${i}: "ns0:/${'x'.repeat(20_000)}"`).join(', ');
    expect(await apply(long, `mounts: {${paths}}`)).toHaveLength(300);
    expect(long.log).toHaveLength(2);
  });

  it('names the mount that somebody else has added meanwhile, however the router spells it', async () => {
    for (const path of ['/n_1', '/n:1']) {
      const table = new Table();
      const mounts = declared(`mounts: {"${path}": "ns0:/n", /m: "ns0:/m"}`);
      const difference = findDifference(mounts, [], OPTIONS);
      table.entries.set(path, recordOf(path).entry);
      const outcomes: Outcome[] = [];
      await applyDifference(table, mounts, difference, OPTIONS, (outcome) => outcomes.push(outcome));
      expect(outcomes.map(({ path: name, isDone }) => `${name} ${isDone}`)).toEqual(['/m true', `${path} false`]);
    }
  });

  it('looks up what a router does not tell', async () => {
    const table = new Table();
    table.isSilent = true;
    const mounts = declared('mounts: {/n: "ns0:/n", /m: "ns0:/m"}');
    const difference = findDifference(mounts, [], OPTIONS);
    table.entries.set('/n', recordOf('/n').entry);
    const outcomes: Outcome[] = [];
    await applyDifference(table, mounts, difference, OPTIONS, (outcome) => outcomes.push(outcome));
    expect(reasons(outcomes)).toEqual(['add /m done', 'add /n done']);
  });

  it.each(['before', 'after'] as const)(
    'goes on at another router when the answer is lost %s the change',
    async (lose) => {
      const table = new Table([recordOf('/a'), recordOf('/z')]);
      table.lose = [lose, lose, lose];
      const outcomes = await apply(table, 'mounts: {/n: "ns0:/n", /a: "ns1:/a"}', true);
      expect(reasons(outcomes).sort()).toEqual(['add /n done', 'change /a done', 'remove /z done']);
      expect(table.reconnects).toBe(1);
      expect([...table.entries.keys()].sort()).toEqual(['/a', '/n']);
      expect(table.log).toHaveLength(lose === 'before' ? 6 : 3);
    },
  );

  it('gives up what never gets an answer', async () => {
    const table = new Table();
    table.lose = Array(20).fill('before');
    const outcomes = await apply(table, 'mounts: {/n: "ns0:/n"}');
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]?.reason).toContain('no answer');
    expect(table.log).toHaveLength(4);
  });

  it('makes any table the declared one, whatever is lost, and tells each step once', async () => {
    const mount = fc.record({
      name: fc.constantFrom('/a', '/b', '/c', '/a/b', '/d'),
      target: fc.constantFrom('/x', '/y'),
    });
    const table = fc.uniqueArray(mount, { selector: ({ name }) => name });
    const losses = fc.array(fc.constantFrom('before' as const, 'after' as const), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(table, table, losses, async (before, after, lose) => {
        const at = (path: string): Partial<MountEntry> => ({ destinations: [{ nameservice: 'ns0', path }] });
        const router = new Table(before.map(({ name, target }) => recordOf(name, at(target))));
        router.lose = lose;
        const text = `mounts: {${after.map(({ name, target }) => `${name}: "ns0:${target}"`).join(', ')}}`;
        const outcomes = await apply(router, text, true);
        expect(outcomes.every(({ isDone }) => isDone)).toBe(true);
        expect(new Set(outcomes.map(({ path }) => path)).size).toBe(outcomes.length);
        const got = [...router.entries.values()].map(
          ({ sourcePath, destinations }) => `${sourcePath} ${destinations[0]?.path}`,
        );
        expect(got.sort()).toEqual(after.map(({ name, target }) => `${name} ${target}`).sort());
      }),
      { numRuns: 300 },
    );
  });
});
