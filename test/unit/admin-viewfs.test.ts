import { describe, expect, it } from 'vitest';
import { type FindNameservice, type ImportedViewfs, importTable } from '../../src/admin/client/viewfs.ts';
import { UsageError } from '../../src/commands/usage.ts';
import type { FileProperty } from '../../src/config/hadoop-xml.ts';

const PREFIX = 'fs.viewfs.mounttable';

function properties(values: Readonly<Record<string, string>>): FileProperty[] {
  return Object.entries(values).map(([name, value], i) => ({
    name: name.startsWith('fs.') || name.startsWith('x.') ? name : `${PREFIX}.${name}`,
    value,
    final: false,
    file: 'core-site.xml',
    place: `core-site.xml:${i + 1}`,
  }));
}

const NAMENODES: FindNameservice = (host, port) => (host === 'nn7.example.com' && port === 8020 ? 'ns7' : null);

function importOf(values: Readonly<Record<string, string>>, table: string | null = null): ImportedViewfs {
  return importTable(properties(values), 'core-site.xml', table, NAMENODES);
}

function mountsOf(values: Readonly<Record<string, string>>, table: string | null = null): string[] {
  return importOf(values, table).mounts.map(
    ({ sourcePath, destination: { nameservice, path } }) => `${sourcePath} ${nameservice}:${path}`,
  );
}

describe('the import of a ViewFs mount table', () => {
  it('takes the links to nameservices, by path', () => {
    const imported = importOf({
      'cluster.x.link./user': 'hdfs://ns0/user',
      'cluster.x.link./data/a': ' hdfs://ns_1/ ',
      'cluster.x.link./tmp': 'hdfs://nn7.example.com:8020/tmp%20x//y/',
      'cluster.x.link./old': 'hdfs://nn7.example.com/old',
      'x.other': 'y',
    });
    expect(imported).toEqual({
      table: 'cluster.x',
      mounts: [
        { sourcePath: '/data/a', destination: { nameservice: 'ns_1', path: '/' } },
        { sourcePath: '/old', destination: { nameservice: 'ns7', path: '/old' } },
        { sourcePath: '/tmp', destination: { nameservice: 'ns7', path: '/tmp x/y' } },
        { sourcePath: '/user', destination: { nameservice: 'ns0', path: '/user' } },
      ],
      notes: [],
    });
  });

  it('expands variables, and takes the last definition that is not after a final one', () => {
    const [first, ...rest] = properties({
      't.link./a': `hdfs://${'$'}{x.ns}/a`,
      't.link./b': 'hdfs://ns0/b',
      'x.ns': 'ns1',
    });
    const all = [first, ...rest].flatMap((property) => (property === undefined ? [] : [property]));
    const again = properties({ 't.link./b': 'hdfs://ns2/b', 't.link./a': 'hdfs://ns3/a' });
    const frozen = all.map((property) => ({ ...property, final: property.name.endsWith('/a') }));
    const { mounts } = importTable([...frozen, ...again], 'core-site.xml', null, NAMENODES);
    expect(mounts.map(({ destination }) => destination.nameservice)).toEqual(['ns1', 'ns2']);
  });

  it('takes the table that is named, by the other name of the default table too', () => {
    const values = { 'default.link./a': 'hdfs://ns0/a', 'b.link./b': 'hdfs://ns0/b', 'default.name.key': 'main' };
    expect(mountsOf(values, 'b')).toEqual(['/b ns0:/b']);
    expect(mountsOf(values, 'main')).toEqual(['/a ns0:/a']);
    expect(() => importOf(values)).toThrow('core-site.xml has several tables: b, default; choose with --table');
    expect(() => importOf(values, 'c')).toThrow(UsageError);
    expect(() => importOf({ 'x.a': 'b' })).toThrow('core-site.xml: it has no key fs.viewfs.mounttable.TABLE.link.PATH');
  });

  it.each<[string, string, string]>([
    ['t.linkFallback', 'hdfs://ns0/f', 'a mount of / does the same, where you want it: "/": ns0:/f'],
    ['t.linkMergeSlash', 'hdfs://ns0/', 'a mount of / does the same, where you want it: "/": ns0:/'],
    ['t.linkMerge./m', 'hdfs://ns0/m,hdfs://ns1/m', 'linkMerge /m to hdfs://ns0/m,hdfs://ns1/m is not imported'],
    [
      't.linkNfly.minReplication=2./n',
      'hdfs://ns0/n,hdfs://ns1/n',
      'routers do not write files to several nameservices',
    ],
    ['t.linkRegex.#.^/(?<x>.*)$', `hdfs://ns0/${'$'}{x}`, 'mounts have no patterns'],
    ['t.homedir', '/home', 'homedir /home is not imported'],
    ['t.link./s3', 's3a://bucket/x', 'link /s3 is not imported: its target s3a://bucket/x is not in HDFS'],
    ['t.link./empty', ' ', 'is not in HDFS'],
    ['t.link./nn', 'hdfs://nn9:8020/x', 'no nameservice of the configuration has it; write hdfs://NAMESERVICE/PATH'],
    ['t.link./a/../b', 'hdfs://ns0/x', "a component '..'"],
    ['t.link.relative', 'hdfs://ns0/x', "its source 'relative' is no absolute path"],
  ])('says that %s = %s cannot be a mount', (name, value, note) => {
    const { mounts, notes } = importOf({ 't.link./good': 'hdfs://ns0/good', [name]: value });
    expect(mounts).toHaveLength(1);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('core-site.xml:2: ');
    expect(notes[0]).toContain(note);
  });
});
