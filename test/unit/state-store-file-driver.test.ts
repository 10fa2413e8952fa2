import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  escapeKey,
  MAX_RECORD_BYTES,
  readDisabledNameservices,
  readMemberships,
  readMountTable,
  readRouters,
} from '../../src/state-store/file-driver.ts';
import { encodeMount } from '../../src/state-store/records.ts';
import { DEFAULTS, mount } from './mount-samples.ts';

const SAMPLES = new URL('./state-store-samples/file-driver', import.meta.url).pathname;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'state-store-'));
  mkdirSync(join(root, 'MountTable'));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(name: string, text: string): void {
  writeFileSync(join(root, 'MountTable', name), text);
}

function textOf(source: string, dateModified = 1_700_000_000_000, target = '/x'): string {
  return encodeMount(mount(source, [`ns0:${target}`], { dateModified })).toString('base64');
}

function read(): { paths: string[]; problems: [string, string][] } {
  const { entries, problems } = readMountTable(root, DEFAULTS);
  return {
    paths: entries.map(({ sourcePath }) => sourcePath),
    problems: problems.map(({ file, reason }) => [basename(file), reason]),
  };
}

describe('a directory written by Hadoop', () => {
  it('is read, all four types', () => {
    const { entries, problems } = readMountTable(SAMPLES, DEFAULTS);
    expect(problems).toEqual([]);
    expect(entries.map(({ sourcePath }) => sourcePath)).toEqual([
      '/',
      '/data/logs',
      '/explicit-defaults',
      '/multi',
      '/odd_name:x/sp ace%41/é',
    ]);
    const memberships = readMemberships(SAMPLES);
    expect(memberships.records.length).toBe(7);
    expect(memberships.records.map(({ namenodeId }) => namenodeId)).toEqual([
      'nn1',
      'nn1',
      'nn2',
      'nn2',
      'nn2',
      '',
      '',
    ]);
    expect(readRouters(SAMPLES).records.map(({ status }) => status)).toEqual(['RUNNING', 'SAFEMODE']);
    expect(readDisabledNameservices(SAMPLES)).toMatchObject({ records: [{ nameserviceId: 'ns_bad' }], problems: [] });
  });

  it('has the names that keys escape to', () => {
    const names = ['/', '/data/logs', '/odd_name:x/sp ace%41/é'].map(escapeKey);
    for (const name of names) expect(readFileSync(join(SAMPLES, 'MountTable', name), 'latin1')).not.toBe('');
    expect(escapeKey('router1.example.com:8888')).toBe('router1.example.com_8888');
  });

  it('stays readable beside files that are no records', () => {
    cpSync(SAMPLES, root, { recursive: true });
    put('0SLASH0new.1700000000000.tmp', 'half a rec');
    put('.hidden.tmp', '');
    put('.0SLASH0data.tmp.crc', 'crc');
    put('empty', '');
    put('comment-only', '# nothing\n\n');
    put('garbage', '!!!!');
    put('broken', 'CgU=');
    mkdirSync(join(root, 'MountTable', 'folder'));
    symlinkSync(join(root, 'nowhere'), join(root, 'MountTable', 'dangling'));
    symlinkSync(root, join(root, 'MountTable', 'link-to-folder'));
    put('large', '');
    truncateSync(join(root, 'MountTable', 'large'), MAX_RECORD_BYTES + 1);
    const { paths, problems } = read();
    expect(paths.length).toBe(5);
    expect(problems.toSorted()).toEqual([
      ['broken', expect.stringContaining('MountTableRecordProto')],
      ['comment-only', expect.stringContaining('no record in it')],
      ['dangling', expect.stringContaining('ENOENT')],
      ['empty', expect.stringContaining('no record in it')],
      ['folder', expect.stringContaining('not a file; remove it')],
      ['garbage', expect.stringContaining('no record in it')],
      ['large', expect.stringContaining('at most')],
      ['link-to-folder', expect.stringContaining('not a file; remove it')],
    ]);
  });
});

describe('single files', () => {
  it('the first line that decodes is the record', () => {
    put('a', `# by hand\n\nCgU=\r\n${textOf('/first')}\n${textOf('/second')}\n`);
    expect(read()).toEqual({ paths: ['/first'], problems: [] });
  });

  it('base64 is read leniently: URL alphabet, no padding, foreign characters', () => {
    const text = textOf('/ÿ?~', 1_700_000_000_003, '/>>>???');
    expect(text).toMatch(/[+/]/);
    put('url', text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''));
    put('spaced', `${textOf('/b').slice(0, 7)} *${textOf('/b').slice(7)}`);
    put('.visible', textOf('/c'));
    expect(read()).toEqual({ paths: ['/c', '/b', '/ÿ?~'], problems: [] });
  });

  it('a mount no lookup can reach and an unknown order are reported', () => {
    put('slash', encodeMount(mount('/a/', ['ns0:/'])).toString('base64'));
    put(
      'order',
      Buffer.concat([encodeMount(mount('/b', ['ns0:/'])).subarray(0), Buffer.from('3063', 'hex')]).toString('base64'),
    );
    put('unknown-order', Buffer.from('0a022f6412080a036e733012012f3063', 'hex').toString('base64'));
    const { paths, problems } = read();
    expect(paths).toEqual(['/b', '/d']);
    expect(problems).toEqual([
      ['slash', expect.stringContaining("write '/a'")],
      ['unknown-order', expect.stringContaining('order 99')],
    ]);
  });

  it('of two records of one path the newer counts', () => {
    put('a', textOf('/m', 5, '/old'));
    put('b', textOf('/m', 7, '/new'));
    put('c', textOf('/m', 7, '/same-age'));
    const { entries, problems } = readMountTable(root, DEFAULTS);
    expect(entries.map(({ destinations }) => destinations[0]?.path)).toEqual(['/new']);
    expect(problems.map(({ file, reason }) => [basename(file), reason])).toEqual([
      ['a', expect.stringContaining(`is also in ${join(root, 'MountTable', 'b')}, which is used`)],
      ['c', expect.stringContaining('which is used')],
    ]);
  });
});

describe('the store as a whole', () => {
  it('a type directory that is not there has no records', () => {
    expect(readRouters(root)).toEqual({ records: [], problems: [] });
  });

  it('a root that is not there, or is a file, is an error with a remedy', () => {
    const gone = join(root, 'gone');
    expect(() => readMountTable(gone, DEFAULTS)).toThrow(
      /gone\/MountTable: ENOENT.*dfs\.federation\.router\.store\.driver\.file\.directory/,
    );
    writeFileSync(gone, '');
    expect(() => readMountTable(gone, DEFAULTS)).toThrow(/ENOTDIR/);
  });
});
