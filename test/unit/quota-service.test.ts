import { describe, expect, it } from 'vitest';
import { Configuration } from '../../src/config/configuration.ts';
import type { MonitoredNamenode } from '../../src/control/membership/addresses.ts';
import { openQuotas } from '../../src/control/quota/quotas.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import type { UsageData } from '../../src/mount/given-usage.ts';
import { ControlBlock, createControlBlock } from '../../src/shared/control-block.ts';
import { limitedMount } from '../support/quota-mounts.ts';
import { IO, type NameNodeCall, OBSERVER_RETRY, ScriptedNameNode } from '../support/scripted-namenode.ts';
import { recordLog } from '../support/store-routers.ts';
import { waitUntil } from '../support/wait.ts';

const INTERVAL = 'dfs.federation.router.quota-cache.update.interval';
const UNCHANGED = 2n ** 63n - 1n;
const HOST = '127.0.0.1';

/** The quotas of a router over scripted NameNodes; counts are begun by the test. */
class Rig implements AsyncDisposable {
  readonly block: ControlBlock;
  readonly posted: UsageData[] = [];
  readonly log = recordLog();
  readonly quotas;
  entries: MountEntry[];
  reloads = 0;
  onReload: () => boolean = () => true;

  constructor(namenodes: Readonly<Record<string, readonly ScriptedNameNode[]>>, entries: MountEntry[]) {
    const nameservices = Object.entries(namenodes);
    this.block = new ControlBlock(createControlBlock(nameservices.length), nameservices.length);
    this.entries = entries;
    const quotas = openQuotas({
      configuration: new Configuration({ directory: null, overrides: [] }),
      settings: { quotaEnabled: true, routerUser: 'router', connectTimeoutMs: 2_000 },
      namenodes: nameservices.flatMap(([nameserviceId, all], nameservice) =>
        all.map(({ port }, index): MonitoredNamenode => {
          const address = { host: HOST, port };
          return {
            nameservice,
            index,
            nameserviceId,
            namenodeId: `nn${index}`,
            rpc: address,
            service: address,
            lifeline: address,
            web: address,
            webScheme: 'http',
            webAddress: '',
          };
        }),
      ),
      block: this.block,
      entries: () => this.entries,
      reload: async () => {
        this.reloads++;
        return this.onReload();
      },
      onUsage: (usage) => this.posted.push(usage),
      log: this.log.log,
    });
    if (quotas === null) throw new Error('quotas are off');
    this.quotas = quotas;
  }

  get warnings(): string[] {
    return this.log.lines.filter(({ level }) => level >= 40).map(({ msg, what }) => `${what}: ${msg}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.quotas.service.stop();
  }
}

interface Counts {
  readonly files: number;
  readonly names?: number | bigint;
  readonly space?: number;
  readonly types?: readonly { readonly type: string; readonly quota: number; readonly consumed: number }[];
}

/** Answers with figures by path, as if nothing were at other paths; limits that are set stay. */
function serve(namenode: ScriptedNameNode, counts: Record<string, Counts>): void {
  namenode.handler = (call: NameNodeCall) => {
    if (call.method === 'setQuota') {
      call.succeed();
      return;
    }
    const { files, names = -1, space = -1, types = [] } = counts[pathOf(call)] ?? { files: -1 };
    if (files < 0) call.fail('java.io.FileNotFoundException', `File/Directory does not exist: ${pathOf(call)}`);
    else {
      const typeQuotaInfos = types.length === 0 ? {} : { typeQuotaInfos: { typeQuotaInfo: types } };
      call.succeed({
        usage: {
          fileAndDirectoryCount: files,
          spaceConsumed: files * 10,
          quota: names,
          spaceQuota: space,
          ...typeQuotaInfos,
        },
      });
    }
  };
}

function pathOf(call: NameNodeCall): string {
  return call.request['path'] as string;
}

/** What limits were set to, in no order: `path names bytes type`. */
function limitsSet(namenode: ScriptedNameNode): string[] {
  return namenode
    .callsOf({ method: 'setQuota' })
    .map(({ request }) => {
      const textOf = (field: string): string => (request[field] === UNCHANGED ? '=' : String(request[field]));
      const type = request['storageType'] ?? '';
      return `${request['path']} ${textOf('namespaceQuota')} ${textOf('storagespaceQuota')} ${type}`.trim();
    })
    .sort();
}

describe('counting', () => {
  it('adds up the places of each mount point with limits, as the own user, and posts what has changed', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    await using ns1 = await ScriptedNameNode.start('ns1');
    const types = [{ type: 'SSD', quota: -1, consumed: 4 }];
    const counts: Record<string, Counts> = { '/x': { files: 2, names: 9, types }, '/y': { files: 3, names: 9, types } };
    serve(ns0, counts);
    serve(ns1, { '/x': { files: 5, names: 9 } });
    await using rig = new Rig({ ns0: [ns0], ns1: [ns1] }, [
      limitedMount('/a', ['ns0:/x', 'ns1:/x', 'ns1:/missing'], { names: 9 }),
      limitedMount('/a/b', ['ns0:/y']),
      limitedMount('/gone', ['ns0:/none'], { bytes: 1 }),
      limitedMount('/free', ['ns0:/free']),
    ]);
    const { service } = rig.quotas;
    expect(service.usageOf('/a')).toBeNull();
    await service.refresh();
    const used = { files: 10n, bytes: 100n, types: { SSD: 8n } };
    expect(service.usageOf('/a')).toEqual(used);
    expect(service.usageOf('/gone')).toEqual({ files: 0n, bytes: 0n, types: {} });
    expect(service.usageOf('/free')).toBeNull();
    expect(rig.posted).toEqual([service.usage]);
    expect(service.usage).toContainEqual({ mountPath: '/a', ...used });
    expect(ns0.calls.map(pathOf).sort()).toEqual(['/none', '/x', '/y']);
    expect(new Set(ns0.calls.map(({ user }) => user))).toEqual(new Set(['router']));
    await service.refresh();
    expect(rig.posted).toHaveLength(1);
    counts['/y'] = { files: 4, names: 9, types };
    await service.refresh();
    expect(rig.posted).toHaveLength(2);
    expect(service.usageOf('/a')).toMatchObject({ files: 11n });
    expect(rig.warnings).toEqual([]);
    rig.entries = [];
    await service.refresh();
    expect(rig.posted[2]).toEqual([]);
  });

  it('keeps the last figures of what cannot be counted, and says so once', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    await using ns1 = await ScriptedNameNode.start('ns1');
    serve(ns0, { '/x': { files: 2, names: 9 } });
    serve(ns1, { '/x': { files: 5, names: 9 } });
    await using rig = new Rig({ ns0: [ns0], ns1: [ns1] }, [
      limitedMount('/a', ['ns0:/x', 'ns1:/x', 'ns2:/x'], { names: 9 }),
    ]);
    const { service } = rig.quotas;
    await service.refresh();
    expect(service.usageOf('/a')).toMatchObject({ files: 7n });
    expect(rig.warnings).toEqual([expect.stringMatching(/^ns2: .*the last figures stay/)]);
    serve(ns0, { '/x': { files: 3, names: 9 } });
    ns1.handler = (call) => call.fail(IO, 'out of order');
    await service.refresh();
    expect(service.usageOf('/a')).toMatchObject({ files: 8n });
    await service.refresh();
    expect(rig.warnings.slice(1)).toEqual([expect.stringMatching(/^ns1:\/x: /)]);
    await ns1.stop();
    await service.refresh();
    expect(service.usageOf('/a')).toMatchObject({ files: 8n });
    expect(rig.warnings.slice(2)).toEqual([expect.stringMatching(/^ns1: /)]);
    expect(service.problems.map(([what]) => what).sort()).toEqual(['ns1', 'ns2']);
  });

  it('shows what one nameservice said while another hangs, where there was nothing yet at least that', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    await using ns1 = await ScriptedNameNode.start('ns1');
    serve(ns0, { '/x': { files: 2, names: 9 } });
    ns1.handler = () => {};
    await using rig = new Rig({ ns0: [ns0], ns1: [ns1] }, [
      limitedMount('/a', ['ns0:/x', 'ns1:/x'], { names: 9 }),
      limitedMount('/b', ['ns1:/y'], { names: 9 }),
    ]);
    void rig.quotas.service.start();
    await waitUntil(() => rig.posted.length > 0, 'usage is posted');
    expect(rig.posted[0]).toEqual([{ mountPath: '/a', files: 2n, bytes: 20n, types: {} }]);
    expect(rig.quotas.service.usageOf('/b')).toBeNull();
  });

  it('does not ask a disabled nameservice', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, { '/x': { files: 2, names: 9 } });
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    await rig.quotas.service.refresh();
    rig.block.setDisabled(new Set([0]));
    await rig.quotas.service.refresh();
    expect(ns0.calls).toHaveLength(1);
    expect(rig.quotas.service.usageOf('/a')).toMatchObject({ files: 2n });
    expect(rig.warnings).toEqual([]);
  });

  it('finds the active NameNode: past standby ones, observers, those that are gone, and after a failover', async () => {
    await using gone = await ScriptedNameNode.start('nn0');
    await using standby = await ScriptedNameNode.start('nn1', 'standby');
    await using observer = await ScriptedNameNode.start('nn2', 'observer');
    await using active = await ScriptedNameNode.start('nn3');
    await gone.stop();
    serve(active, { '/x': { files: 2, names: 9 }, '/y': { files: 1, names: 9 } });
    serve(standby, { '/x': { files: 5, names: 9 }, '/y': { files: 5, names: 9 } });
    await using rig = new Rig({ ns0: [gone, standby, observer, active] }, [
      limitedMount('/a', ['ns0:/x'], { names: 9 }),
      limitedMount('/b', ['ns0:/y'], { names: 9 }),
    ]);
    const { service } = rig.quotas;
    await service.refresh();
    expect(service.usageOf('/a')).toMatchObject({ files: 2n });
    expect(observer.calls).toEqual([]);
    rig.block.setActive(0, 3);
    standby.state = 'active';
    // It says so only when it is called.
    active.handler = (call) => call.fail(OBSERVER_RETRY, 'not any more');
    await service.refresh();
    expect(service.usageOf('/a')).toMatchObject({ files: 5n });
    expect(rig.warnings).toEqual([]);
  });

  it('without a mount table leaves everything as it is', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, { '/x': { files: 2, names: 9 } });
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    await rig.quotas.service.refresh();
    Object.defineProperty(rig, 'entries', {
      get: () => {
        throw new Error('not loaded');
      },
    });
    await rig.quotas.service.refresh();
    expect(rig.quotas.service.usageOf('/a')).toMatchObject({ files: 2n });
    expect(rig.warnings).toHaveLength(1);
  });

  it('counts what has no figures yet soon after the mount table has changed, and nothing else', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, { '/x': { files: 2, names: 9 }, '/y': { files: 1, names: 9 } });
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    const { service } = rig.quotas;
    await service.refresh();
    rig.entries = [...rig.entries, limitedMount('/b', ['ns0:/y'], { names: 9 })];
    service.onMounts();
    service.onMounts();
    await ns0.until(() => ns0.calls.length >= 2, 'the new one is counted');
    await service.stop();
    expect(ns0.calls.map(pathOf)).toEqual(['/x', '/y']);
    expect(service.usageOf('/a')).toMatchObject({ files: 2n });
  });

  it('ends while a NameNode does not answer', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    ns0.handler = () => {};
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    const started = rig.quotas.service.start();
    await ns0.waitForCall({ method: 'getQuotaUsage' });
    await rig.quotas.service.stop();
    await started;
    expect(rig.posted).toEqual([]);
    expect(rig.warnings).toEqual([]);
  });
});

describe('limits of NameNodes', () => {
  it('are put right by those of the mount table, of the nearest mount point', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, {
      '/x': { files: 1, names: 9, space: 7 },
      '/y': { files: 1, names: 1, space: 7 },
      '/z': { files: 1, names: 9, space: 7, types: [{ type: 'DISK', quota: 3, consumed: 0 }] },
      '/': { files: 1, names: UNCHANGED, space: -1 },
    });
    await using rig = new Rig({ ns0: [ns0] }, [
      limitedMount('/a', ['ns0:/x'], { names: 9, bytes: 7 }),
      limitedMount('/a/b', ['ns0:/y', 'ns0:/none']),
      limitedMount('/a/c', ['ns0:/z'], { types: { SSD: 4 } }),
      limitedMount('/r', ['ns0:/'], { types: { SSD: 5 } }),
    ]);
    await rig.quotas.service.refresh();
    expect(limitsSet(ns0)).toEqual(['/ = 5 SSD', '/y 9 7', '/z = -1 DISK', '/z = 4 SSD']);
    expect(rig.reloads).toBe(1);
  });

  it('are compared with the mount table as it is by then, and left alone when it cannot be read', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, { '/x': { files: 1, names: 5 } });
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    rig.onReload = () => false;
    await rig.quotas.service.refresh();
    expect(limitsSet(ns0)).toEqual([]);
    rig.onReload = () => {
      rig.entries = [limitedMount('/a', ['ns0:/x'], { names: 5 })];
      return true;
    };
    await rig.quotas.service.refresh();
    expect(limitsSet(ns0)).toEqual([]);
    expect(rig.reloads).toBe(2);
  });

  it('that cannot be set are reported once', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, { '/x': { files: 1 } });
    const answer = ns0.handler;
    ns0.handler = (call) => (call.method === 'setQuota' ? call.fail(IO, 'no') : answer(call));
    await using rig = new Rig({ ns0: [ns0] }, [limitedMount('/a', ['ns0:/x'], { names: 9 })]);
    await rig.quotas.service.refresh();
    await rig.quotas.service.refresh();
    expect(limitsSet(ns0)).toEqual(['/x 9 -1', '/x 9 -1']);
    expect(rig.warnings).toEqual(['ns0:/x: quotas: limits were not set']);
    expect(rig.quotas.service.usageOf('/a')).toMatchObject({ files: 1n });
  });
});

describe('a change of an administrator', () => {
  it('sets limits at the destinations, and at those of mount points below that take them over', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    await using ns1 = await ScriptedNameNode.start('ns1');
    serve(ns0, {});
    serve(ns1, {});
    const after = limitedMount('/a', ['ns0:/x', 'ns1:/x'], { names: 9, types: { SSD: 3 } });
    await using rig = new Rig({ ns0: [ns0], ns1: [ns1] }, [
      limitedMount('/', ['ns0:/'], { bytes: 70 }),
      // Not written yet, or not read again.
      limitedMount('/a', ['ns0:/old'], { names: 1 }),
      limitedMount('/a/b', ['ns0:/y'], { names: 5 }),
      limitedMount('/a/c', ['ns1:/z'], { names: 5, bytes: 6, types: { SSD: 7 } }),
      limitedMount('/ab', ['ns1:/other']),
    ]);
    await rig.quotas.push.push(after, true, []);
    expect(limitsSet(ns0)).toEqual(['/x 9 70', '/x = 3 SSD', '/y = 3 SSD', '/y = 70']);
    expect(limitsSet(ns1)).toEqual(['/x 9 70', '/x = 3 SSD']);
    await rig.quotas.push.push(limitedMount('/a/c', ['ns1:/z']), false, ['DISK']);
    expect(limitsSet(ns1)).toContain('/z = -1 DISK');
    expect(ns1.calls).toHaveLength(3);
    expect(rig.warnings).toEqual([]);
  });

  it('takes limits away with the mount point, unless another one leads there or there were none', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    serve(ns0, {});
    await using rig = new Rig({ ns0: [ns0] }, [
      limitedMount('/a/b', ['ns0:/y']),
      limitedMount('/also', ['ns0:/shared'], { names: 4 }),
    ]);
    await rig.quotas.push.reset(limitedMount('/a', ['ns0:/x', 'ns0:/shared'], { names: 9, types: { SSD: 3 } }));
    expect(limitsSet(ns0)).toEqual([
      '/shared 4 =',
      '/shared = -1 SSD',
      '/x -1 =',
      '/x = -1 SSD',
      '/y -1 =',
      '/y = -1 SSD',
    ]);
    await rig.quotas.push.reset(limitedMount('/plain', ['ns0:/plain']));
    expect(ns0.calls).toHaveLength(6);
  });

  it('never fails: what could not be set is logged', async () => {
    await using ns0 = await ScriptedNameNode.start('ns0');
    ns0.handler = (call) => call.fail(IO, 'no');
    await using rig = new Rig({ ns0: [ns0] }, []);
    await rig.quotas.push.push(limitedMount('/a', ['ns0:/x', 'ns9:/x'], { names: 9 }), true, []);
    expect(rig.warnings.map((line) => line.split(': ')[0]).sort()).toEqual(['ns0:/x', 'ns9']);
  });
});

it('is off unless the key says so, and refuses an interval that is none', () => {
  const open = (quotaEnabled: boolean, interval: string) =>
    openQuotas({
      configuration: new Configuration({
        directory: null,
        overrides: [{ key: INTERVAL, value: interval, origin: 'test' }],
      }),
      settings: { quotaEnabled, routerUser: 'router', connectTimeoutMs: 1 },
      namenodes: [],
      block: new ControlBlock(createControlBlock(0), 0),
      entries: () => [],
      reload: async () => true,
      onUsage: () => {},
      log: recordLog().log,
    });
  expect(open(false, '60s')).toBeNull();
  expect(open(true, '60s')).not.toBeNull();
  expect(() => open(true, '0')).toThrow(INTERVAL);
});
