import { describe, expect } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient, MethodCluster } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { RawClient } from '../support/raw-client.ts';
import { createRequest, refusal, severalMount, statusOf } from '../support/several-mounts.ts';

/** concat and createSymlink where paths have several locations: `/m` is ns0:/m0 and ns1:/m1, `/one` is ns1:/m1/d. */

const OPTIONS = {
  mounts: [severalMount(), '/one=ns1:/m1/d'],
  simulator: { datanodes: [{ uuid: 'dn-0', host: 'dn0.test', ip: '10.0.0.1' }] },
};
const BLOCK_BYTES = 512;

async function writeFile(ns: MethodClient, src: string, blocks = 1): Promise<void> {
  const { fs } = await ns.call('ClientProtocol.create', createRequest(src));
  const { fileId } = fs as Plain;
  let previous: Plain | undefined;
  for (let i = 0; i < blocks; i++) {
    const { block } = await ns.call('ClientProtocol.addBlock', { src, fileId, clientName: 'writer', previous });
    previous = { ...((block as Plain)['b'] as Plain), numBytes: BLOCK_BYTES };
  }
  await ns.call('ClientProtocol.complete', { src, fileId, clientName: 'writer', last: previous });
}

async function lengthOf(client: MethodClient, src: string): Promise<number | null> {
  const status = await statusOf(client, src);
  return status === null ? null : Number(status['length']);
}

/** Nameservices that got a method, with the path of each call. */
async function arrivals(cluster: MethodCluster, wanted: string): Promise<string[]> {
  const calls = await cluster.simulator.control({ op: 'calls' });
  return calls.filter(({ method }) => method === wanted).map(({ nameservice }) => nameservice);
}

describe('concat', () => {
  prove('ClientProtocol.concat', 'onto an empty file of the nameservice that has it', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    for (const [i, id] of ['ns0', 'ns1'].entries()) {
      const ns = await cluster.direct(id);
      for (const [name, blocks] of [
        ['t', 0],
        ['a', 1],
        ['b', 2],
      ] as const) {
        await writeFile(ns, `/m${i}/${id}${name}`, blocks);
      }
      await client.call('ClientProtocol.concat', { trg: `/m/${id}t`, srcs: [`/m/${id}a`, `/m/${id}b`] });
      expect(await lengthOf(ns, `/m${i}/${id}t`)).toBe(3 * BLOCK_BYTES);
      expect(await lengthOf(ns, `/m${i}/${id}a`)).toBeNull();
    }
    expect(await arrivals(cluster, 'concat')).toEqual(['ns0', 'ns1']);
  });

  prove('ClientProtocol.concat', 'of files in different nameservices is refused', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    await writeFile(await cluster.direct('ns0'), '/m0/d/t');
    await writeFile(await cluster.direct('ns1'), '/m1/d/a');
    for (const src of ['/m/d/a', '/one/a']) {
      expect(await refusal(client.call('ClientProtocol.concat', { trg: '/m/d/t', srcs: [src] }))).toBe(
        `IOException: Cannot concatenate source file ${src} to /m/d/t: it is in nameservice ns1, not in ns0`,
      );
    }
    expect(await arrivals(cluster, 'concat')).toEqual([]);
  });

  prove('ClientProtocol.concat', 'takes paths of two mounts to one directory', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const ns1 = await cluster.direct('ns1');
    await writeFile(ns1, '/m1/d/t');
    await writeFile(ns1, '/m1/d/a');
    await client.call('ClientProtocol.concat', { trg: '/m/d/t', srcs: ['/one/a'] });
    expect(await lengthOf(ns1, '/m1/d/t')).toBe(2 * BLOCK_BYTES);
    // The NameNode's refusals name the client's paths.
    expect(await refusal(client.call('ClientProtocol.concat', { trg: '/m/d/t', srcs: ['/m/d/t'] }))).toMatch(
      /^HadoopIllegalArgumentException: .* src file \/m\/d\/t is the same with the target file \/m\/d\/t$/,
    );
    expect(await refusal(client.call('ClientProtocol.concat', { trg: '/m/d/t', srcs: ['/m/d/none'] }))).toMatch(
      /^FileNotFoundException: .*\/m\/d\/none/,
    );
  });

  prove('ClientProtocol.concat', 'that comes again is known by its nameservice', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const ns1 = await cluster.direct('ns1');
    for (const name of ['t', 'a', 'b']) await writeFile(ns1, `/m1/${name}`);
    await client.call('ClientProtocol.concat', { trg: '/m/t', srcs: ['/m/a'] });
    using raw = await RawClient.connect(cluster.router, { user: 'hdfs' });
    const call = { method: 'concat', request: { trg: '/m/t', srcs: ['/m/b'] }, callId: 5 };
    expect((await raw.call(call)).status).toBe('SUCCESS');
    expect((await raw.call({ ...call, retryCount: 1 })).status).toBe('SUCCESS');
    expect(await lengthOf(ns1, '/m1/t')).toBe(3 * BLOCK_BYTES);
    expect((await raw.call({ ...call, callId: 6 })).exception).toMatch(/FileNotFoundException$/);
  });
});

describe.each(['HASH_ALL', 'RANDOM'])('an upload in parts to a mount of order %s', (order) => {
  const UPLOADS = { mounts: [severalMount(order)], simulator: OPTIONS.simulator };
  prove('ClientProtocol.concat', 'has them in one nameservice', UPLOADS, async (cluster) => {
    const client = await cluster.connect();
    for (let upload = 0; upload < 4; upload++) {
      const parts = `/m/file${upload}_multipart_0ee994d6-84d3-4cd2-a572-8984692d259${upload}`;
      const srcs = Array.from({ length: 6 }, (_, i) => `${parts}/${i}.part`);
      const trg = `${parts}/file${upload}`;
      for (const src of [...srcs, trg]) await writeFile(client, src, src === trg ? 0 : 1);
      await client.call('ClientProtocol.concat', { trg, srcs });
      await client.call('ClientProtocol.rename2', { src: trg, dst: `/m/file${upload}`, overwriteDest: false });
      expect(await lengthOf(client, `/m/file${upload}`)).toBe(6 * BLOCK_BYTES);
    }
  });
});

describe('createSymlink', () => {
  prove('ClientProtocol.createSymlink', 'goes where its target is; NameNodes refuse it', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    await writeFile(await cluster.direct('ns1'), '/m1/t');
    const link = (target: string, at: string): Promise<object> =>
      client.call('ClientProtocol.createSymlink', { target, link: at, dirPerm: { perm: 0o755 }, createParent: true });
    expect(await refusal(link('/m/t', '/m/l'))).toBe('UnsupportedOperationException: Symlinks not supported');
    expect(await refusal(link('/m/none', '/one/l'))).toBe('UnsupportedOperationException: Symlinks not supported');
    expect(await arrivals(cluster, 'createSymlink')).toEqual(['ns1', 'ns1']);
    expect(await refusal(link('/m', '/m/l'))).toMatch(/^AccessControlException: .* is a mount point$/);
  });

  const APART = { mounts: ['/a=ns0:/a', '/b=ns1:/b'] };
  prove('ClientProtocol.createSymlink', 'between nameservices names both', APART, async (cluster) => {
    const client = await cluster.connect();
    const request = { target: '/a/t', link: '/b/l', dirPerm: { perm: 0o755 }, createParent: true };
    expect(await refusal(client.call('ClientProtocol.createSymlink', request))).toBe(
      'IOException: createSymlink of /a/t and /b/l is not allowed: /a/t is in nameservice ns0, /b/l in nameservice ns1',
    );
  });
});
