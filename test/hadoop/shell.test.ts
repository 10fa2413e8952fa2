import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, Shell, startEndpoint } from './support.ts';

/** `hdfs dfs` through the router: what users do all day, on two nameservices. */

const LARGE_BYTES = 300 * 1024 * 1024;
const MANY_ENTRIES = 100_000;

/** Each mount is gone through alike: same path on the NameNode, another path, and a path below another mount. */
const MOUNTS = [
  { mount: '/data0', target: 'ns0:/data0', what: 'ns0, same path' },
  { mount: '/data1', target: 'ns1:/data1', what: 'ns1, same path' },
  { mount: '/apps/sales', target: 'ns1:/tenants/sales/v2', what: 'ns1, another path' },
  { mount: '/data0/deep/er', target: 'ns1:/elsewhere', what: 'ns1, another path, below a mount of ns0' },
];

let rig: Rig;
let endpoint: Endpoint;
let shell: Shell;
let local = '';

beforeAll(async () => {
  local = mkdtempSync(join(tmpdir(), 'switchyard-shell-'));
  rig = await Rig.start({ mounts: MOUNTS.map(({ mount, target }) => `${mount}=${target}`) });
  await rig.makeTargets(MOUNTS.map(({ target }) => target));
  endpoint = await startEndpoint(rig);
  shell = await Shell.start(rig, endpoint.uri);
  if (ENDPOINT === 'namenode') for (const { mount } of MOUNTS) await shell.ok(['-mkdir', '-p', mount]);
});

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
  rmSync(local, { recursive: true, force: true });
});

function localFile(name: string, content: string | Buffer): string {
  const path = join(local, name);
  writeFileSync(path, content);
  return path;
}

/** The paths of a listing, without its "Found" line. */
function listed(out: string): string[] {
  return out
    .split('\n')
    .filter((line) => /^[d-]r/.test(line))
    .map((line) => line.split(/\s+/).slice(7).join(' '));
}

function digest(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const hash = createHash('sha256');
    createReadStream(path)
      .on('data', (chunk) => hash.update(chunk))
      .on('end', () => resolve(hash.digest('hex')))
      .on('error', reject);
  });
}

describe.each(MOUNTS)('hdfs dfs on $mount ($what)', ({ mount }) => {
  const dir = `${mount}/work`;

  beforeAll(async () => {
    await shell.ok(['-mkdir', '-p', `${dir}/sub/sub2`]);
    await shell.ok(['-put', localFile('hello', 'hello, world\n'), `${dir}/hello`]);
  });

  afterAll(async () => {
    await shell.ok(['-rm', '-r', '-skipTrash', dir]);
  });

  it('put, cat, get', async () => {
    expect(await shell.ok(['-cat', `${dir}/hello`])).toBe('hello, world\n');
    const back = join(local, 'back');
    await shell.ok(['-get', '-f', `${dir}/hello`, back]);
    expect(readFileSync(back, 'utf8')).toBe('hello, world\n');
    expect(await shell.fails(['-put', join(local, 'hello'), `${dir}/hello`])).toContain('File exists');
  });

  it('ls -R', async () => {
    await shell.ok(['-touchz', `${dir}/sub/a`, `${dir}/sub/sub2/b`]);
    expect(listed(await shell.ok(['-ls', '-R', dir]))).toEqual([
      `${dir}/hello`,
      `${dir}/sub`,
      `${dir}/sub/a`,
      `${dir}/sub/sub2`,
      `${dir}/sub/sub2/b`,
    ]);
    expect(await shell.fails(['-ls', `${dir}/none`])).toBe(`ls: \`${dir}/none': No such file or directory\n`);
  });

  it('mv and rm', async () => {
    await shell.ok(['-touchz', `${dir}/from`]);
    await shell.ok(['-mv', `${dir}/from`, `${dir}/sub/to`]);
    await shell.fails(['-test', '-e', `${dir}/from`]);
    await shell.ok(['-test', '-f', `${dir}/sub/to`]);
    await shell.ok(['-rm', '-skipTrash', `${dir}/sub/to`]);
    await shell.fails(['-test', '-e', `${dir}/sub/to`]);
    expect(await shell.fails(['-rm', '-skipTrash', `${dir}/sub`])).toContain(`rm: \`${dir}/sub': Is a directory`);
  });

  it('cp', async () => {
    await shell.ok(['-cp', `${dir}/hello`, `${dir}/copy`]);
    expect(await shell.ok(['-cat', `${dir}/copy`])).toBe('hello, world\n');
  });

  it('du and count', async () => {
    await shell.ok(['-mkdir', '-p', `${dir}/sized/in`]);
    await shell.ok(['-put', localFile('thousand', 'x'.repeat(1000)), `${dir}/sized/in/thousand`]);
    expect((await shell.ok(['-du', '-s', `${dir}/sized`])).trim().split(/\s+/)).toEqual([
      '1000',
      '2000',
      `${dir}/sized`,
    ]);
    expect((await shell.ok(['-count', `${dir}/sized`])).trim().split(/\s+/)).toEqual([
      '2',
      '1',
      '1000',
      `${dir}/sized`,
    ]);
  });

  it('stat, chmod, chown, setrep', async () => {
    const file = `${dir}/owned`;
    await shell.ok(['-touchz', file]);
    await shell.ok(['-chmod', '640', file]);
    await shell.ok(['-chown', 'alice:staff', file]);
    await shell.ok(['-setrep', '1', file]);
    expect((await shell.ok(['-stat', '%a %u %g %r %n %F', file])).trim()).toBe('640 alice staff 1 owned regular file');
    expect(await shell.fails(['-chmod', '777', file], 'bob')).toContain('Permission denied');
  });

  // The Java Router shows the target's path here.
  it.skipIf(ENDPOINT === 'java-router')('a refusal names the path that the user named', async () => {
    const file = `${dir}/closed`;
    await shell.ok(['-touchz', file]);
    await shell.ok(['-chmod', '600', file]);
    const refusal = `cat: Permission denied: user=bob, access=READ, inode="${file}":${rig.up.user}:`;
    expect(await shell.fails(['-cat', file], 'bob')).toContain(refusal);
  });

  it('appendToFile and tail', async () => {
    const file = `${dir}/log`;
    await shell.ok(['-put', localFile('one', 'one\n'), file]);
    await shell.ok(['-appendToFile', localFile('two', 'two\n'), file]);
    expect(await shell.ok(['-tail', file])).toBe('one\ntwo\n');
  });

  it('checksum', async () => {
    await shell.ok(['-cp', `${dir}/hello`, `${dir}/same`]);
    const sum = async (path: string): Promise<string | undefined> =>
      (await shell.ok(['-checksum', path])).split(/\s+/)[2];
    expect(await sum(`${dir}/hello`)).toMatch(/^[0-9a-f]{56}$/);
    expect(await sum(`${dir}/same`)).toBe(await sum(`${dir}/hello`));
  });

  it('truncate', async () => {
    const file = `${dir}/short`;
    await shell.ok(['-put', localFile('ten', '0123456789'), file]);
    await shell.ok(['-truncate', '-w', '4', file]);
    expect(await shell.ok(['-cat', file])).toBe('0123');
  });

  it('touchz', async () => {
    await shell.ok(['-touchz', `${dir}/empty`]);
    expect((await shell.ok(['-stat', '%b', `${dir}/empty`])).trim()).toBe('0');
    expect(await shell.fails(['-touchz', `${dir}/hello`])).toBe(`touchz: \`${dir}/hello': Not a zero-length file\n`);
  });

  it('names with blanks, percent signs and letters outside ASCII', async () => {
    const name = `${dir}/a b %25 größe 数据`;
    await shell.ok(['-mkdir', name]);
    expect(listed(await shell.ok(['-ls', '-d', name]))).toEqual([name]);
  });
});

describe('large things', () => {
  it('a 300 MB file comes back byte by byte', { timeout: 300_000 }, async () => {
    const file = join(local, 'large');
    const fd = openSync(file, 'w');
    const block = randomBytes(1 << 20);
    for (let written = 0; written < LARGE_BYTES; written += block.length) {
      block.writeUInt32LE(written, 0);
      writeSync(fd, block);
    }
    closeSync(fd);
    const sent = await digest(file);
    for (const dir of ['/data0', '/apps/sales']) {
      await shell.ok(['-put', file, `${dir}/large`]);
      expect((await shell.ok(['-stat', '%b', `${dir}/large`])).trim()).toBe(String(LARGE_BYTES));
      const back = join(local, 'large-back');
      await shell.ok(['-get', `${dir}/large`, back]);
      expect(await digest(back)).toBe(sent);
      rmSync(back);
      await shell.ok(['-rm', '-skipTrash', `${dir}/large`]);
    }
    rmSync(file);
  });

  it('a directory of 100,000 entries', { timeout: 300_000 }, async () => {
    const dir = '/apps/sales/many';
    using client = await RawClient.connect(endpoint, { user: rig.up.user });
    await client.pipeline(MANY_ENTRIES, 512, (i) => ({
      method: 'mkdirs',
      request: { src: `${dir}/entry-${i}`, masked: { perm: 0o755 }, createParent: true },
    }));
    const { out, code } = await shell.run(['-ls', '-C', dir], { limitMs: 120_000 });
    expect(code).toBe(0);
    const names = out.trimEnd().split('\n');
    expect(new Set(names).size).toBe(MANY_ENTRIES);
    expect(names.length).toBe(MANY_ENTRIES);
    expect(names.every((name) => name.startsWith(`${dir}/entry-`))).toBe(true);
    expect((await shell.ok(['-count', dir])).trim().split(/\s+/)[0]).toBe(String(MANY_ENTRIES + 1));
    await shell.ok(['-rm', '-r', '-skipTrash', dir]);
  });
});

describe.skipIf(ENDPOINT === 'namenode')('the view of the mounts', () => {
  it('ls / shows mount points and their ancestors', async () => {
    const root = listed(await shell.ok(['-ls', '/']));
    expect(root).toEqual(expect.arrayContaining(['/apps', '/data0', '/data1']));
    expect(listed(await shell.ok(['-ls', '/apps']))).toEqual(['/apps/sales']);
    expect((await shell.ok(['-stat', '%F', '/apps'])).trim()).toBe('directory');
  });

  it('writes land on the nameservice that the mount names', async () => {
    const where: [string, string, string][] = [
      ['/data0/who', 'ns0', '/data0/who'],
      ['/data1/who', 'ns1', '/data1/who'],
      ['/apps/sales/who', 'ns1', '/tenants/sales/v2/who'],
      ['/data0/deep/er/who', 'ns1', '/elsewhere/who'],
    ];
    for (const [path, ns, there] of where) {
      await shell.ok(['-touchz', path]);
      const { rpc } = await rig.active(ns);
      expect((await shell.ok(['-stat', '%n', `hdfs://${rpc}${there}`])).trim()).toBe('who');
      await shell.ok(['-rm', '-skipTrash', path]);
      await shell.fails(['-test', '-e', `hdfs://${rpc}${there}`]);
    }
  });

  it('a path without a mount belongs to the default nameservice', async () => {
    await shell.ok(['-mkdir', '/unmounted']);
    const { rpc } = await rig.active('ns0');
    await shell.ok(['-test', '-d', `hdfs://${rpc}/unmounted`]);
    await shell.ok(['-rm', '-r', '-skipTrash', '/unmounted']);
  });

  it('a rename across nameservices is refused, and nothing is lost', async () => {
    await shell.ok(['-touchz', '/data0/stays']);
    expect(await shell.fails(['-mv', '/data0/stays', '/data1/stays'])).toMatch(
      /^mv: Rename of \/data0\/stays to \/data1\/stays is not allowed, no eligible destination in the same namespace was found\.?/,
    );
    await shell.ok(['-test', '-e', '/data0/stays']);
    await shell.fails(['-test', '-e', '/data1/stays']);
    await shell.ok(['-rm', '-skipTrash', '/data0/stays']);
  });

  it('a rename between two mounts of one nameservice works', async () => {
    await shell.ok(['-touchz', '/data1/moves']);
    await shell.ok(['-mv', '/data1/moves', '/apps/sales/moved']);
    await shell.ok(['-test', '-e', '/apps/sales/moved']);
    await shell.fails(['-test', '-e', '/data1/moves']);
    await shell.ok(['-rm', '-skipTrash', '/apps/sales/moved']);
  });

  it('a mount point is not deleted', async () => {
    await shell.fails(['-rm', '-r', '-skipTrash', '/data1']);
    await shell.ok(['-test', '-d', '/data1']);
  });
});
