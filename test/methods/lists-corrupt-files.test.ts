import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, refusal, severalMount } from '../support/several-mounts.ts';

const LIST = 'ClientProtocol.listCorruptFileBlocks';
const SIMULATOR = { listingLimit: 2, datanodes: [{ uuid: 'dn-0', host: 'dn0.test', ip: '10.0.0.1' }] };
const DEFAULT_NS0 = { 'dfs.federation.router.default.nameserviceId': 'ns0' };

/** Files with one block each, which is lost. */
async function makeCorrupt(client: MethodClient, paths: readonly string[]): Promise<void> {
  for (const src of paths) {
    const { fs } = await client.call('ClientProtocol.create', createRequest(src));
    const fileId = Number((fs as Plain)['fileId']);
    const { block } = await client.call('ClientProtocol.addBlock', { src, fileId, clientName: 'writer' });
    await client.call('ClientProtocol.reportBadBlocks', { blocks: [block as Plain] });
  }
}

/** As Hadoop's iterator: until an empty answer. */
async function listed(client: MethodClient, path: string): Promise<string[]> {
  const found: string[] = [];
  let request: Plain = { path };
  for (;;) {
    const { corrupt } = await client.call<{ corrupt: { files: string[]; cookie: string } }>(LIST, request);
    if (corrupt.files.length === 0) return found.sort();
    found.push(...corrupt.files);
    request = { path, cookie: corrupt.cookie };
  }
}

describe('corrupt files', () => {
  prove(
    LIST,
    'of all nameservices at and below the path, with client paths',
    { mounts: ['/a=ns0:/x', '/b=ns1:/y', '/b/in=ns0:/in'], keys: DEFAULT_NS0, simulator: SIMULATOR },
    async (cluster) => {
      const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
      await makeCorrupt(ns0, ['/a/hidden', '/top', '/x/1', '/x/2', '/x/3', '/in/1', '/xyz/1', '/x/4']);
      await makeCorrupt(ns1, ['/u', '/v', '/w', '/y/1', '/y/2', '/y/in/hidden', '/yy/1', '/y/3']);
      const a = ['/a/1', '/a/2', '/a/3', '/a/4'];
      const b = ['/b/1', '/b/2', '/b/3', '/b/in/1'];
      expect(await listed(client, '/a')).toEqual(a);
      expect(await listed(client, '/b')).toEqual(b);
      expect(await listed(client, '/b/in')).toEqual(['/b/in/1']);
      // The rest of ns0 is the default nameservice's own.
      expect(await listed(client, '/')).toEqual(
        [...a, ...b, '/top', '/xyz/1', '/x/1', '/x/2', '/x/3', '/x/4', '/in/1']
          .filter((path) => !/^\/(x|in)\//.test(path))
          .sort(),
      );
      expect(await listed(client, '/xyz')).toEqual(['/xyz/1']);
    },
  );

  prove(LIST, 'of all locations', { mounts: [severalMount()], simulator: SIMULATOR }, async (cluster) => {
    const [client, ns0, ns1] = [await cluster.connect(), await cluster.direct('ns0'), await cluster.direct('ns1')];
    await makeCorrupt(ns0, ['/m0/1', '/m0/2', '/m0/3']);
    await makeCorrupt(ns1, ['/m1/4', '/m1/d/5']);
    expect(await listed(client, '/m')).toEqual(['/m/1', '/m/2', '/m/3', '/m/4', '/m/d/5']);
    expect(await listed(client, '/m/d')).toEqual(['/m/d/5']);
  });

  prove(
    LIST,
    'a cookie of a NameNode starts anew',
    { mounts: [severalMount()], simulator: SIMULATOR },
    async (cluster) => {
      const [client, ns0] = [await cluster.connect(), await cluster.direct('ns0')];
      await makeCorrupt(ns0, ['/m0/1']);
      expect(await client.call(LIST, { path: '/m', cookie: '1' })).toMatchObject({ corrupt: { files: ['/m/1'] } });
      const alice = await cluster.connect('alice');
      expect(await refusal(alice.call(LIST, { path: '/m' }))).toMatch(/^AccessControlException: /);
    },
  );
});
