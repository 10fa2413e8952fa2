import { describe, expect, it } from 'vitest';
import { translateBack, translateBackBound } from '../../src/wire/path-bytes.ts';

interface Mount {
  readonly source: string;
  readonly target: string;
}

/** Translates the text of an error of a call for source + rest, which the NameNode saw as target + rest. */
function translate({ source, target }: Mount, rest: string, text: string): string {
  const join = (base: string) => (rest === '' ? base : `${base === '/' ? '' : base}/${rest}`);
  const at = Buffer.from(`/x${join(target)}/x`);
  const seen = Buffer.from(`/x${join(source)}/x`);
  const message = Buffer.from(`/x${text}/x`);
  const bytes = message.length - 4;
  const bound = translateBackBound(bytes, at.length - 4, seen.length - 4);
  const out = Buffer.alloc(bound + 5, 0xee);
  const prefixBytes = Buffer.byteLength(target);
  const end = translateBack(message, 2, 2 + bytes, at, 2, at.length - 2, prefixBytes, seen, 2, seen.length - 2, out, 3);
  expect(end - 3).toBeLessThanOrEqual(bound);
  return out.toString('utf8', 3, end);
}

describe('translateBack', () => {
  const mount = { source: '/mnt/a', target: '/dest' };

  it.each([
    ['File does not exist: /dest/x/f', 'File does not exist: /mnt/a/x/f'],
    ['File does not exist: /dest/x/f.', 'File does not exist: /mnt/a/x/f.'],
    ['/dest/x/f is a file, /dest/x is not', '/mnt/a/x/f is a file, /mnt/a/x is not'],
    ['Permission denied: user=u, inode="/dest/x":o:g:d', 'Permission denied: user=u, inode="/mnt/a/x":o:g:d'],
    ['inode="/dest":o:g:d', 'inode="/mnt/a":o:g:d'],
    ['inode="/":o:g:d', 'inode="/":o:g:d'],
    ['(/dest/x/f) [/dest/x,/dest]', '(/mnt/a/x/f) [/mnt/a/x,/mnt/a]'],
    ['/dest/x/f: no lease', '/mnt/a/x/f: no lease'],
    ['/dest/x/f, /dest/x', '/mnt/a/x/f, /mnt/a/x'],
    ['no/dest/x/f //dest/x/f hdfs://nn:8020/dest/x/f', 'no/dest/x/f //dest/x/f hdfs://nn:8020/dest/x/f'],
    [
      '/dest/x/f2 /dest/x/f.txt /dest/x/f-1 /dest/x/f_ /dest/x/f/g',
      '/dest/x/f2 /dest/x/f.txt /dest/x/f-1 /dest/x/f_ /dest/x/f/g',
    ],
    ['/dest/y /dest2 /des /dest/x/é', '/dest/y /dest2 /des /dest/x/é'],
    ['/dest/x/fé é/dest/x/f', '/dest/x/fé é/dest/x/f'],
    ['/dest/x/f,v', '/dest/x/f,v'],
    ['', ''],
    ['no path', 'no path'],
    ['gone: /dest/x/f\n\tat a.b(/dest/x/f)\n/dest/x/f', 'gone: /mnt/a/x/f\n\tat a.b(/dest/x/f)\n/dest/x/f'],
    ['gone:\n\t/dest/x/f\n/dest/x', 'gone:\n\t/mnt/a/x/f\n/mnt/a/x'],
    ['cut here: /dest/x/f\n\tat', 'cut here: /mnt/a/x/f\n\tat'],
  ])('%j', (text, expected) => {
    expect(translate(mount, 'x/f', text)).toBe(expected);
  });

  it('of a mount on the root of a nameservice', () => {
    const root = { source: '/mnt', target: '/' };
    expect(translate(root, 'x', 'inode="/":o /x /x/y / ')).toBe('inode="/mnt":o /mnt/x /x/y /mnt ');
    expect(translate(root, '', 'inode="/":o /x')).toBe('inode="/mnt":o /x');
  });

  it('of a mount of the root', () => {
    const all = { source: '/', target: '/data' };
    expect(translate(all, 'x', '/data/x /data /data/y')).toBe('/x / /data/y');
    expect(translate(all, '', '"/data"')).toBe('"/"');
  });

  it('knows a path with blanks as a whole, and a target below which the mount path is longer', () => {
    expect(translate(mount, 'my file', 'no /dest/my file.')).toBe('no /mnt/a/my file.');
    expect(translate({ source: `/${'m'.repeat(300)}`, target: '/t' }, 'x', '/t/x '.repeat(20))).toBe(
      `/${'m'.repeat(300)}/x `.repeat(20),
    );
  });

  it('translates a bounded number of places', () => {
    const text = translate({ source: '/longer', target: '/t' }, '', '/t '.repeat(100));
    expect(text).toBe('/longer '.repeat(64) + '/t '.repeat(36));
  });

  it('changes nothing when the two paths do not belong together', () => {
    const message = Buffer.from('/dest/x');
    const out = Buffer.alloc(100);
    const end = translateBack(message, 0, 7, message, 0, 7, 2, Buffer.from('/m'), 0, 2, out, 0);
    expect(out.toString('utf8', 0, end)).toBe('/dest/x');
  });
});
