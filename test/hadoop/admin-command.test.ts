import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdminRun, runAdmin } from '../support/admin-command.ts';
import { waitUntil } from '../support/wait.ts';
import { Rig } from './support.ts';

/** A Java Router with these shows what is stored only when it is asked to refresh. */
const CONF = {
  'dfs.federation.router.safemode.extension': '1ms',
  'dfs.federation.router.quota.enable': 'false',
};

describe('switchyard admin before Java Routers', () => {
  const ended = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-admin-'));
  let rig: Rig;
  let addresses: string;

  beforeAll(async () => {
    rig = ended.use(await Rig.start({ nameservices: 2, javaRouters: 2, conf: CONF }));
    await rig.makeTargets(['ns0:/d', 'ns1:/d']);
    addresses = rig.up.routers.map(({ admin }) => admin).join(',');
  }, 300_000);

  afterAll(async () => {
    await ended.disposeAsync();
    rmSync(directory, { recursive: true, force: true });
  });

  function admin(...words: readonly string[]): Promise<AdminRun> {
    return runAdmin(['--admin', addresses, '--user', rig.up.user, '--config-dir', rig.up.conf, ...words]);
  }

  async function good(...words: readonly string[]): Promise<string> {
    const { code, stdout, stderr, error } = await admin(...words);
    expect({ code, stderr, error }, words.join(' ')).toEqual({ code: 0, stderr: '', error: null });
    return stdout;
  }

  function file(name: string, text: string): string {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  }

  it('adds, extends, changes and removes mounts, although the router shows old ones', async () => {
    expect(await good('add', '/a', 'ns0', '/d')).toBe('added /a\n');
    expect(await good('add', '/a', 'ns1', '/d', '--order', 'HASH_ALL')).toBe('extended /a\n');
    expect(await good('update', '/a', '--read-only', 'true', '--owner', 'alice')).toBe('updated /a\n');
    expect(await good('add-all', '/b', 'ns0', '/b', ',', '/c', 'ns0,ns1', '/c')).toBe('added /b\nadded /c\n');
    await good('refresh', '--all');
    expect(JSON.parse(await good('ls', '/a', '--json'))).toMatchObject([
      { path: '/a', destinations: ['ns0:/d', 'ns1:/d'], order: 'HASH_ALL', readOnly: true, owner: 'alice' },
    ]);
    const again = await admin('add-all', '/b', 'ns0', '/b', ',', '/x_1', 'ns0', '/x');
    expect(again).toMatchObject({ code: 1, stdout: 'added /x_1\n' });
    expect(await admin('rm', '/b', '/x_1', '/none')).toMatchObject({ code: 1, stdout: 'removed /b\nremoved /x_1\n' });
  });

  it('applies a file, and finds no difference to what it exports', async () => {
    const mounts = file(
      'm.yaml',
      'mounts:\n  /a: {destinations: [ns0:/d, ns1:/d], order: RANDOM, mode: 0700, quota: {namespace: 9, space: 1g, storageTypes: {SSD: 1m}}}\n  /n: ns1:/n\n  /n/deep: ns0:/n\n',
    );
    const shown = await good('apply', mounts, '--dry-run', '--prune');
    expect(shown).toContain('2 to add, 1 to change, 1 to remove, 0 unchanged');
    expect(await good('apply', mounts, '--prune')).toContain('4 changes applied');
    expect(await good('apply', mounts, '--prune')).toBe('0 to add, 0 to change, 0 to remove, 3 unchanged\n');
    const exported = await good('export');
    expect(exported).toContain('SSD: 1m');
    expect(await good('apply', file('e.yaml', exported), '--prune')).toContain(', 3 unchanged');
    await good('clear-storage-type-quota', '/a');
    await good('set-quota', '/a', '--ns-quota', '7');
    await good('refresh');
    expect(await good('ls', '/a')).toContain('[NsQuota: 7/0, SsQuota: 1 GB/0 B]');
  });

  it('applies the rest of a batch that the router refuses as a whole', async () => {
    const mounts = file('r.yaml', `mounts:\n  /ok: ns0:/ok\n  /bad: ns0:/bad\n`);
    const { code, stderr } = await runAdmin([
      ...['--admin', addresses, '--user', 'bob', '--config-dir', rig.up.conf],
      'apply',
      file('own.yaml', 'mounts:\n  /n/more: ns0:/x\n  /bobs: ns0:/bobs\n'),
    ]);
    // On a Java Router anyone may add what has no entry above it.
    expect({ code, stderr }).toMatchObject({ code: 1 });
    expect(stderr).toContain('+ /n/more: ');
    expect(await good('ls')).toContain('/bobs');
    expect(await good('apply', mounts)).toContain('2 changes applied');
  });

  it('says where a path is, with the NameNodes and what they are', async () => {
    const route = JSON.parse(await good('where', '/n/x', '--json'));
    expect(route).toMatchObject({ mount: '/n', targets: [{ nameservice: 'ns1', path: '/n/x', disabled: false }] });
    expect(route.routerAnswers).toEqual({ nameservices: ['ns1'], reason: '' });
    expect(route.namenodes.ns1.map(({ state }: { state: string }) => state)).toContain('active');
    expect(await good('destination', '/n/x')).toBe('ns1\n');
  });

  it('has the verbs of the router itself', async () => {
    for (const words of [['safemode', 'enter'], ['safemode', 'get'], ['safemode', 'leave'], ['disabled']]) {
      await good(...words);
    }
    expect(await good('nameservice', 'disable', 'ns1')).toBe('disabled nameservice ns1\n');
    const isOn = async (): Promise<boolean> => (await admin('nameservice', 'enable', 'ns1')).code === 0;
    // A Java Router enables only what its cache shows as disabled.
    await waitUntil(async () => ((await isOn()) ? true : null), 'ns1 to be enabled', 90_000);
    for (const verb of ['refresh-superuser-groups', 'refresh-call-queue']) await good(verb);
    expect(await good('refresh-router-args', 'RefreshFairnessPolicyController')).toContain('(exit 0)');
    expect(await admin('refresh-router-args', 'Nothing')).toMatchObject({ code: 1 });
  }, 120_000);
});
