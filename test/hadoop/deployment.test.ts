import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HdfsClient } from '../../src/control/hdfs-client.ts';
import { ORDERS } from '../../src/mount/entry.ts';
import type { MembershipRecord } from '../../src/state-store/records.ts';
import { waitUntil } from '../support/wait.ts';
import { FAILOVER_PROVIDERS, type Member, MixedDeployment, SOON_MS, startSwitchyard } from './mixed-deployment.ts';
import { FULL, startEndpoint } from './support.ts';

/** Long after a heartbeat (1 s), short for a test. */
const EXPIRATION_MS = 12_000;
const CONF = {
  'dfs.federation.router.quota.enable': 'true',
  'dfs.federation.router.quota-cache.update.interval': '1s',
  'dfs.federation.router.store.membership.expiration': String(EXPIRATION_MS),
  'dfs.federation.router.store.membership.expiration.deletion': '6s',
  'dfs.federation.router.store.router.expiration': `${EXPIRATION_MS}ms`,
  'dfs.federation.router.store.router.expiration.deletion': '6s',
  'hadoop.user.group.static.mapping.overrides': 'alice=staff;bob=users',
};
const EXPIRED_WITHIN_MS = 4 * EXPIRATION_MS;

/**
 * What an administrator types; `MOUNT` stands for the mount point. Quotas are set where no directory is, for the record takes along what the
 * router knows of the usage at that moment.
 */
const HISTORIES: readonly (readonly string[])[] = [
  ['-add MOUNT ns0 /t'],
  ...ORDERS.filter((order) => order !== 'LEADER_FOLLOWER').map((order) => [`-add MOUNT ns0,ns1 /t -order ${order}`]),
  ['-add MOUNT ns0,ns1 /t -order HASH_ALL -faulttolerant -readonly -owner alice -group staff -mode 750'],
  ['-add MOUNT ns0 /t', '-add MOUNT ns1 /t -order RANDOM'],
  ['-add MOUNT ns0 /t', '-update MOUNT ns1 /t -readonly true -owner bob -mode 1777'],
  ['-add MOUNT ns0,ns1 /t -order SPACE -faulttolerant', '-update MOUNT -faulttolerant false -order HASH'],
  ['-add MOUNT ns0 /t', '-update MOUNT -readonly false -faulttolerant false'],
  ['-add MOUNT ns0 /t', '-update MOUNT -readonly false', '-update MOUNT -owner bob'],
  ['-add MOUNT ns0 /nowhere', '-setQuota MOUNT -nsQuota 100 -ssQuota 10k'],
  ['-add MOUNT ns0 /nowhere', '-setStorageTypeQuota MOUNT -storageType SSD 5000000', '-setQuota MOUNT -nsQuota 7'],
  ['-add MOUNT ns0 /nowhere', '-setQuota MOUNT -nsQuota 100', '-clrQuota MOUNT'],
  ['-add MOUNT ns0 /nowhere', '-setStorageTypeQuota MOUNT -storageType DISK 5000000', '-clrStorageTypeQuota MOUNT'],
  ['-addAll MOUNT ns0 /t , MOUNT_more ns0,ns1 /t -order SPACE', '-rm MOUNT_more'],
];

const mkdirs =
  (path: string) =>
  async (client: HdfsClient): Promise<boolean> =>
    await client.mkdirs(path);

/** What takes longer is a test of full runs only; otherwise it is not there, which is no test skipped. */
function defineInFull(name: string, run: () => Promise<void>, limitMs: number): void {
  if (FULL) it(name, run, limitMs);
}

describe('Java and Switchyard routers on one ZooKeeper', () => {
  let deployment: MixedDeployment;

  beforeAll(async () => {
    deployment = await MixedDeployment.start(CONF);
    const targets = ['/t', '/shared', '/own', '/quota', ...ORDERS.map((order) => `/orders/${order}`)];
    await deployment.rig.makeTargets(targets.flatMap((path) => [`ns0:${path}`, `ns1:${path}`]));
    await deployment.change(deployment.members[0] as Member, '-add /shared ns0,ns1 /shared -order HASH_ALL');
  }, 600_000);
  afterAll(async () => await deployment?.[Symbol.asyncDispose]());

  it('are in each other’s lists of routers', async () => {
    const ports = deployment.members.map(({ port }) => String(port)).sort();
    for (const java of deployment.of('java')) {
      await waitUntil(
        async () => Object.keys(await deployment.routersOnPage(java)).join() === ports.join(),
        `${java.name} lists all routers`,
        SOON_MS,
      );
    }
    const dump = await deployment.administer(deployment.of('java')[0], '-dumpState');
    expect(dump.code, dump.err).toBe(0);
    for (const { port } of deployment.members) expect(dump.out).toMatch(new RegExp(`address: ".*:${port}"`));
  });

  it('write the same bytes for the same entry, whoever began it and whoever went on', async () => {
    const kinds = { java: deployment.of('java')[0], switchyard: deployment.of('switchyard')[0] };
    for (const [index, history] of HISTORIES.entries()) {
      const path = `/bytes${index}`;
      const written: Record<string, string> = {};
      for (const first of [kinds.java, kinds.switchyard]) {
        for (const next of history.length > 1 ? [kinds.java, kinds.switchyard] : [first]) {
          for (const [step, line] of history.entries()) {
            await deployment.change(step === 0 ? first : next, line.replaceAll('MOUNT', path));
          }
          written[`${first.kind}, ${next.kind}`] = await deployment.mountBytes(path);
          await deployment.change(next, `-rm ${path}`);
        }
      }
      const asJava = Object.fromEntries(Object.keys(written).map((name) => [name, written['java, java']]));
      expect(written, history.join(', ')).toEqual(asJava);
    }
  }, 300_000);

  it('go by an entry that was added through any of them as soon as the command has ended', async () => {
    for (const [index, member] of deployment.members.entries()) {
      await deployment.change(member, `-add /added${index} ns${index % 2} /t`);
      const there = await deployment.callAll(async (client) => (await client.getFileInfo(`/added${index}`))?.fileType);
      expect(there, `added through ${member.name}`).toEqual(deployment.everywhere('IS_DIR'));
      await deployment.change(member, `-rm /added${index}`);
      const gone = await deployment.callAll(async (client) => (await client.getFileInfo(`/added${index}`)) ?? null);
      expect(gone, `removed through ${member.name}`).toEqual(deployment.everywhere(null));
    }
  });

  it('read every order alike, and those that go by the name choose the same nameservice', async () => {
    const orders = ORDERS.filter((order) => order !== 'LEADER_FOLLOWER');
    for (const [index, order] of orders.entries()) {
      const through = deployment.members[index % 4] as Member;
      const path = `/orders-${order}`;
      await deployment.change(through, `-add ${path} ns0,ns1 /orders/${order} -order ${order}`);
      for (let file = 0; file < 6; file++) {
        const name = `${path}/file${file}`;
        const chosen = new Set<string>();
        for (const member of deployment.members) {
          const at = await deployment.call(member, async (client) => (await client.createEmptyFile(name))?.namespace);
          chosen.add(String(at));
          const seen = await deployment.callAll(async (client) => (await client.getFileInfo(name))?.fileType);
          expect(seen, `${name} made through ${member.name}`).toEqual(deployment.everywhere('IS_FILE'));
          const other = deployment.members.at(deployment.members.indexOf(member) - 1) as Member;
          expect(await deployment.call(other, (client) => client.delete(name))).toBe(true);
        }
        for (const ns of chosen) expect(['ns0', 'ns1']).toContain(ns);
        if (order.startsWith('HASH')) expect([...chosen], name).toHaveLength(1);
      }
      for (const member of deployment.members) await deployment.call(member, mkdirs(`${path}/by-${member.name}`));
      const names = await deployment.callAll(async (client) =>
        ((await client.list(path)) ?? []).map((entry) => entry.path.toString()),
      );
      const made = deployment.members.map(({ name }) => `by-${name}`).sort();
      expect(names, path).toEqual(deployment.everywhere(made));
    }
  }, 120_000);

  it('show owner, group and mode of a mount point alike, and refuse changes below a read-only one alike', async () => {
    const [java] = deployment.of('java');
    const [switchyard] = deployment.of('switchyard');
    await deployment.change(switchyard, '-add /own ns0 /own -readonly -owner alice -group staff -mode 750');
    await deployment.change(java, '-add /own-too ns0,ns1 /nowhere -order HASH_ALL -owner bob -group users -mode 1711');
    const rows = await deployment.callAll(async (client) =>
      ((await client.list('/')) ?? []).map(({ path, owner, group, permission, fileType }) =>
        [path.toString(), owner, group, permission.perm.toString(8), fileType].join(' '),
      ),
    );
    expect(rows['java0']).toContainEqual(expect.stringMatching(/^own-too bob users 1711/));
    expect(rows).toEqual(deployment.everywhere(rows['java0']));
    const refused = await deployment.callAll(mkdirs('/own/x'));
    expect(refused['java0']).toMatch(/Exception$/);
    expect(refused).toEqual(deployment.everywhere(refused['java0']));
  });

  it('enforce and show quotas that were set through any of them', async () => {
    const [java] = deployment.of('java');
    const [switchyard] = deployment.of('switchyard');
    await deployment.change(switchyard, '-add /quota ns0 /quota');
    for (const [setter, limit] of [
      [java, 3],
      [switchyard, 4],
    ] as const) {
      await deployment.change(setter, `-setQuota /quota -nsQuota ${limit}`);
      // The directory itself counts.
      // The limit reaches the NameNode, and usage the routers, a moment after the command.
      for (let i = 1; i < limit; i++) {
        const made = async (): Promise<boolean> => (await deployment.call(setter, mkdirs(`/quota/${i}`))) === true;
        await waitUntil(made, `${setter.name} makes directory ${i} of ${limit - 1}`, SOON_MS);
      }
      await deployment.untilAll(
        (member) => deployment.call(member, mkdirs('/quota/one-too-many')),
        'org.apache.hadoop.hdfs.protocol.NSQuotaExceededException',
        'no router makes one too many',
      );
      await deployment.untilAll(
        async (member) => (await deployment.administer(member, '-ls /quota')).out.match(/NsQuota: [-\d/]+/)?.[0],
        `NsQuota: ${limit}/${limit}`,
        'every router shows the usage',
      );
    }
    await deployment.change(java, '-clrQuota /quota');
    await deployment.untilAll(
      (member) => deployment.call(member, mkdirs(`/quota/${member.name}`)),
      true,
      'no router refuses without a quota',
    );
  });

  it('report every NameNode alike, before and after a fail-over', async () => {
    const agree = async (active: string): Promise<void> => {
      await waitUntil(
        async () => {
          const records = await deployment.memberships();
          const byNamenode = Map.groupBy(records, ({ nameserviceId, namenodeId }) => `${nameserviceId}.${namenodeId}`);
          if (byNamenode.size !== 4 || byNamenode.get(active)?.[0]?.state !== 'ACTIVE') return false;
          return [...byNamenode.values()].every(
            (reports) => reports.length === 4 && new Set(reports.map(comparable)).size === 1,
          );
        },
        `all routers report the same with ${active} active`,
        SOON_MS,
      ).catch(async (error: Error) => {
        const all = (await deployment.memberships()).map(comparable).sort();
        throw new Error(`${error.message}\n${[...new Set(all)].join('\n')}`, { cause: error });
      });
    };
    await agree('ns0.nn0');
    await deployment.rig.ctl({ op: 'failover', ns: 'ns0', to: 'nn1' });
    await agree('ns0.nn1');
    expect(await deployment.callAll(mkdirs('/shared/after-failover'))).toEqual(deployment.everywhere(true));
  });

  it('leave changes to the others while one of them is in safe mode', async () => {
    for (const [one] of [deployment.of('java'), deployment.of('switchyard')]) {
      await deployment.change(one, '-safemode enter');
      const refused = deployment.everywhere<string | boolean>(true);
      refused[one.name] = 'org.apache.hadoop.ipc.StandbyException';
      expect(await deployment.callAll(mkdirs('/shared/x'))).toEqual(refused);
      const order = [one, ...deployment.members.filter((member) => member !== one)];
      for (const provider of FAILOVER_PROVIDERS) {
        await deployment.runOverAll(order, provider, ['-mkdir', `/shared/${one.name}-${provider}`]);
      }
      for (const java of deployment.of('java')) {
        await waitUntil(
          async () => (await deployment.routersOnPage(java))[one.port] === 'SAFEMODE',
          `${java.name} shows the safe mode of ${one.name}`,
          SOON_MS,
        );
      }
      await deployment.change(one, '-safemode leave');
      expect(await deployment.callAll(mkdirs('/shared/x'))).toEqual(deployment.everywhere(true));
    }
    await waitUntil(
      async () => (await deployment.routers()).every(({ status }) => status === 'RUNNING'),
      'all of them say that they run',
      SOON_MS,
    );
  });

  it('honour a nameservice that was disabled through any of them', async () => {
    await deployment.change(deployment.of('java')[0], '-add /one ns1 /t');
    const [java] = deployment.of('java');
    const [switchyard] = deployment.of('switchyard');
    for (const [disabler, enabler] of [
      [java, switchyard],
      [switchyard, java],
    ] as const) {
      await deployment.change(disabler, '-nameservice disable ns1');
      await deployment.untilAll(
        async (member) => (await deployment.administer(member, '-getDisabledNameservices')).out.includes('ns1'),
        true,
        'every router lists it',
      );
      await deployment.untilAll(
        async (member) => String(await deployment.call(member, mkdirs('/one/x'))).endsWith('Exception'),
        true,
        `no router asks a nameservice that was disabled through ${disabler.name}`,
      );
      const refused = await deployment.callAll(mkdirs('/one/x'));
      expect(refused).toEqual(deployment.everywhere(refused['java0']));
      await deployment.change(enabler, '-nameservice enable ns1');
      await deployment.untilAll(
        (member) => deployment.call(member, mkdirs('/one/x')),
        true,
        `every router asks a nameservice that was enabled through ${enabler.name}`,
      );
    }
  }, 120_000);

  defineInFull(
    'go on below a fault-tolerant mount point while a nameservice is down',
    async () => {
      const [java] = deployment.of('java');
      const [switchyard] = deployment.of('switchyard');
      const mounts = [
        [java, '/tolerant-by-java'],
        [switchyard, '/tolerant-by-switchyard'],
      ] as const;
      for (const [member, path] of mounts) {
        await deployment.change(member, `-add ${path} ns0,ns1 /t -order HASH_ALL -faulttolerant`);
      }
      for (const nn of ['nn0', 'nn1']) await deployment.rig.ctl({ op: 'stop', ns: 'ns1', nn });
      for (const [, path] of mounts) {
        expect(await deployment.callAll(mkdirs(`${path}/made`))).toEqual(deployment.everywhere(true));
      }
      for (const nn of ['nn0', 'nn1']) await deployment.rig.ctl({ op: 'start', ns: 'ns1', nn });
      await deployment.rig.ctl({ op: 'failover', ns: 'ns1', to: 'nn0' });
    },
    300_000,
  );

  defineInFull(
    'are joined by a Java Router where only Switchyard has written',
    async () => {
      const { rig } = deployment;
      const keys = { 'dfs.federation.router.store.driver.zk.parent-path': '/a/parent/of/its/own' };
      await using switchyard = await startSwitchyard(rig, keys);
      const admin = { name: 'switchyard', admin: `127.0.0.1:${switchyard.adminPort}` };
      await deployment.change(admin, '-add /early ns1 /t');
      await using java = await startEndpoint(rig, keys, 'java-router');
      await deployment.change(admin, '-add /late ns1 /t');
      for (const path of ['/early', '/late']) {
        await waitUntil(
          async () =>
            (await deployment.call(java, async (client) => (await client.getFileInfo(path))?.fileType)) === 'IS_DIR',
          `the Java Router shows ${path}`,
          SOON_MS,
        );
      }
      await waitUntil(
        async () => (await deployment.call(java, mkdirs('/early/by-java'))) === true,
        'the Java Router leaves safe mode',
        SOON_MS,
      );
      expect(await deployment.call(switchyard, mkdirs('/early/by-java/x'))).toBe(true);
    },
    120_000,
  );

  it('go on when one of them dies or is stopped; its records expire and are deleted', async () => {
    const [java, stopped] = deployment.of('java');
    const [switchyard, killed] = deployment.of('switchyard');
    deployment.switchyards[1]?.kill('SIGKILL');
    await deployment.rig.ctl({ op: 'stopRouter', router: 1 });
    const isThere = async ({ port }: Member): Promise<boolean> => {
      const owners = [
        ...(await deployment.routers()).map(({ address }) => address),
        ...(await deployment.memberships()).map(({ routerId }) => routerId),
      ];
      return owners.some((owner) => owner.endsWith(`:${port}`));
    };
    await waitUntil(
      async () => (await deployment.routerRecordOf(stopped))?.status === 'SHUTDOWN',
      'the record of the stopped one says so',
      SOON_MS,
    );
    for (const member of [java, switchyard]) {
      await deployment.change(member, `-add /after-by-${member.name} ns0 /t`);
      for (const other of [java, switchyard]) {
        expect(await deployment.call(other, mkdirs(`/after-by-${member.name}/x`))).toBe(true);
      }
    }
    const order = [killed, stopped, switchyard, java];
    for (const provider of FAILOVER_PROVIDERS) {
      await deployment.runOverAll(order, provider, ['-mkdir', `/shared/after-${provider}`]);
      const listed = await deployment.runOverAll(order, provider, ['-ls', '-C', '/shared']);
      expect(listed.split('\n')).toContain(`/shared/after-${provider}`);
    }
    await waitUntil(
      async () => (await deployment.routerRecordOf(killed))?.status === 'EXPIRED',
      'the record of the dead one has expired',
      EXPIRED_WITHIN_MS,
    );
    for (const member of [killed, stopped]) {
      await waitUntil(async () => !(await isThere(member)), `nothing is left of ${member.name}`, EXPIRED_WITHIN_MS);
    }
    const left = (await deployment.routers()).map(({ address, status }) => `${address.split(':')[1]} ${status}`);
    expect(left.sort()).toEqual([`${java.port} RUNNING`, `${switchyard.port} RUNNING`].sort());
  }, 180_000);
});

/** A report without what is the reporter's own, and without the space that other programs of the machine take meanwhile. */
function comparable({ stats, ...record }: MembershipRecord): string {
  const { routerId: _, dateCreated: _1, dateModified: _2, lastContact: _3, ...said } = record;
  return JSON.stringify({ ...said, stats: stats === null ? null : { ...stats, availableSpace: 0 } }, (_key, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
