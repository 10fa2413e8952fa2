import { describe, expect, it } from 'vitest';
import { NameNodeLookup } from '../../src/admin/path-lookup.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import { JAVA } from '../../src/control/rpc-server/remote-exception.ts';
import { emptyEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { ROUTER_USER } from '../support/admin-rig.ts';
import { type Answer, HttpRig, mountBody } from '../support/http-rig.ts';
import { MemoryStore } from '../support/memory-store.ts';

/** What a refusal says: status, class, message. */
function said({ status, body }: Answer): [number, string, string] {
  const { javaClassName, message, remedy } = body.RemoteException;
  expect(remedy).not.toBe('');
  return [status, javaClassName, message];
}

async function paths(rig: HttpRig, query = '', user = ROUTER_USER): Promise<string[]> {
  const { body } = await rig.ask('GET', `/mounts${query}`, undefined, user);
  return body.mounts.map(({ path }: { path: string }) => path);
}

describe('mount entries over HTTP', () => {
  it('are added once, read, changed and removed', async () => {
    await using rig = await HttpRig.start();
    const before = Date.now();
    const added = await rig.ask('POST', '/mounts', mountBody('/a b/ü'));
    expect(added.status).toBe(201);
    const url = added.headers.get('location') ?? '';
    expect(url).toBe('/api/v1/mount?path=%2Fa%20b%2F%C3%BC');
    const { dateCreated, dateModified, ...rest } = added.body;
    expect(rest).toEqual({
      path: '/a b/ü',
      destinations: [{ nameservice: 'ns0', path: '/a b/ü' }],
      order: 'HASH',
      readOnly: false,
      faultTolerant: false,
      owner: ROUTER_USER,
      group: 'supergroup',
      mode: '0755',
      quota: { namespace: null, space: null, storageTypes: {} },
      usage: { filesAndDirectories: 0, spaceBytes: 0, storageTypes: {} },
    });
    expect(dateCreated).toBeGreaterThanOrEqual(before);
    expect(dateModified).toBe(dateCreated);
    // Dates are the store's own, once it has been read again.
    expect((await rig.send(url)).body).toMatchObject(rest);

    const again = await rig.ask('POST', '/mounts', mountBody('/a b/ü'));
    expect(said(again)).toEqual([409, JAVA.FILE_EXISTS, "mount '/a b/ü' exists already"]);

    const path = '/mount?path=/a%20b/%C3%BC';
    const changed = await rig.ask('PATCH', path, { readOnly: true, mode: '1755' });
    expect(changed).toMatchObject({ status: 200, body: { readOnly: true, mode: '1755', owner: ROUTER_USER } });
    expect((await rig.send(url)).body).toMatchObject({ readOnly: true, mode: '1755' });

    expect(await rig.ask('DELETE', path)).toMatchObject({ status: 204, body: null });
    const gone = `there is no mount entry '/a b/ü' that you may read`;
    for (const method of ['DELETE', 'GET', 'PATCH']) {
      const answer = await rig.ask(method, path, method === 'PATCH' ? { readOnly: false } : undefined);
      expect(said(answer)).toEqual([404, JAVA.FILE_NOT_FOUND, gone]);
    }
  });

  it('are listed by path, in pages', async () => {
    await using rig = await HttpRig.start();
    const sources = ['/b', '/a', '/a-x', '/a/c', '/a/c/d'];
    for (const path of sources) await rig.ask('POST', '/mounts', mountBody(path));
    const all = ['/a', '/a/c', '/a/c/d', '/a-x', '/b'];
    expect(await paths(rig)).toEqual(all);
    expect(await paths(rig, '?path=/a')).toEqual(['/a', '/a/c', '/a/c/d']);
    expect(await paths(rig, '?path=/nowhere')).toEqual([]);
    const read: string[] = [];
    let after = '';
    for (const next of ['/a/c', '/a-x', null]) {
      const { body } = await rig.ask('GET', `/mounts?limit=2${after}`);
      expect(body).toMatchObject({ total: 5, next });
      read.push(...body.mounts.map(({ path }: { path: string }) => path));
      after = `&after=${next}`;
    }
    expect(read).toEqual(all);
    expect(await paths(rig, '?after=/a/c/nothing')).toEqual(['/a/c/d', '/a-x', '/b'].slice(1));
    expect(await paths(rig, '?limit=5')).toEqual(all);
  });

  it('are put whole: what is not sent is as for a new one, owner, group and date of creation stay', async () => {
    await using rig = await HttpRig.start();
    const created = await rig.ask('PUT', '/mount?path=/x', { ...mountBody('/x'), owner: 'alice', group: 'staff' });
    expect(created).toMatchObject({ status: 200, body: { path: '/x', owner: 'alice' } });
    await rig.ask('PATCH', '/mount?path=/x', { quota: { namespace: 5, storageTypes: { SSD: '1t' } }, readOnly: true });
    const put = await rig.ask('PUT', '/mount?path=/x', {
      destinations: ['ns0', 'ns1'].map((nameservice) => ({ nameservice, path: '/y' })),
      order: 'HASH_ALL',
      faultTolerant: true,
    });
    expect(put.body).toMatchObject({
      order: 'HASH_ALL',
      faultTolerant: true,
      readOnly: false,
      owner: 'alice',
      group: 'staff',
      quota: { namespace: null, space: null, storageTypes: {} },
    });
    expect(put.body.destinations).toHaveLength(2);
    // What was read can be sent back.
    const { dateCreated: _created, dateModified: _modified, ...same } = put.body;
    expect((await rig.ask('PUT', '/mount?path=/x', put.body)).body).toMatchObject(same);
    const other = await rig.ask('PUT', '/mount?path=/z', put.body);
    expect(said(other)).toEqual([
      400,
      JAVA.ILLEGAL_ARGUMENT,
      "the body is of mount '/x', the query of '/z'; an entry keeps its path",
    ]);
  });

  it('are added several at once: none when one is wrong, else each that can be', async () => {
    await using rig = await HttpRig.start();
    const add = (...mounts: object[]): Promise<Answer> => rig.ask('POST', '/mounts/batch', { mounts });
    const wrong = await add(mountBody('/x'), mountBody('/y', { faultTolerant: true }));
    expect(said(wrong)[0]).toBe(400);
    expect(said(await add(mountBody('/x'), mountBody('/x')))).toEqual([
      400,
      JAVA.ILLEGAL_ARGUMENT,
      "mount '/x' is given twice",
    ]);
    expect(await paths(rig)).toEqual([]);
    expect((await add(mountBody('/x'))).body).toEqual({ added: ['/x'], failed: [] });
    expect(await add(mountBody('/x'), mountBody('/y'))).toMatchObject({
      status: 200,
      body: { added: ['/y'], failed: [{ path: '/x', reason: "mount '/x' exists already" }] },
    });
    expect(said(await add())).toEqual([400, JAVA.ILLEGAL_ARGUMENT, 'body.mounts must NOT have fewer than 1 items']);
    expect(await paths(rig)).toEqual(['/x', '/y']);
  });

  it('are for those whom the entries allow, else for superusers: the rules of the admin port', async () => {
    await using rig = await HttpRig.start();
    const add = (user: string, path: string, more = {}): Promise<Answer> =>
      rig.ask('POST', '/mounts', mountBody(path, more), user);
    expect(said(await add('alice', '/home'))).toEqual([
      403,
      JAVA.ACCESS_CONTROL,
      'Permission denied while accessing mount table /home: user alice does not have WRITE permissions.',
    ]);
    await add(ROUTER_USER, '/home', { owner: 'alice', mode: '0750' });
    const own = await add('alice', '/home/alice');
    expect(own).toMatchObject({ status: 201, body: { owner: 'alice', group: 'staff' } });
    for (const [method, query, body] of [
      ['PATCH', '/mount?path=/home', { readOnly: true }],
      ['PUT', '/mount?path=/home', mountBody('/home')],
      ['PUT', '/mount/quota?path=/home', { space: 1 }],
      ['DELETE', '/mount?path=/home', undefined],
      ['PUT', '/mount?path=/home/bob', mountBody('/home/bob')],
      ['POST', '/mounts/batch', { mounts: [mountBody('/home/bob')] }],
    ] as const) {
      expect(said(await rig.ask(method, query, body, 'bob')).slice(0, 2), `${method} ${query}`).toEqual([
        403,
        JAVA.ACCESS_CONTROL,
      ]);
    }
    expect(said(await rig.ask('PATCH', '/mount?path=/nowhere', { readOnly: true }, 'bob'))[0]).toBe(404);
    // Not for bob, and not for those who say nothing.
    expect(await paths(rig, '', 'bob')).toEqual(['/home/alice']);
    expect(await paths(rig, '', '')).toEqual(['/home/alice']);
    expect((await rig.ask('GET', '/mount?path=/home', undefined, '')).status).toBe(404);
    expect(await paths(rig, '', 'alice')).toEqual(['/home', '/home/alice']);
    expect((await rig.ask('PATCH', '/mount?path=/home', { readOnly: true }, 'alice')).status).toBe(200);
    expect((await rig.ask('DELETE', '/mount?path=/home', undefined, 'alice')).status).toBe(204);
  });

  it('of readers without a token are those of hadoop.http.staticuser.user', async () => {
    await using rig = await HttpRig.start({ keys: { 'hadoop.http.staticuser.user': 'bob' } });
    await rig.ask('POST', '/mounts', mountBody('/bob', { owner: 'bob', mode: '0700' }));
    expect(await paths(rig, '', '')).toEqual(['/bob']);
    expect(await paths(rig, '', 'alice')).toEqual([]);
  });

  it.each([
    [{ path: 'x' }, "body must have required property 'destinations'"],
    [mountBody('x'), /all mount points must start with \//],
    [mountBody('/x/'), /write '\/x'/],
    [mountBody('/x', { colour: 'red' }), "body has a field 'colour', which nobody knows"],
    [mountBody('/x', { order: 'HSAH' }), /^body.order must be one of HASH, LOCAL/],
    [mountBody('/x', { readOnly: 'yes' }), 'body.readOnly must be boolean'],
    [mountBody('/x', { mode: 755 }), 'body.mode must be string'],
    [mountBody('/x', { mode: '0888' }), /^body.mode must match pattern/],
    [mountBody('/x', { destinations: [] }), 'body.destinations must NOT have fewer than 1 items'],
    [mountBody('/x', { destinations: [{ nameservice: 'ns0' }] }), /^body.destinations.0 must have required property/],
    [mountBody('/x', { quota: { space: 2 ** 60 } }), /^body.quota.space must be <=/],
    [mountBody('/x', { quota: { space: '9999999999g' } }), 'space: 9999999999g is no limit of 64 bits'],
    [mountBody('/x', { quota: { storageTypes: { FLOPPY: 1 } } }), /has a field 'FLOPPY'/],
    [mountBody('/x', { faultTolerant: true }), /fault tolerance requires multiple destinations/],
    ['{"path":', "Body is not valid JSON but content-type is set to 'application/json'"],
    ['[]', 'body must be object'],
    ['null', 'body must be object'],
  ])('of %j are refused, with the place', async (body, message) => {
    await using rig = await HttpRig.start();
    const [status, javaClass, text] = said(await rig.ask('POST', '/mounts', body));
    expect([status, javaClass]).toEqual([400, JAVA.ILLEGAL_ARGUMENT]);
    if (typeof message === 'string') expect(text).toBe(message);
    else expect(text).toMatch(message);
    expect(await paths(rig)).toEqual([]);
  });

  it('changed by two routers at once lose no field', async () => {
    const memory = new MemoryStore();
    await using one = await HttpRig.start({ memory });
    await using other = await HttpRig.start({ memory, routerId: 'other:8888' });
    await one.ask('POST', '/mounts', mountBody('/x'));
    const count = 20;
    const change = async (rig: HttpRig, make: (i: number) => object): Promise<void> => {
      for (let i = 1; i <= count; i++) {
        expect((await rig.ask('PATCH', '/mount?path=/x', make(i))).status).toBe(200);
      }
    };
    await Promise.all([
      change(one, (i) => ({ quota: { namespace: i } })),
      change(other, (i) => ({ quota: { space: i } })),
      change(one, (i) => ({ group: `g${i}` })),
      change(other, (i) => ({ owner: `o${i}` })),
    ]);
    await one.ask('POST', '/mounts/refresh');
    const { body } = await one.ask('GET', '/mount?path=/x');
    expect(body).toMatchObject({
      owner: `o${count}`,
      group: `g${count}`,
      quota: { namespace: count, space: count },
    });
  });

  it('that another router has just added can be changed', async () => {
    const memory = new MemoryStore({ isVersioned: false });
    await using one = await HttpRig.start({ memory });
    await using other = await HttpRig.start({ memory, routerId: 'other:8888' });
    await one.ask('POST', '/mounts', mountBody('/x'));
    expect((await other.ask('GET', '/mount?path=/x')).status).toBe(404);
    expect((await other.ask('PATCH', '/mount?path=/x', { readOnly: true })).body).toMatchObject({ readOnly: true });
  });

  it('are refused as long as the State Store does not answer, or is not there', async () => {
    await using rig = await HttpRig.start();
    (rig.admin.driver ?? { failure: '' }).failure = 'gone';
    const add = await rig.ask('POST', '/mounts', mountBody('/x'));
    expect(add.status).toBeGreaterThanOrEqual(500);
    expect(said(add)[2]).toContain('gone');
    expect(said(await rig.ask('POST', '/mounts/refresh')).slice(0, 2)).toEqual([503, JAVA.STATE_STORE_UNAVAILABLE]);
    expect(await paths(rig)).toEqual([]);
    await using without = await HttpRig.start({ memory: null });
    for (const answer of [
      await without.ask('GET', '/mounts'),
      await without.ask('POST', '/mounts', mountBody('/x')),
      await without.ask('PUT', '/nameservices/ns0', { enabled: false }),
    ]) {
      expect(said(answer).slice(0, 2)).toEqual([503, JAVA.STATE_STORE_UNAVAILABLE]);
    }
  });
});

describe('quotas over HTTP', () => {
  it('are set, counted and removed, exactly in 64 bits', async () => {
    const usage = {
      usageOf: (path: string) => (path === '/x' ? { files: 3n, bytes: 2n ** 60n, types: { SSD: 7n } } : null),
    };
    await using rig = await HttpRig.start({ usage });
    await rig.ask('POST', '/mounts', mountBody('/x'));
    await rig.ask('POST', '/mounts', mountBody('/y'));
    expect((await rig.ask('GET', '/quotas')).body).toEqual({ quotas: [] });
    const set = await rig.ask('PUT', '/mount/quota?path=/x', {
      namespace: '9223372036854775807',
      space: '10T',
      storageTypes: { SSD: 5, DISK: null },
    });
    const inUse = {
      path: '/x',
      quota: { namespace: '9223372036854775807', space: 10 * 2 ** 40, storageTypes: { SSD: 5 } },
      usage: { filesAndDirectories: 3, spaceBytes: '1152921504606846976', storageTypes: { SSD: 7 } },
    };
    expect(set).toMatchObject({ status: 200, body: inUse });
    expect((await rig.ask('GET', '/quotas?path=/')).body).toEqual({ quotas: [inUse] });
    expect(rig.admin.store?.records('MountTable').get('/x')?.record.entry.quota).toMatchObject({
      namespaceQuota: 2n ** 63n - 1n,
      spaceQuota: 10n << 40n,
    });
    const less = await rig.ask('PUT', '/mount/quota?path=/x', { namespace: 0 });
    expect(less.body.quota).toEqual({ namespace: 0, space: null, storageTypes: {} });
    const partly = await rig.ask('PATCH', '/mount?path=/x', { quota: { space: 1, storageTypes: { SSD: 2 } } });
    expect(partly.body.quota).toEqual({ namespace: 0, space: 1, storageTypes: { SSD: 2 } });
    const none = await rig.ask('DELETE', '/mount/quota?path=/x');
    expect(none.body.quota).toEqual({ namespace: null, space: null, storageTypes: {} });
    expect((await rig.ask('GET', '/quotas')).body).toEqual({ quotas: [] });
    expect((await rig.ask('PUT', '/mount/quota?path=/none', { space: 1 })).status).toBe(404);
  });

  it('reach the nameservices as those of the admin port do', async () => {
    const pushed: [string, boolean, readonly string[]][] = [];
    await using rig = await HttpRig.start({
      quotas: {
        push: async ({ sourcePath }, whole, types) => void pushed.push([sourcePath, whole, types]),
        reset: async ({ sourcePath }) => void pushed.push([sourcePath, false, ['reset']]),
      },
    });
    await rig.ask('POST', '/mounts', mountBody('/x'));
    await rig.ask('PUT', '/mount/quota?path=/x', { space: 5 });
    await rig.ask('PATCH', '/mount?path=/x', { quota: { storageTypes: { SSD: 1 } } });
    await rig.ask('PATCH', '/mount?path=/x', { readOnly: true });
    await rig.ask('DELETE', '/mount?path=/x');
    expect(pushed).toEqual([
      ['/x', true, []],
      ['/x', false, ['SSD']],
      ['/x', false, ['reset']],
    ]);
  });
});

describe('nameservices, routers and safe mode over HTTP', () => {
  it('nameservices are disabled and enabled, by superusers', async () => {
    await using rig = await HttpRig.start();
    const set = (id: string, enabled: unknown, user = ROUTER_USER): Promise<Answer> =>
      rig.ask('PUT', `/nameservices/${id}`, { enabled }, user);
    expect(await set('ns1', false)).toMatchObject({ status: 200, body: { id: 'ns1', enabled: false } });
    expect(await set('ns1', false)).toMatchObject({ status: 200, body: { enabled: false } });
    expect([...(rig.admin.store?.records('DisabledNameservice').keys() ?? [])]).toEqual(['ns1']);
    const { body } = await rig.ask('GET', '/nameservices', undefined, '');
    expect(body.nameservices.map(({ enabled }: { enabled: boolean }) => enabled)).toEqual([true, false]);
    expect(await set('ns1', true)).toMatchObject({ status: 200, body: { enabled: true } });
    expect(await set('ns1', true)).toMatchObject({ status: 200, body: { enabled: true } });
    expect((await rig.ask('GET', '/nameservices/ns1')).body).toMatchObject({ id: 'ns1', enabled: true });
    expect(said(await set('ns9', false)).slice(0, 2)).toEqual([404, JAVA.FILE_NOT_FOUND]);
    expect(said(await set('ns9', true))[0]).toBe(404);
    expect(said(await set('ns1', false, 'alice'))).toEqual([403, JAVA.ACCESS_CONTROL, 'alice is not a super user']);
    expect(said(await set('ns1', 1))).toEqual([400, JAVA.ILLEGAL_ARGUMENT, 'body.enabled must be boolean']);
  });

  it('routers are those of the State Store', async () => {
    const memory = new MemoryStore();
    await using rig = await HttpRig.start({ memory });
    await using other = await HttpRig.start({ memory, routerId: 'other:8888' });
    await Promise.all([rig.admin.register(), other.admin.register()]);
    await rig.admin.store?.load('RouterState', true);
    const { body } = await rig.ask('GET', '/routers', undefined, '');
    expect(body.routers).toMatchObject([
      { address: 'other:8888', self: false, status: 'RUNNING' },
      { address: 'router:8888', self: true, adminAddress: rig.admin.administration.recordedAddress },
    ]);
  });

  it('safe mode is entered and left, by superusers', async () => {
    await using rig = await HttpRig.start();
    expect((await rig.ask('GET', '/safemode', undefined, '')).body).toEqual({ on: false });
    expect((await rig.ask('PUT', '/safemode', { on: true })).body).toEqual({ on: true });
    expect((await rig.ask('GET', '/safemode')).body).toEqual({ on: true });
    expect(said(await rig.ask('PUT', '/safemode', { on: false }, 'bob'))[1]).toBe(JAVA.ACCESS_CONTROL);
    expect((await rig.ask('PUT', '/safemode', { on: false })).body).toEqual({ on: false });
    await using without = await HttpRig.start({ safeMode: false });
    expect(said(await without.ask('PUT', '/safemode', { on: true }))).toEqual([
      409,
      JAVA.UNSUPPORTED,
      'this router has no safe mode',
    ]);
  });

  it('the rules of proxy users are read again, by superusers', async () => {
    await using rig = await HttpRig.start();
    expect((await rig.ask('POST', '/proxy-users/refresh')).status).toBe(204);
    expect((await rig.ask('POST', '/proxy-users/refresh', undefined, 'alice')).status).toBe(403);
    rig.admin.overrides['hadoop.proxyuser.oozie.hosts'] = '10.0.0.0/99';
    expect(said(await rig.ask('POST', '/proxy-users/refresh')).slice(0, 2)).toEqual([500, JAVA.IO]);
  });

  it('paths are resolved by the mount table', async () => {
    const destinations = ['ns0', 'ns1'].map((nameservice) => ({ nameservice, path: '/t' }));
    const entry = {
      ...emptyEntry('/x', { routerUser: 'u', superGroup: 'g' }),
      destinations,
      order: 'HASH_ALL' as const,
    };
    const snapshot = MountSnapshot.from(buildSnapshot([entry], ['ns0', 'ns1'], 1, null));
    const settings = readSettings(new Configuration({ directory: null }), { nameservices: [] });
    const disabled = new Set<string>();
    const lookup = new NameNodeLookup({
      settings,
      snapshot: () => snapshot,
      defaultNameservice: null,
      isDisabled: (id) => disabled.has(id),
      namenodesOf: () => [],
    });
    await using rig = await HttpRig.start({ lookup });
    const resolve = (path: string): Promise<Answer> => rig.ask('GET', `/resolve?path=${path}`, undefined, '');
    const { body } = await resolve('/x/y');
    expect(body.path).toBe('/x/y');
    expect(body.locations.map(({ nameservice }: { nameservice: string }) => nameservice).sort()).toEqual([
      'ns0',
      'ns1',
    ]);
    expect(body.locations[0].path).toBe('/t/y');
    disabled.add('ns0');
    expect((await resolve('/x/y')).body.locations).toEqual([{ nameservice: 'ns1', path: '/t/y' }]);
    disabled.add('ns1');
    expect(said(await resolve('/x/y')).slice(0, 2)).toEqual([404, JAVA.NO_LOCATION]);
    expect(said(await resolve('/z')).slice(0, 2)).toEqual([404, JAVA.RESOLVE]);
    expect(said(await resolve('z')).slice(0, 2)).toEqual([400, JAVA.ILLEGAL_ARGUMENT]);
    expect(said(await rig.ask('GET', '/resolve'))).toEqual([
      400,
      JAVA.ILLEGAL_ARGUMENT,
      "query must have required property 'path'",
    ]);
  });
});
