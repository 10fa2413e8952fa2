import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { encode, messageType } from '../../src/wire/messages.ts';
import { type AdminRun, runAdmin } from '../support/admin-command.ts';
import { AdminRig, mountMessage, ROUTER_USER } from '../support/admin-rig.ts';
import { MemoryStore } from '../support/memory-store.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-admin-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** The command line, with the router's address and an empty configuration. */
function admin(rig: AdminRig, line: string | readonly string[], user = ROUTER_USER): Promise<AdminRun> {
  const words = typeof line === 'string' ? line.split(' ') : line;
  return runAdmin(['--admin', addressOf(rig), '--user', user, '--config-dir', directory, ...words]);
}

function addressOf(rig: AdminRig): string {
  return `127.0.0.1:${rig.administration.port}`;
}

async function good(rig: AdminRig, line: string | readonly string[]): Promise<string> {
  const { code, stdout, stderr, error } = await admin(rig, line);
  expect({ code, stderr, error }, String(line)).toEqual({ code: 0, stderr: '', error: null });
  return stdout;
}

async function bad(rig: AdminRig, line: string | readonly string[], user?: string): Promise<string> {
  const { code, stderr, error } = await admin(rig, line, user);
  expect({ code, error }, String(line)).toEqual({ code: 1, error: null });
  return stderr;
}

async function wrong(rig: AdminRig, line: string | readonly string[]): Promise<string> {
  const { error } = await admin(rig, line);
  expect(error?.name, String(line)).toBe('UsageError');
  return error?.message ?? '';
}

/** A port that takes connections and says nothing. */
async function startSilent(): Promise<{ address: string } & AsyncDisposable> {
  const server: Server = createServer((socket) => socket.on('error', () => undefined).resume());
  const { promise, resolve } = Promise.withResolvers<void>();
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen({ host: '127.0.0.1', port: 0 }, resolve);
  await promise;
  const at = server.address();
  return {
    address: `127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

describe('switchyard admin', () => {
  it('adds, extends, changes, lists and removes mounts, in its own words and those of dfsrouteradmin', async () => {
    await using rig = await AdminRig.start();
    expect(await good(rig, 'add //data/ ns0,ns1 /d/ --order HASH_ALL --owner alice --group staff --mode 750')).toBe(
      'added /data\n',
    );
    expect(await good(rig, '-add /data ns0 /more -readonly')).toBe('extended /data\n');
    expect(await bad(rig, 'add /data ns1 /d')).toContain('leads to ns1:/d already');
    expect(await good(rig, 'addAll /b ns0 /b , /c ns0,ns1 /c -order SPACE -faulttolerant')).toBe(
      'added /b\nadded /c\n',
    );
    expect(await good(rig, 'ls -d')).toBe(
      `${[
        'mount  leads to                   owner        mode       quota                         order     marks',
        '/b     ns0:/b                     hdfs:hdfs    rwxr-xr-x  [NsQuota: -/-, SsQuota: -/-]  HASH      -',
        '/c     ns0:/c, ns1:/c             hdfs:hdfs    rwxr-xr-x  [NsQuota: -/-, SsQuota: -/-]  SPACE     fault-tolerant',
        '/data  ns0:/d, ns1:/d, ns0:/more  alice:staff  rwxr-x---  [NsQuota: -/-, SsQuota: -/-]  HASH_ALL  read-only',
        '3 mount entries',
      ].join('\n')}\n`,
    );
    expect(await good(rig, 'update /data ns1 /other --read-only false --mode 1777')).toBe('updated /data\n');
    expect(JSON.parse(await good(rig, 'ls /data --json'))).toMatchObject([
      { path: '/data', destinations: ['ns1:/other'], order: 'HASH_ALL', readOnly: false, owner: 'alice', mode: '1777' },
    ]);
    expect(await bad(rig, 'rm /b /none')).toContain('there is no mount /none');
    expect(await good(rig, 'rm /c/')).toBe('removed /c/\n');
    expect(await good(rig, 'ls')).toContain('1 mount entry');
  });

  it('names of several mounts those that were not added', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /a_1 ns0 /a');
    const { code, stdout, stderr } = await admin(rig, 'add-all /a_1 ns0 /a , /b ns0 /b --json');
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 1, added: ['/b'], failed: ['/a_1'] });
    expect(stderr).toContain('mount /a_1 was not added');
  });

  it('sets and clears one kind of quota and keeps the others', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /q ns0 /q');
    expect(await good(rig, 'setQuota /q -nsQuota 100 -ssQuota 10k')).toBe('/q [NsQuota: 100/0, SsQuota: 10 KB/0 B]\n');
    expect(await good(rig, 'setStorageTypeQuota /q -storageType ssd 1g')).toBe(
      '/q [NsQuota: 100/0, SsQuota: 10 KB/0 B, SSD: 1 GB/0 B]\n',
    );
    expect(await good(rig, 'set-quota /q --ns-quota 7')).toContain('NsQuota: 7/0, SsQuota: 10 KB/0 B, SSD: 1 GB');
    expect(await good(rig, 'clrQuota /q')).toBe('/q [NsQuota: -/-, SsQuota: -/-, SSD: 1 GB/0 B]\n');
    expect(await bad(rig, 'clear-storage-type-quota /q /none')).toContain('there is no mount /none');
    expect(await good(rig, 'ls /q')).toContain('[NsQuota: -/-, SsQuota: -/-]');
    expect(await wrong(rig, 'set-quota /q --ns-quota 0')).toContain('--ns-quota 0: give a whole number above 0');
  });

  it('has the verbs of the router itself', async () => {
    const lookup = { locationsOf: () => [{ nameservice: 'ns1', path: '/x' }], exists: () => Promise.resolve(true) };
    await using rig = await AdminRig.start({ lookup });
    const at = addressOf(rig);
    expect(await good(rig, 'destination /x')).toBe('ns1\n');
    expect(await good(rig, 'safemode enter --all')).toBe(`${at} is in safe mode\n`);
    expect(await good(rig, 'safemode get')).toBe(`${at} is in safe mode\n`);
    expect(await good(rig, 'safemode leave')).toBe(`${at} has left safe mode\n`);
    expect(await good(rig, 'disabled')).toBe('none\n');
    expect(await good(rig, 'nameservice disable ns0')).toBe('disabled nameservice ns0\n');
    expect(await bad(rig, 'nameservice disable ns9')).toContain('cannot disable nameservice ns9');
    expect(JSON.parse(await good(rig, '-getDisabledNameservices --json'))).toEqual(['ns0']);
    expect(await good(rig, 'nameservice enable ns0')).toBe('enabled nameservice ns0\n');
    for (const verb of ['refresh', 'refresh-superuser-groups', '-refreshCallQueue']) {
      expect(await good(rig, verb)).toContain(`${at} has `);
    }
    expect(await good(rig, `refreshRouterArgs ${at} RefreshFairnessPolicyController`)).toContain('(exit 0)');
    expect(await bad(rig, 'refresh-router-args Nothing')).toContain("Identifier 'Nothing' does not exist");
  });

  it('tells what a router without safe mode or State Store cannot do', async () => {
    await using rig = await AdminRig.start({ memory: null });
    expect(await bad(rig, 'safemode enter')).toContain('the router did not do it');
    expect(await bad(rig, 'ls')).toContain('StateStoreUnavailableException: this router has no State Store');
    expect(await bad(rig, 'export')).toContain('the router refuses');
  });

  it('passes on refusals', async () => {
    await using rig = await AdminRig.start();
    expect(await bad(rig, 'add /x ns0 /x', 'bob')).toContain('user bob does not have WRITE permissions');
    expect(await bad(rig, 'safemode enter', 'bob')).toContain('bob is not a super user');
  });

  it.each([
    ['', 'no verb; there are add, add-all,'],
    ['lss', "there is no verb 'lss'; did you mean ls?"],
    ['ls /a /b', "unexpected argument '/b'"],
    ['ls relative', "'relative' is no absolute path"],
    ['ls --frob', 'unknown flag --frob'],
    ['add /x ns0', 'something is missing; write: switchyard admin add SOURCE'],
    ['add /x ns0, /x', "'ns0,' is no list of nameservices"],
    ['add /x ns0 x', "the destination 'x' is no absolute path"],
    ['add /x ns0 /x --order SIDEWAYS', '--order SIDEWAYS: use one of HASH'],
    ['add /x ns0 /x --mode 9', '--mode 9: write octal digits'],
    ['add /x ns0 /x --fault-tolerant', 'fault tolerant with a single destination'],
    ['add /x/.. ns0 /x', "a component '..'"],
    ['add-all', 'something is missing'],
    ['add-all /x ns0 /x , /x ns1 /x', 'mount /x is given twice'],
    ['update /x', 'nothing to change is given'],
    ['update /x ns0', 'a path in ns0 is missing'],
    ['update /x --read-only yes', '--read-only yes: write true or false'],
    ['set-quota /x', 'no limit is given'],
    ['set-storage-type-quota /x --storage-type TAPE 1', '--storage-type TAPE: use one of DISK'],
    ['safemode', 'something is missing'],
    ['safemode entr', "'entr' is not understood; did you mean enter?"],
    ['nameservice ns0', "'ns0' is not understood"],
    ['export --yaml --json', 'give one of them'],
    ['apply', 'something is missing'],
    ['ls --timeout 5', ''],
    ['ls --timeout never', '--timeout never: give a time'],
    ['refresh-router-args', 'no identifier is given'],
  ])('%j is wrong before anything is asked, or fine', async (line, message) => {
    await using rig = await AdminRig.start();
    if (message === '') await good(rig, line);
    else expect(await wrong(rig, line === '' ? [] : line)).toContain(message);
  });
});

describe('switchyard admin export and apply', () => {
  it('write a table that another router takes over without a difference', async () => {
    await using one = await AdminRig.start();
    await using other = await AdminRig.start();
    await good(one, 'add /data ns0,ns1 /d --order SPACE --fault-tolerant --owner alice --group staff --mode 700');
    await good(one, 'set-quota /data --ns-quota 5 --ss-quota 1t');
    await good(one, 'add /x ns1 /y --read-only');
    for (const format of ['--yaml', '--json']) {
      const exported = file('mounts', await good(one, `export ${format}`));
      expect(await good(one, `apply ${exported} --prune`)).toBe('0 to add, 0 to change, 0 to remove, 2 unchanged\n');
      expect(await good(other, `apply ${exported}`)).toContain(
        format === '--yaml' ? '2 changes applied' : '2 unchanged',
      );
    }
    expect(await good(other, 'ls -d')).toBe(await good(one, 'ls -d'));
  });

  it('keep an order that is newer than a router', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /l ns0,ns1 /l --order LEADER_FOLLOWER');
    expect(await good(rig, 'export')).toContain('order: LEADER_FOLLOWER');
    await good(rig, 'update /l --owner bob');
    expect(await good(rig, 'ls -d /l')).toContain('LEADER_FOLLOWER');
  });

  it('keep what they do not know of a record', async () => {
    const memory = new MemoryStore();
    await using rig = await AdminRig.start({ memory });
    const type = messageType('hadoop.hdfs.MountTableRecordProto');
    const unknown = Buffer.from([0xfa, 0x01, 1, 0x7a]);
    memory.write('MountTable', '0SLASH0new', Buffer.concat([encode(type, mountMessage('/new')), unknown]));
    const mounts = file('m.yaml', 'mounts: {/new: "ns1:/z"}');
    expect(await good(rig, `apply ${mounts}`)).toContain('1 change applied');
    const stored = memory.records('MountTable').get('0SLASH0new')?.bytes ?? Buffer.alloc(0);
    expect(stored.includes(unknown)).toBe(true);
    expect(stored.includes(Buffer.from('ns1'))).toBe(true);
  });

  it('show the difference and change nothing with --dry-run', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /old ns0 /old');
    const mounts = file('m.yaml', 'mounts:\n  /new: ns0:/new\n');
    expect(await good(rig, `apply ${mounts} --dry-run --prune`)).toBe(
      `${[
        '+ /new',
        '    destinations: ns0:/new',
        '    owner: hdfs',
        '    group: hdfs',
        '    mode: rwxr-xr-x',
        '- /old  (ns0:/old)',
        '',
        '1 to add, 0 to change, 1 to remove, 0 unchanged',
      ].join('\n')}\n`,
    );
    expect(await good(rig, 'ls')).toContain('/old');
    const planned = JSON.parse(await good(rig, `apply ${mounts} --dry-run --json`));
    expect(planned).toMatchObject({ dryRun: true, steps: [{ kind: 'add', path: '/new' }], kept: ['/old'] });
    expect(await good(rig, 'ls')).toContain('1 mount entry');
  });

  it('apply what they may, name the rest and end with 1', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /own ns0 /own --owner alice');
    await good(rig, 'add /hers ns0 /hers');
    const mounts = file(
      'm.yaml',
      'mounts: {/own/a: "ns0:/a", /hers/b: "ns0:/b", /own: "ns1:/own", /hers: "ns1:/hers"}',
    );
    const { code, stdout, stderr } = await admin(rig, `apply ${mounts} --json`, 'alice');
    expect(code).toBe(1);
    const { steps } = JSON.parse(stdout) as { steps: { kind: string; path: string; applied: boolean }[] };
    expect(steps.map(({ kind, path, applied }) => `${kind} ${path} ${applied}`)).toEqual([
      'add /hers/b false',
      'add /own/a true',
      'change /hers false',
      'change /own true',
    ]);
    expect(stderr).toContain('+ /hers/b: org.apache.hadoop.security.AccessControlException');
    expect(stderr).toContain('~ /hers: org.apache.hadoop.security.AccessControlException');
  });

  it('refuse a file that is wrong, or would empty the table', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /x ns0 /x');
    const mistaken = file('m.yaml', 'mounts:\n  /x: ns1:/x\n  /y/: ns0:/y\n');
    expect(await wrong(rig, `apply ${mistaken}`)).toContain(
      `${mistaken}:3:3: source path '/y/' has a double or trailing`,
    );
    expect(await wrong(rig, `apply ${file('e.yaml', 'mounts: {}')} --prune`)).toContain('--prune would remove all');
    expect(await good(rig, 'ls')).toContain('ns0:/x');
  });
});

describe('switchyard admin where', () => {
  it('shows mount, target, order and what is not known', async () => {
    await using rig = await AdminRig.start();
    await good(rig, 'add /data ns0,ns1 /d --order RANDOM --read-only');
    await good(rig, 'nameservice disable ns1');
    await good(rig, 'safemode enter');
    const text = await good(rig, 'where /data/x');
    for (const part of [
      '/data (RANDOM, read-only)',
      'ns0:/d/x\n',
      'ns1:/d/x (nameservice disabled)',
      'RANDOM: each call may begin with another one',
      'it is in safe mode',
      'not known  which target comes first',
      'not known  the NameNodes of ns0, ns1',
    ]) {
      expect(text).toContain(part);
    }
    expect(JSON.parse(await good(rig, 'where /nowhere --json'))).toMatchObject({ mount: null, targets: [] });
  });

  it('asks the NameNodes that the configuration names', async () => {
    await using rig = await AdminRig.start();
    await using simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 2 });
    const [nameservice] = simulator.nameservices;
    const namenodes = nameservice?.namenodes ?? [];
    await good(rig, 'add /data ns0 /d');
    const settings = ['dfs.nameservices=ns0', `dfs.ha.namenodes.ns0=${namenodes.map(({ id }) => id).join(',')}`];
    for (const { id, port } of namenodes) settings.push(`dfs.namenode.rpc-address.ns0.${id}=127.0.0.1:${port}`);
    const flags = settings.flatMap((setting) => ['--set', setting]);
    const { namenodes: told, notKnown } = JSON.parse(await good(rig, ['where', '/data/x', '--json', ...flags]));
    expect(told.ns0.map(({ state }: { state: string }) => state).sort()).toEqual(['active', 'standby']);
    expect(notKnown.join()).not.toContain('NameNodes');
  });
});

describe('switchyard admin and several routers', () => {
  it('goes on to the next address when one does not answer', async () => {
    await using rig = await AdminRig.start();
    await using silent = await startSilent();
    await using gone = await startSilent();
    await gone[Symbol.asyncDispose]();
    const base = ['--user', ROUTER_USER, '--config-dir', directory, '--timeout', '300ms'];
    const admins = ['--admin', gone.address, '--admin', `${silent.address},${addressOf(rig)}`];
    const { code, stdout, stderr } = await runAdmin([...base, ...admins, 'safemode', 'get']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${addressOf(rig)} is not in safe mode\n` });
    expect(stderr).toContain(`cannot connect to ${gone.address}: ECONNREFUSED; asking the next router`);
    expect(stderr).toContain(`getSafeMode on ${silent.address}: no answer within 300 ms; asking the next router`);
    const none = await runAdmin([...base, '--admin', `${gone.address},${silent.address}`, 'ls']);
    expect(none.error?.name).toBe('UnreachableError');
    expect(none.error?.message).toContain(gone.address);
    expect(none.error?.message).toContain(silent.address);
  });

  it('asks each of them with --all, and refreshes each after a batch', async () => {
    const memory = new MemoryStore();
    await using one = await AdminRig.start({ memory });
    await using other = await AdminRig.start({ memory, routerId: 'other:8888' });
    await using gone = await startSilent();
    await gone[Symbol.asyncDispose]();
    const base = ['--user', ROUTER_USER, '--config-dir', directory];
    const both = ['--admin', `${addressOf(one)},${addressOf(other)}`];
    const mounts = file('m.yaml', 'mounts: {/x: "ns0:/x"}');
    expect((await runAdmin([...base, ...both, 'apply', mounts])).code).toBe(0);
    expect(await good(other, 'ls')).toContain('/x');
    expect((await runAdmin([...base, ...both, 'refresh', '--all'])).stdout.split('\n')).toHaveLength(3);
    const { code, stderr } = await runAdmin([...base, ...both, '--admin', gone.address, 'refresh', '--all']);
    expect(code).toBe(1);
    expect(stderr).toContain(gone.address);
  });

  it('finds the address in the configuration files', async () => {
    await using rig = await AdminRig.start();
    const address = `0.0.0.0:${rig.administration.port}`;
    file(
      'hdfs-rbf-site.xml',
      `<configuration><property><name>dfs.federation.router.admin-address</name><value>${address}</value></property></configuration>`,
    );
    const { code, stdout } = await runAdmin(['--config-dir', directory, '--user', ROUTER_USER, 'safemode', 'get']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${addressOf(rig)} is not in safe mode\n` });
  });
});

describe('switchyard admin import-viewfs', () => {
  it('writes a file that apply takes, and says what is missing in it', async () => {
    await using rig = await AdminRig.start();
    const link = (name: string, value: string): string =>
      `<property><name>fs.viewfs.mounttable.c.${name}</name><value>${value}</value></property>`;
    const links = [link('link./user', 'hdfs://ns0/user'), link('link./data', 'hdfs://ns1/data')];
    const site = file('site.xml', `<configuration>\n${links.join('\n')}\n</configuration>`);
    const imported = await good(rig, `import-viewfs ${site}`);
    expect(imported).toBe('# 2 links of the ViewFs table c\nmounts:\n  /data: ns1:/data\n  /user: ns0:/user\n');
    expect(await good(rig, `apply ${file('m.yaml', imported)}`)).toContain('2 changes applied');
    const more = file(
      'more.xml',
      `<configuration>\n${links.join('\n')}${link('linkFallback', 'hdfs://ns0/f')}</configuration>`,
    );
    const { code, stdout, stderr } = await admin(rig, `import-viewfs ${more}`);
    expect(code).toBe(1);
    expect(stderr).toContain('more.xml:3: linkFallback hdfs://ns0/f is not imported');
    expect(stdout).toContain('# more.xml:3: linkFallback');
    expect(await wrong(rig, `import-viewfs ${join(directory, 'none.xml')}`)).toContain('give a core-site.xml');
    const broken = await admin(rig, `import-viewfs ${file('broken.xml', '<configuration><a>')}`);
    expect(broken.error?.name).toBe('ConfigError');
  });
});
