import { describe, expect, it } from 'vitest';
import { AdminClient } from '../../src/admin/client/admin-client.ts';
import { ADMIN_PROTOCOL } from '../../src/admin/messages.ts';
import { RpcError } from '../../src/control/rpc-client.ts';
import type { RpcCall, RpcMethod } from '../../src/control/rpc-server/call.ts';
import { RpcServer, type ServiceMethod } from '../../src/control/rpc-server/server.ts';
import { decode, encode, messageType } from '../../src/wire/messages.ts';
import { mountMessage } from '../support/admin-rig.ts';

type Caller = { readonly user: string };
type Answer = (call: RpcCall<RpcMethod, Caller>) => object | Promise<object>;

/** A router's admin port that answers as the test says, and a client of it. */
async function connect(answers: Readonly<Record<string, Answer>>): Promise<AsyncDisposable & { client: AdminClient }> {
  const all: Readonly<Record<string, Answer>> = { getSafeMode: () => ({ isInSafeMode: false }), ...answers };
  const methods = Object.entries(all).map(([name, answer]): [string, ServiceMethod<Caller>] => {
    const stem = `hadoop.hdfs.${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    const types = { request: messageType(`${stem}RequestProto`), response: messageType(`${stem}ResponseProto`) };
    return [name, { protocol: ADMIN_PROTOCOL, name, ...types, run: async (call) => await answer(call) }];
  });
  const server = new RpcServer<Caller>({
    host: '127.0.0.1',
    port: 0,
    maxFrameBytes: 1 << 20,
    idleMs: 60_000,
    services: new Map([[ADMIN_PROTOCOL, new Map(methods)]]),
    login: ({ user }) => Promise.resolve({ user }),
    onUnexpected: () => undefined,
  });
  await server.start();
  const client = await AdminClient.connect({
    addresses: [{ host: '127.0.0.1', port: server.port }],
    user: 'hdfs',
    connectTimeoutMs: 5_000,
    timeoutMs: 5_000,
    onUnreachable: () => undefined,
  });
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      client.close();
      await server.stop();
    },
  };
}

const RECORD = messageType('hadoop.hdfs.MountTableRecordProto');
/** Field 31 of a record, and order 9: both of a Hadoop that does not exist yet. */
const UNKNOWN = Buffer.from([0xfa, 0x01, 1, 0x7a]);
const UNKNOWN_ORDER = Buffer.from([0x30, 9]);

describe('the client of the admin protocol', () => {
  it('sends back with a changed entry what it does not know of it', async () => {
    const stored = Buffer.concat([
      encode(RECORD, { ...mountMessage('/x'), destOrder: undefined }),
      UNKNOWN,
      UNKNOWN_ORDER,
    ]);
    const sent: Buffer[] = [];
    await using router = await connect({
      getMountTableEntries: () => ({ entries: [decode(RECORD, stored)], timestamp: 1 }),
      updateMountTableEntry: ({ message }) => {
        sent.push(Buffer.from(message));
        return { status: true };
      },
    });
    const before = await router.client.findMount('/x');
    expect(before?.entry.order).toBe('HASH');
    if (before === null) return;
    expect(await router.client.updateMount({ ...before.entry, owner: 'bob' }, before)).toBe(true);
    expect(await router.client.updateMount({ ...before.entry, order: 'SPACE' }, before)).toBe(true);
    const [kept, changed] = sent;
    expect(kept?.includes(UNKNOWN)).toBe(true);
    expect(kept?.includes(UNKNOWN_ORDER)).toBe(true);
    expect(kept?.includes(Buffer.from('bob'))).toBe(true);
    expect(changed?.includes(UNKNOWN)).toBe(true);
    expect(changed?.includes(UNKNOWN_ORDER)).toBe(false);
  });

  it('takes an entry of exactly the path, and refuses one that is no record', async () => {
    await using router = await connect({
      getMountTableEntries: ({ message }) => ({
        entries: [decode(RECORD, encode(RECORD, mountMessage(message.includes(Buffer.from('/x')) ? '/x/deep' : '/y')))],
      }),
    });
    expect(await router.client.findMount('/x')).toBeNull();
    expect((await router.client.findMount('/y'))?.entry.sourcePath).toBe('/y');
    await using broken = await connect({
      getMountTableEntries: () => ({ entries: [decode(RECORD, Buffer.alloc(0))] }),
    });
    await expect(broken.client.readMounts('')).rejects.toThrow(RpcError);
  });
});
