import type { RemoteError } from '../../src/control/rpc-client.ts';
import type { Plain } from '../../src/wire/messages.ts';
import type { MountRecord } from './inline-router.ts';
import type { MethodClient } from './method-cluster.ts';

/** `/m` lies in ns0:/m0 and ns1:/m1, by default with its directories in both. */
export function severalMount(order = 'HASH_ALL', more: object = {}): MountRecord {
  return {
    srcPath: '/m',
    destinations: [
      { nameserviceId: 'ns0', path: '/m0' },
      { nameserviceId: 'ns1', path: '/m1' },
    ],
    destOrder: order,
    ...more,
  };
}

export const CREATE = 1;
export const OVERWRITE = 2;

export function createRequest(src: string, more: object = {}): Plain {
  return {
    src,
    masked: { perm: 0o644 },
    clientName: 'writer',
    createFlag: CREATE,
    createParent: true,
    replication: 1,
    blockSize: 1024,
    cryptoProtocolVersion: [],
    ...more,
  };
}

export function mkdirsRequest(src: string, createParent = true, perm = 0o755): Plain {
  return { src, masked: { perm }, createParent };
}

/** File status of a path, null when there is none. */
export async function statusOf(client: MethodClient, src: string): Promise<Plain | null> {
  const { fs } = await client.call('ClientProtocol.getFileInfo', { src });
  return (fs as Plain | undefined) ?? null;
}

/** File type of a path in ns0 and in ns1, '' where there is none. */
export async function typesOf(clients: readonly MethodClient[], paths: readonly string[]): Promise<string[]> {
  const statuses = await Promise.all(clients.map((client, i) => statusOf(client, paths[i] ?? '')));
  return statuses.map((status) => (status === null ? '' : String(status['fileType'])));
}

/** The exception of a call that must fail: its class without package, and the first line of its text. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    const { className, text } = error as RemoteError;
    return `${className.slice(className.lastIndexOf('.') + 1)}: ${text.split('\n', 1)[0]}`;
  }
  throw new Error('the call was not refused');
}
