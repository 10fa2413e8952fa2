import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditCall, parseAuditLine, parseAuditTime, readAuditLogs } from '../../src/load/replay/audit-log.ts';

const TIME = '2026-11-30 12:00:00,123';
const TIME_MS = Date.UTC(2026, 10, 30, 12, 0, 0, 123);
const TAIL = 'perm=null\tproto=rpc';

function line(fields: string, before = `${TIME} INFO FSNamesystem.audit: `): string {
  return `${before}${fields}\t${TAIL}`;
}

function callOf(changes: Partial<AuditCall> = {}): AuditCall {
  return {
    timeMs: TIME_MS,
    allowed: true,
    user: 'alice',
    command: 'open',
    source: '/a',
    destination: '',
    ...changes,
  };
}

describe('a line of an audit log', () => {
  it.each([
    [
      'the usual pattern',
      line('allowed=true\tugi=alice (auth:SIMPLE)\tip=/10.0.0.1\tcmd=open\tsrc=/a\tdst=null'),
      callOf(),
    ],
    [
      'a pattern without level and logger',
      line('allowed=true\tugi=alice (auth:SIMPLE)\tip=/10.0.0.1\tcmd=open\tsrc=/a\tdst=null', `${TIME} `),
      callOf(),
    ],
    [
      'a full logger name and other separators of the time',
      line(
        'allowed=false\tugi=alice\tip=/10.0.0.1\tcmd=open\tsrc=/a\tdst=null',
        '2026-11-30T12:00:00.123 INFO [IPC Server handler 3] org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit - ',
      ),
      callOf({ allowed: false }),
    ],
    [
      'a proxied user',
      line(
        'allowed=true\tugi=bob (auth:PROXY) via hive/host.example@REALM (auth:KERBEROS)\tip=/10.0.0.1\tcmd=delete\tsrc=/x y=z\tdst=null',
      ),
      callOf({ user: 'bob', command: 'delete', source: '/x y=z' }),
    ],
    [
      'a principal',
      line('allowed=true\tugi=hdfs/nn1.example@REALM (auth:KERBEROS)\tip=/10.0.0.1\tcmd=mkdirs\tsrc=/m\tdst=null'),
      callOf({ user: 'hdfs', command: 'mkdirs', source: '/m' }),
    ],
    [
      'a realm alone',
      line('allowed=true\tugi=alice@REALM\tip=/10.0.0.1\tcmd=listStatus\tsrc=/\tdst=null'),
      callOf({ command: 'listStatus', source: '/' }),
    ],
    [
      'a rename with options, a caller context',
      `${line('allowed=true\tugi=alice (auth:TOKEN)\tip=/10.0.0.1\tcmd=rename (options=[OVERWRITE, TO_TRASH])\tsrc=/s\tdst=/d allowed=no')}\tcallerContext=mr_task src=/evil`,
      callOf({
        command: 'rename',
        source: '/s',
        destination: '/d allowed=no',
      }),
    ],
    [
      'a command without a path',
      line('allowed=true\tugi=hdfs (auth:SIMPLE)\tip=/10.0.0.1\tcmd=safemode_get\tsrc=null\tdst=null'),
      callOf({ user: 'hdfs', command: 'safemode_get', source: '' }),
    ],
  ])('%s', (_, text, expected) => {
    expect(parseAuditLine(text)).toEqual(expected);
  });

  it.each([
    ['a stack line', '\tat org.apache.hadoop.hdfs.server.namenode.FSNamesystem'],
    ['no time', 'INFO FSNamesystem.audit: allowed=true\tugi=alice\tip=/1\tcmd=open\tsrc=/a\tdst=null'],
    ['a time that is none', line('allowed=true\tugi=a\tip=/1\tcmd=open\tsrc=/a\tdst=null', '2026-13-30 12:00:00,123 ')],
    ['no audit fields', `${TIME} INFO namenode.FSNamesystem: started`],
    [
      'a line that was cut',
      `${TIME} INFO FSNamesystem.audit: allowed=true\tugi=alice (auth:SIMPLE)\tip=/10.0.0.1\tcmd=op`,
    ],
    ['no user', line('allowed=true\tugi=\tip=/1\tcmd=open\tsrc=/a\tdst=null')],
    ['an answer that is none', line('allowed=perhaps\tugi=a\tip=/1\tcmd=open\tsrc=/a\tdst=null')],
    ['the word inside of another', line('disallowed=true\tugi=a\tip=/1\tcmd=open\tsrc=/a\tdst=null')],
  ])('is not one: %s', (_, text) => {
    expect(parseAuditLine(text)).toBeNull();
  });

  it('keeps whatever stands in a path but tabs', () => {
    const path = fc.string({ unit: 'binary' }).map((text) => `/${text.replace(/[\t\r\n]/g, ' ')}`);
    fc.assert(
      fc.property(path, path, (source, destination) => {
        const text = line(`allowed=true\tugi=a b (auth:SIMPLE)\tip=/1\tcmd=rename\tsrc=${source}\tdst=${destination}`);
        expect(parseAuditLine(text)).toMatchObject({ user: 'a b', source, destination });
      }),
    );
  });

  it('any text is a line or is not, without an error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseAuditLine(text)).toBeNull();
        parseAuditLine(`${TIME} allowed=${text}`);
      }),
    );
  });
});

it('times may end early, and have to be real', () => {
  expect(parseAuditTime('2026-11-30')).toBe(Date.UTC(2026, 10, 30));
  expect(parseAuditTime('2026-11-30 12:01')).toBe(Date.UTC(2026, 10, 30, 12, 1));
  expect(parseAuditTime('2026-11-30 12:01:02')).toBe(Date.UTC(2026, 10, 30, 12, 1, 2));
  expect(parseAuditTime('2026-11-30 12:01:02.5')).toBe(Date.UTC(2026, 10, 30, 12, 1, 2, 500));
  for (const text of ['', '30.11.2026', '2026-02-30', '2026-11-30 24:00', '2026-11-30 12:00:00,1234', '2026-11-301']) {
    expect(parseAuditTime(text)).toBeNull();
  }
});

describe('audit logs', () => {
  let directory = '';

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'switchyard-audit-'));
  });

  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  function write(name: string, content: string | Buffer): string {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  }

  function lineOf(source: string): string {
    return line(`allowed=true\tugi=alice (auth:SIMPLE)\tip=/1\tcmd=open\tsrc=${source}\tdst=null`);
  }

  async function sourcesOf(...files: string[]): Promise<string[]> {
    const sources: string[] = [];
    await readAuditLogs(files, ({ source }) => sources.push(source) > 0);
    return sources;
  }

  it('are read one after the other, whatever their ends of lines, plain or compressed', async () => {
    const first = write('first', `${lineOf('/é')}\r\n\n${lineOf('/2')}\n`);
    const second = write('second', gzipSync(`${lineOf('/3')}\n${lineOf('/4')}`));
    expect(await sourcesOf(first, second)).toEqual(['/é', '/2', '/3', '/4']);
    expect(await sourcesOf(write('empty', ''))).toEqual([]);
  });

  it('whose lines lie across the ends of chunks', async () => {
    // Together some chunks long; no length of a line divides that of a chunk.
    const paths = Array.from({ length: 20_000 }, (_, i) => `/${'x'.repeat(i % 97)}/${i}`);
    expect(await sourcesOf(write('many', paths.map(lineOf).join('\n')))).toEqual(paths);
  });

  it('may hold other lines: they are counted, the first is shown', async () => {
    const long = `${lineOf(`/${'x'.repeat(300_000)}`)}\n${lineOf(`/${'y'.repeat(2_000_000)}`)}`;
    const file = write('mixed', `${lineOf('/1')}\n\njava.lang.Oops\n${long}\n${lineOf('/2')}\n`);
    const sources: string[] = [];
    const reading = await readAuditLogs([file], ({ source }) => sources.push(source) > 0);
    expect(sources).toEqual(['/1', '/2']);
    expect(reading).toEqual({ lines: 5, unreadable: 3, firstUnreadable: `${file}:3: java.lang.Oops` });
  });

  it('are left when enough was read', async () => {
    const file = write('enough', `${lineOf('/1')}\n${lineOf('/2')}\n${lineOf('/3')}\n`);
    const sources: string[] = [];
    const reading = await readAuditLogs([file, join(directory, 'missing')], ({ source }) => sources.push(source) < 2);
    expect(sources).toEqual(['/1', '/2']);
    expect(reading.lines).toBe(2);
  });

  it('that cannot be read are named', async () => {
    await expect(sourcesOf(join(directory, 'none'))).rejects.toThrow(/none: ENOENT.*name the audit log/);
    await expect(sourcesOf(directory)).rejects.toThrow('EISDIR');
    const cut = gzipSync(`${lineOf('/1')}\n`.repeat(100)).subarray(0, 60);
    await expect(sourcesOf(write('cut.gz', cut))).rejects.toThrow(/cut.gz: unexpected end of file/);
    await expect(sourcesOf(join(directory, 'none'))).rejects.toMatchObject({ name: 'UsageError' });
  });
});
