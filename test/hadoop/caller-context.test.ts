import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultProxy } from '../support/fault-proxy.ts';
import { RawClient } from '../support/raw-client.ts';
import { waitUntil } from '../support/wait.ts';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, Shell, startEndpoint } from './support.ts';

/** What the NameNodes' audit log says of who called: the client's address, port and ids, not the router's. */

const MOUNT = '/data1';

interface AuditLine {
  readonly user: string;
  readonly command: string;
  readonly source: string;
  readonly context: string;
}

function readAudit(line: string): AuditLine {
  const field = (name: string): string => new RegExp(`\\t${name}=([^\\t]*)`).exec(line)?.[1] ?? '';
  return {
    user: /ugi=(\S+)/.exec(line)?.[1] ?? '',
    command: field('cmd'),
    source: field('src'),
    context: field('callerContext'),
  };
}

let rig: Rig;
let endpoint: Endpoint;

beforeAll(async () => {
  // The audit log cuts contexts; the longest one here has to fit.
  rig = await Rig.start({
    mounts: [`${MOUNT}=ns1:/there`],
    conf: {
      'hadoop.caller.context.max.size': '512',
      'hadoop.proxyuser.oozie.hosts': '*',
      'hadoop.proxyuser.oozie.users': '*',
    },
  });
  await rig.makeTargets(['ns1:/there']);
  endpoint = await startEndpoint(rig);
});

afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
});

async function auditOf(source: string, command: string): Promise<AuditLine> {
  return await waitUntil(
    () =>
      rig
        .auditLines(`src=${source}\t`)
        .map(readAudit)
        .find((line) => line.command === command),
    `audit line of ${command} ${source}`,
  );
}

describe.skipIf(ENDPOINT === 'namenode')('the caller context in the audit log', () => {
  it('of a shell command: its port, its client id, its own context', async () => {
    // The proxy's far side is what the router sees as its client.
    await using proxy = await FaultProxy.start(endpoint);
    const seen: Buffer[] = [];
    proxy.toServer.onBytes = (bytes) => seen.push(Buffer.from(bytes));
    await using shell = await Shell.start(rig, `hdfs://127.0.0.1:${proxy.port}`);
    await shell.ok(['-mkdir', `${MOUNT}/by-shell`]);
    const line = await auditOf('/there/by-shell', 'mkdirs');
    const found = /^clientIp:127\.0\.0\.1,clientPort:(\d+),clientId:([0-9a-f]{32}),clientCallId:(\d+),CLI$/.exec(
      line.context,
    );
    expect(found, line.context).not.toBeNull();
    expect(proxy.outgoingPorts).toContain(Number(found?.[1]));
    expect(Buffer.concat(seen).includes(Buffer.from(found?.[2] ?? 'none', 'hex'))).toBe(true);
    expect(line.user).toBe(rig.up.user);
  });

  it('of a raw client: call id as sent, forged keys dropped, the rest kept', async () => {
    using client = await RawClient.connect(endpoint, { user: 'alice' });
    await makeOpen(`${MOUNT}/open`);
    await client.result({
      method: 'mkdirs',
      callId: 4711,
      request: { src: `${MOUNT}/open/by-alice`, masked: { perm: 0o755 }, createParent: true },
      header: { callerContext: { context: 'job_1,clientIp:6.6.6.6,clientPort:1,foo:bar,clientId:zz,clientCallId:9' } },
    });
    const line = await auditOf('/there/open/by-alice', 'mkdirs');
    const port = client.socket.localPort;
    const id = client.clientId.toString('hex');
    expect(line.context).toBe(`clientIp:127.0.0.1,clientPort:${port},clientId:${id},clientCallId:4711,job_1,foo:bar`);
    expect(line.user).toBe('alice');
  });

  it('of an impersonated user: the real user too', async () => {
    using client = await RawClient.connect(endpoint, { user: 'alice', realUser: 'oozie' });
    await makeOpen(`${MOUNT}/open2`);
    await client.result({
      method: 'mkdirs',
      callId: 5,
      request: { src: `${MOUNT}/open2/via-oozie`, masked: { perm: 0o755 }, createParent: true },
    });
    const line = await auditOf('/there/open2/via-oozie', 'mkdirs');
    expect(line.context).toContain(`,clientPort:${client.socket.localPort},`);
    expect(line.context).toMatch(/,clientCallId:5,realUser:oozie$/);
    expect(line.user).toBe('alice');
  });
});

async function makeOpen(path: string): Promise<void> {
  using client = await RawClient.connect(endpoint, { user: rig.up.user });
  await client.result({ method: 'mkdirs', request: { src: path, masked: { perm: 0o777 }, createParent: true } });
  await client.result({ method: 'setPermission', request: { src: path, permission: { perm: 0o777 } } });
}
