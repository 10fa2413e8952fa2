import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileDriver, MAX_RECORD_BYTES } from '../../src/state-store/file-driver.ts';
import { escapeKey } from '../../src/state-store/record-names.ts';
import {
  decodeDisabledNameservice,
  decodeMembership,
  decodeMount,
  decodeRouter,
  encodeDisabledNameservice,
  encodeMount,
  encodeRouter,
  type RecordType,
  type RouterRecord,
} from '../../src/state-store/records.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

const SAMPLES = new URL('./state-store-samples/file-driver', import.meta.url).pathname;
const WRITER = fileURLToPath(new URL('../support/store-writer.ts', import.meta.url));
const UPDATE = { update: true, errorIfExists: false };
const ADD = { update: false, errorIfExists: true };
const KEEP = { update: false, errorIfExists: false };
const NOBODY = 65_534;

let root: string;
let driver: FileDriver;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'state-store-'));
  driver = new FileDriver(root);
  await driver.start();
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text: string): void {
  writeFileSync(join(root, 'MountTable', name), text);
}

function bytesOf(source: string, dateModified = 1_700_000_000_000, target = '/x'): Buffer {
  return encodeMount(mount(source, [`ns0:${target}`], { dateModified }));
}

function textOf(source: string): string {
  return bytesOf(source).toString('base64');
}

function mountOf(bytes: Buffer) {
  return decodeMount(bytes, DEFAULTS).record.entry;
}

async function read(type: RecordType = 'MountTable'): Promise<{ names: string[]; problems: [string, string][] }> {
  const { records, problems } = await driver.readAll(type);
  return { names: records.map(({ name }) => name), problems: problems.map(({ name, reason }) => [name, reason]) };
}

describe('a directory written by Hadoop', () => {
  it('is read, all four types', async () => {
    const samples = new FileDriver(SAMPLES);
    const mounts = await samples.readAll('MountTable');
    expect(mounts.problems).toEqual([]);
    expect(mounts.records.map(({ bytes }) => mountOf(bytes).sourcePath)).toEqual([
      '/',
      '/data/logs',
      '/explicit-defaults',
      '/multi',
      '/odd_name:x/sp ace%41/é',
    ]);
    const memberships = await samples.readAll('MembershipState');
    expect(memberships.records.map(({ bytes }) => decodeMembership(bytes).record.namenodeId)).toEqual([
      'nn1',
      'nn1',
      'nn2',
      'nn2',
      'nn2',
      '',
      null,
    ]);
    const routers = await samples.readAll('RouterState');
    expect(routers.records.map(({ bytes }) => decodeRouter(bytes).record.status)).toEqual(['RUNNING', 'SAFEMODE']);
    const disabled = await samples.readAll('DisabledNameservice');
    expect(disabled.records.map(({ bytes }) => decodeDisabledNameservice(bytes).record.nameserviceId)).toEqual([
      'ns_bad',
    ]);
  });

  it('has the same files when its records are written here', async () => {
    for (const type of ['MountTable', 'MembershipState', 'RouterState', 'DisabledNameservice'] as const) {
      const { records } = await new FileDriver(SAMPLES).readAll(type);
      for (const { name, bytes } of records) expect(await driver.put(type, name, bytes, ADD)).toBe(true);
      expect(readdirSync(join(root, type))).toEqual(readdirSync(join(SAMPLES, type)));
      for (const { name } of records) {
        expect(readFileSync(join(root, type, name))).toEqual(readFileSync(join(SAMPLES, type, name)));
      }
    }
  });

  it('stays readable beside files that are no records', async () => {
    cpSync(SAMPLES, root, { recursive: true });
    write('.hidden.tmp', '');
    write('.0SLASH0data.tmp.crc', 'crc');
    write('empty', '');
    write('comment-only', '# nothing\n\n');
    mkdirSync(join(root, 'MountTable', 'folder'));
    symlinkSync(join(root, 'nowhere'), join(root, 'MountTable', 'dangling'));
    symlinkSync(root, join(root, 'MountTable', 'link-to-folder'));
    write('large', '');
    truncateSync(join(root, 'MountTable', 'large'), MAX_RECORD_BYTES + 1);
    const { names, problems } = await read();
    expect(names.length).toBe(5);
    expect(problems).toEqual([
      ['comment-only', expect.stringContaining('no record in it')],
      ['dangling', expect.stringContaining('ENOENT')],
      ['empty', expect.stringContaining('no record in it')],
      ['folder', expect.stringContaining('not a file; remove it')],
      ['large', expect.stringContaining('at most')],
      ['link-to-folder', expect.stringContaining('not a file; remove it')],
    ]);
  });
});

describe('single files', () => {
  it('the first line that decodes is the record; of none, the first', async () => {
    write('a', `# by hand\n\nCgU=\r\n${textOf('/first')}\n${textOf('/second')}\n`);
    write('b', '# by hand\nCgU=\n!!!!\n');
    const { records, problems } = await driver.readAll('MountTable');
    expect(problems).toEqual([]);
    expect(mountOf(records[0]?.bytes ?? Buffer.alloc(0)).sourcePath).toBe('/first');
    expect(records[1]?.bytes.toString('hex')).toBe('0a05');
  });

  it('base64 is read leniently: URL alphabet, no padding, foreign characters', async () => {
    const text = bytesOf('/ÿ?~', 1_700_000_000_003, '/>>>???').toString('base64');
    expect(text).toMatch(/[+/]/);
    write('url', text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''));
    write('spaced', `${textOf('/b').slice(0, 7)} *${textOf('/b').slice(7)}`);
    write('.visible', textOf('/c'));
    const { records } = await driver.readAll('MountTable');
    expect(records.map(({ bytes }) => mountOf(bytes).sourcePath)).toEqual(['/c', '/b', '/ÿ?~']);
  });

  it('abandoned temporary files are removed, those of a write under way are not', async () => {
    const now = Date.now();
    write(`0SLASH0a.${now - 11_000}.tmp`, 'half');
    write(`0SLASH0b.${now}.tmp`, 'half');
    write('0SLASH0c.tmp', 'no time in it');
    expect((await read()).names).toEqual([]);
    expect(readdirSync(join(root, 'MountTable'))).toEqual([`0SLASH0b.${now}.tmp`, '0SLASH0c.tmp']);
  });
});

describe('writing', () => {
  it('succeeds though a reader whose clock is ahead removes temporary files', async () => {
    const directory = join(root, 'MountTable');
    let removed = 0;
    let isDone = false;
    const remove = (async (): Promise<void> => {
      while (!isDone) {
        for (const name of readdirSync(directory).filter((each) => each.endsWith('.tmp'))) {
          rmSync(join(directory, name), { force: true });
          removed++;
        }
        // Less often than a write makes attempts.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    try {
      for (let i = 0; removed < 5; i++) {
        expect(await driver.put('MountTable', `0SLASH0new${i}`, bytesOf(`/new${i}`), ADD)).toBe(true);
        expect(await driver.put('MountTable', '0SLASH0a', bytesOf('/a'), UPDATE)).toBe(true);
      }
    } finally {
      isDone = true;
      await remove;
    }
    const { names } = await read();
    expect(names).toContain('0SLASH0a');
  });

  it('adds once, keeps, updates with a new date, removes', async () => {
    const [first, second] = [bytesOf('/m', 5, '/first'), bytesOf('/m', 5, '/second')];
    const current = async () => mountOf((await driver.readAll('MountTable')).records[0]?.bytes ?? Buffer.alloc(0));
    expect(await driver.put('MountTable', '0SLASH0m', first, ADD)).toBe(true);
    expect(await driver.put('MountTable', '0SLASH0m', second, ADD)).toBe(false);
    expect(await driver.put('MountTable', '0SLASH0m', second, KEEP)).toBe(true);
    expect(await current()).toMatchObject({ destinations: [{ path: '/first' }], dateModified: 5 });
    const before = Date.now();
    expect(await driver.put('MountTable', '0SLASH0m', second, UPDATE)).toBe(true);
    const updated = await current();
    expect(updated.destinations).toEqual([{ nameservice: 'ns0', path: '/second' }]);
    expect(updated.dateModified).toBeGreaterThanOrEqual(before);
    expect(await driver.put('MountTable', '0SLASH0new', second, UPDATE)).toBe(true);
    expect(await driver.put('MountTable', '0SLASH0gone', second, { ...UPDATE, version: 0 })).toBe(false);
    expect(await driver.remove('MountTable', '0SLASH0m')).toBe(true);
    expect(await driver.remove('MountTable', '0SLASH0m')).toBe(false);
    expect(readdirSync(join(root, 'MountTable'))).toEqual(['0SLASH0new']);
  });

  it('the date of an expired record stays', async () => {
    const record: RouterRecord = {
      ...{ dateCreated: 1, dateModified: 2, address: 'r:1', status: 'EXPIRED', membershipVersion: -1 },
      ...{ mountTableVersion: -1, version: '', compileInfo: '', dateStarted: 1, adminAddress: '' },
    };
    await driver.put('RouterState', 'r_1', encodeRouter(record), UPDATE);
    await driver.put('RouterState', 'r_1', encodeRouter(record), UPDATE);
    const { records } = await driver.readAll('RouterState');
    expect(decodeRouter(records[0]?.bytes ?? Buffer.alloc(0)).record.dateModified).toBe(2);
    await driver.put('RouterState', 'r_1', encodeRouter({ ...record, status: 'RUNNING' }), UPDATE);
    const again = await driver.readAll('RouterState');
    expect(decodeRouter(again.records[0]?.bytes ?? Buffer.alloc(0)).record.dateModified).toBeGreaterThan(2);
  });

  it.each(['', '.', '..', 'a/b', 'a\0b', '0SLASH0x.tmp', '.x.crc', '\ud800'])('refuses the name %j', async (name) => {
    await expect(driver.put('MountTable', name, bytesOf('/m'), UPDATE)).rejects.toThrow(/State Store record .*choose/);
    await expect(driver.remove('MountTable', name)).rejects.toThrow(/State Store record/);
  });

  it('a name that is too long is an error that says so', async () => {
    await expect(driver.put('MountTable', 'x'.repeat(300), bytesOf('/m'), ADD)).rejects.toThrow(
      /ENAMETOOLONG.*shorter path/,
    );
  });

  it('a type directory that went missing is made again', async () => {
    rmSync(join(root, 'MountTable'), { recursive: true });
    expect((await read()).names).toEqual([]);
    expect(await driver.put('MountTable', 'a', bytesOf('/a'), ADD)).toBe(true);
    expect((await read()).names).toEqual(['a']);
  });
});

describe('the store as a whole', () => {
  it('a root that is not there, or is a file, is an error with a remedy', async () => {
    const gone = new FileDriver(join(root, 'gone'));
    const remedy = /gone\/MountTable: ENOENT.*dfs\.federation\.router\.store\.driver\.file\.directory/;
    await expect(gone.readAll('MountTable')).rejects.toThrow(remedy);
    await expect(gone.put('MountTable', 'a', bytesOf('/a'), ADD)).rejects.toThrow(remedy);
    await expect(gone.remove('MountTable', 'a')).rejects.toThrow(/gone\/MountTable\/a: ENOENT/);
    await expect(gone.start()).rejects.toThrow(/ENOENT/);
    expect(gone.ready).toBe(false);
    writeFileSync(join(root, 'gone'), '');
    await expect(gone.readAll('MountTable')).rejects.toThrow(/ENOTDIR/);
  });

  it('without room a write fails, what is there stays', async () => {
    await driver.put('MountTable', '0SLASH0m', bytesOf('/m', 5), ADD);
    // A limit of the size of files stands for a full disk: both cut the write short.
    const lines = await runWriter({ limit: 'ulimit -f 0' }, [
      { put: ['MountTable', '0SLASH0m', bytesOf('/m', 6).toString('base64'), UPDATE] },
      { put: ['MountTable', '0SLASH0n', bytesOf('/n').toString('base64'), ADD] },
      { read: 'MountTable' },
    ]);
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^error State Store, .*0SLASH0m: E(FBIG|NOSPC).*; make room on that file system$/),
      expect.stringMatching(/^error .*0SLASH0n: /),
    ]);
    expect(lines[2]).toBe('names 0SLASH0m');
    expect(readdirSync(join(root, 'MountTable'))).toEqual(['0SLASH0m']);
    const { records } = await driver.readAll('MountTable');
    expect(mountOf(records[0]?.bytes ?? Buffer.alloc(0)).dateModified).toBe(5);
  });

  it('without the right to write it can be read', async () => {
    await driver.put('MountTable', '0SLASH0m', bytesOf('/m', 5), ADD);
    chmodSync(root, 0o755);
    chmodSync(join(root, 'MountTable'), 0o555);
    const lines = await runWriter({ user: process.getuid?.() === 0 ? NOBODY : null }, [
      { put: ['MountTable', '0SLASH0m', bytesOf('/m', 6).toString('base64'), UPDATE] },
      { remove: ['MountTable', '0SLASH0m'] },
      { read: 'MountTable' },
    ]);
    expect(lines).toEqual([
      expect.stringMatching(/^error .*0SLASH0m: EACCES.*give the router's user the right/),
      expect.stringMatching(/^error .*0SLASH0m: EACCES/),
      'names 0SLASH0m',
    ]);
    chmodSync(join(root, 'MountTable'), 0o755);
  });
});

const PROCESSES = 8;
const KEYS = 100;

describe('several processes at once', () => {
  it('distinct keys are all kept, of many adds of one key one succeeds, updates leave one whole record', async () => {
    const ended = await Promise.all(
      Array.from({ length: PROCESSES }, (_, writer) => {
        const steps: object[] = [];
        for (let i = 0; i < KEYS; i++) {
          steps.push({ put: ['MountTable', escapeKey(`/w${writer}/k${i}`), textOf(`/w${writer}/k${i}`), ADD] });
          steps.push({ put: ['MountTable', escapeKey(`/one${i}`), textOf(`/one${i}`), ADD] });
          steps.push({ put: ['MountTable', escapeKey('/shared'), textOf('/shared'), UPDATE] });
          steps.push({ read: 'DisabledNameservice' });
        }
        return runWriter({}, steps);
      }),
    );
    for (let i = 0; i < KEYS; i++) {
      expect(ended.map((lines) => lines[4 * i])).toEqual(new Array(PROCESSES).fill('put true'));
      expect(ended.map((lines) => lines[4 * i + 1]).toSorted()).toEqual([
        ...new Array(PROCESSES - 1).fill('put false'),
        'put true',
      ]);
      expect(ended.map((lines) => lines[4 * i + 2])).toEqual(new Array(PROCESSES).fill('put true'));
    }
    const { records, problems } = await driver.readAll('MountTable');
    expect(problems).toEqual([]);
    expect(records.length).toBe(PROCESSES * KEYS + KEYS + 1);
    for (const { name, bytes } of records) expect(escapeKey(mountOf(bytes).sourcePath)).toBe(name);
    expect(readdirSync(join(root, 'MountTable')).length).toBe(records.length);
  });

  it('of adds in the same moment one succeeds', async () => {
    for (let i = 0; i < 20; i++) {
      const adds = Array.from({ length: 10 }, (_, n) =>
        driver.put('MountTable', `m${i}`, bytesOf('/m', 5, `/${n}`), ADD),
      );
      const added = await Promise.all(adds);
      expect(added.filter(Boolean).length).toBe(1);
      const stored = readFileSync(join(root, 'MountTable', `m${i}`), 'latin1');
      expect(stored).toBe(bytesOf('/m', 5, `/${added.indexOf(true)}`).toString('base64'));
    }
    expect(readdirSync(join(root, 'MountTable')).length).toBe(20);
  });

  it('a reader sees every record whole while it is written', async () => {
    const text = encodeDisabledNameservice({ dateCreated: 1, dateModified: 2, nameserviceId: 'n'.repeat(20_000) });
    await driver.put('DisabledNameservice', 'n', text, ADD);
    const steps = new Array(200).fill({ put: ['DisabledNameservice', 'n', text.toString('base64'), UPDATE] });
    let isWriting = true;
    const writing = runWriter({}, steps).finally(() => {
      isWriting = false;
    });
    let reads = 0;
    while (isWriting) {
      const { records, problems } = await driver.readAll('DisabledNameservice');
      expect(problems).toEqual([]);
      expect(records.map(({ bytes }) => decodeDisabledNameservice(bytes).record.nameserviceId.length)).toEqual([
        20_000,
      ]);
      reads++;
    }
    expect(new Set(await writing)).toEqual(new Set(['put true']));
    expect(reads).toBeGreaterThan(0);
  });
});

/** Runs the steps in a process of its own, one after the other, and returns a line for each. */
async function runWriter(how: { limit?: string; user?: number | null }, steps: object[]): Promise<string[]> {
  const child = spawn(
    '/bin/sh',
    ['-c', `${how.limit ?? 'true'} && exec "$0" "$@"`, process.execPath, WRITER, root, String(how.user ?? '')],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  child.stdin.end(JSON.stringify(steps));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('close', resolve);
  expect(await promise).toBe(0);
  return output.trimEnd().split('\n');
}
