import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ADMIN_PROTOCOL, GENERIC_REFRESH_PROTOCOL, META_PROTOCOL } from '../../src/admin/messages.ts';
import { RemoteError } from '../../src/control/rpc-client.ts';
import { encode, encodeDelimited, messageType, serviceType } from '../../src/wire/messages.ts';
import { AdminRig, mountMessage, ROUTER_USER } from '../support/admin-rig.ts';
import { nextEvent } from '../support/wait.ts';

const METHODS = Object.values(serviceType('hadoop.hdfs.router.RouterAdminProtocolService').methods);
const PREAMBLE = Buffer.from('68727063090000', 'hex');
const LIMITS = { numRuns: 150, interruptAfterTimeLimit: 20_000 };

function frame(...parts: Buffer[]): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

function header(callId: number): Buffer {
  return encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId,
    clientId: Buffer.alloc(16, 1),
    retryCount: 0,
  });
}

const CONTEXT = frame(
  header(-3),
  encodeDelimited(messageType('hadoop.common.IpcConnectionContextProto'), {
    userInfo: { effectiveUser: ROUTER_USER },
    protocol: ADMIN_PROTOCOL,
  }),
);

function call(protocol: string, methodName: string, body: Uint8Array): Buffer {
  const request = encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), {
    methodName,
    declaringClassProtocolName: protocol,
    clientProtocolVersion: 1,
  });
  return frame(header(0), request, Buffer.from([body.length & 0x7f]), Buffer.from(body));
}

/** Sends bytes and waits until the server has closed the connection, which the end of what is sent makes it do. */
async function send(rig: AdminRig, bytes: Buffer): Promise<void> {
  const socket = connect(rig.administration.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  const closed = nextEvent(socket, 'close', 'the end of the connection');
  socket.end(bytes);
  await closed;
}

async function works(rig: AdminRig): Promise<void> {
  expect(await rig.call(ROUTER_USER, 'getSafeMode')).toHaveProperty('isInSafeMode');
}

it('whatever bytes come, the admin port goes on', async () => {
  await using rig = await AdminRig.start();
  const bytes = fc.uint8Array({ maxLength: 400 });
  const method = fc.constantFrom(...METHODS.map(({ name }) => name), 'refresh', 'getProtocolVersions', 'nope');
  const protocol = fc.constantFrom(ADMIN_PROTOCOL, GENERIC_REFRESH_PROTOCOL, META_PROTOCOL);
  const streams = fc.oneof(
    bytes.map((each) => Buffer.from(each)),
    bytes.map((each) => Buffer.concat([PREAMBLE, each])),
    bytes.map((each) => Buffer.concat([PREAMBLE, frame(Buffer.from(each))])),
    bytes.map((each) => Buffer.concat([PREAMBLE, CONTEXT, frame(Buffer.from(each))])),
    fc
      .tuple(protocol, method, fc.uint8Array({ maxLength: 127 }))
      .map(([of, name, body]) => Buffer.concat([PREAMBLE, CONTEXT, call(of, name, body)])),
  );
  await fc.assert(
    fc.asyncProperty(streams, async (stream) => await send(rig, stream)),
    LIMITS,
  );
  await works(rig);
  expect(rig.lines.filter((line) => line.includes('a call failed'))).toEqual([]);
});

it('records with any values are stored or refused, and what is stored can be listed', async () => {
  await using rig = await AdminRig.start();
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('/', '/a', '/a/b', '//x', '/x/', '/..', '/a_b', '/a:b'),
  );
  const record = fc.record(
    {
      srcPath: text,
      destinations: fc.array(fc.record({ nameserviceId: text, path: text }, { requiredKeys: [] }), { maxLength: 3 }),
      dateCreated: fc.maxSafeInteger(),
      dateModified: fc.maxSafeInteger(),
      destOrder: fc.constantFrom('HASH', 'LOCAL', 'RANDOM', 'HASH_ALL', 'SPACE'),
      faultTolerant: fc.boolean(),
      ownerName: text,
      groupName: text,
      mode: fc.integer(),
    },
    { requiredKeys: ['destinations'] },
  );
  const method = fc.constantFrom('addMountTableEntry', 'updateMountTableEntry');
  const type = messageType('hadoop.hdfs.MountTableRecordProto');
  await fc.assert(
    fc.asyncProperty(method, record, fc.boolean(), async (name, given, plausible) => {
      const entry = plausible ? { ...mountMessage('/p'), ...given } : given;
      // Lone surrogates do not survive the wire.
      encode(type, entry);
      try {
        await rig.call(ROUTER_USER, name, { entry });
      } catch (error) {
        if (!(error instanceof RemoteError)) throw error;
        expect(error.fatal).toBe(false);
      }
      const { entries } = await rig.call(ROUTER_USER, 'getMountTableEntries', { srcPath: '/' });
      expect(entries).toHaveLength(rig.store?.records('MountTable').size ?? -1);
    }),
    LIMITS,
  );
  expect(rig.lines.filter((line) => line.includes('a call failed'))).toEqual([]);
  // Another router can read all of it.
  expect(await rig.call(ROUTER_USER, 'refreshMountTableEntries')).toEqual({ result: true });
  expect(rig.store?.problems).toEqual([]);
});
