import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, startEndpoint } from './support.ts';

/** The rig's probes: small programs of Hadoop's own classes that look at replies byte by byte. */

const MOUNT = '/data0';
const RETRY_CACHE_CHECKS = 10;
/** Hadoop's Router sends ids of its own, so that the NameNode cannot recognise a call that was sent twice. */
const RETRY_CACHE_CHECKS_OF_JAVA_ROUTER = 5;

/** NameNodes trust the ids in the caller context of these users only. The router's user is among them, or nobody is. */
describe.each([
  { name: 'without any setting of the NameNodes', trusted: 'nobody' },
  { name: 'with dfs.namenode.ip-proxy-users set', trusted: '' },
])('probes $name', ({ trusted }) => {
  let rig: Rig;
  let endpoint: Endpoint;

  beforeAll(async () => {
    const conf = trusted === '' ? {} : { 'dfs.namenode.ip-proxy-users': trusted };
    rig = await Rig.start({ mounts: [`${MOUNT}=ns0:${MOUNT}`, '/other=ns1:/renamed/target'], conf });
    await rig.makeTargets([`ns0:${MOUNT}`, 'ns1:/renamed/target']);
    endpoint = await startEndpoint(rig);
  });

  afterAll(async () => {
    await endpoint?.[Symbol.asyncDispose]();
    await rig?.[Symbol.asyncDispose]();
  });

  async function probe(name: string, path: string): Promise<{ failed: string[]; passed: number }> {
    const { out, err } = await rig.command(['probe', name, '--fs', endpoint.uri, '--path', path]);
    const lines = out.split('\n');
    const passed = lines.filter((line) => line.startsWith('PASS ')).length;
    if (!/^\d+ passed, \d+ failed$/m.test(out))
      throw new Error(`probe ${name} broke off\n${out}\n${err}\n${endpoint.log}`);
    return { failed: lines.filter((line) => line.startsWith('FAIL ')), passed };
  }

  it.each([MOUNT, ...(ENDPOINT === 'namenode' ? [] : ['/other'])])('retry-cache below %s', async (path) => {
    const { failed, passed } = await probe('retry-cache', path);
    if (ENDPOINT === 'java-router' && trusted !== '') {
      expect(passed).toBe(RETRY_CACHE_CHECKS_OF_JAVA_ROUTER);
    } else {
      expect(failed).toEqual([]);
      expect(passed).toBe(RETRY_CACHE_CHECKS);
    }
  });

  it('frames', async () => {
    const { failed, passed } = await probe('frames', MOUNT);
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(4);
  });

  it('users', async () => {
    const { failed, passed } = await probe('users', MOUNT);
    expect(failed).toEqual([]);
    expect(passed).toBeGreaterThan(7);
  });
});
