import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RemoteError, RpcClient } from '../../src/control/rpc-client.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { decodePlain, encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { within } from '../support/wait.ts';

const CLIENT_PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
const CLIENT_ID = Buffer.from('00112233445566778899aabbccddeeff', 'hex');

let simulator: Simulator;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ nameservices: ['ns0'], superuser: 'hdfs', maxFrameBytes: 1024 * 1024 });
  port = simulator.nameservices[0]!.namenodes[0]!.port;
});

afterAll(async () => {
  await simulator.close();
});

/** Sends bytes, in pieces of `pieceBytes`, and collects what comes back until the server closes or `enough` says so. */
async function exchange(
  bytes: Buffer,
  enough: (received: Buffer) => boolean = () => false,
  pieceBytes = bytes.length,
): Promise<Buffer> {
  const socket: Socket = connect({ host: '127.0.0.1', port, noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (enough(received)) socket.destroy();
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(received));
  for (let at = 0; at < bytes.length; at += pieceBytes) socket.write(bytes.subarray(at, at + pieceBytes));
  try {
    return await within(promise, 'the end of the connection');
  } finally {
    socket.destroy();
  }
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const PREAMBLE = hex('68727063090000');
const SASL_PREAMBLE = hex('687270630900df');

function frame(...parts: Buffer[]): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

function header(callId: number, more: object = {}): Buffer {
  return encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId,
    clientId: CLIENT_ID,
    retryCount: callId < 0 ? -1 : 0,
    ...more,
  });
}

function context(userInfo: object | undefined = { effectiveUser: 'alice' }): Buffer {
  const fields = { userInfo, protocol: CLIENT_PROTOCOL };
  return frame(header(-3), encodeDelimited(messageType('hadoop.common.IpcConnectionContextProto'), fields));
}

function call(callId: number, method: string, body: Buffer, protocol = CLIENT_PROTOCOL, version = 1): Buffer {
  const request = { methodName: method, declaringClassProtocolName: protocol, clientProtocolVersion: version };
  return frame(header(callId), encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), request), body);
}

const stateCall = (callId: number): Buffer => call(callId, 'getHAServiceState', hex('00'));

interface Reply {
  readonly callId: number;
  readonly status: string;
  readonly detail: unknown;
  readonly javaClass: unknown;
  readonly message: string;
  readonly clientId: Buffer;
  readonly retryCount: unknown;
}

function replies(bytes: Buffer): Reply[] {
  const found: Reply[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) break;
    const low = bytes[at + 4]!;
    const [start, length] = low < 0x80 ? [at + 5, low] : [at + 6, (low & 0x7f) | (bytes[at + 5]! << 7)];
    const plain = decodePlain(messageType('hadoop.common.RpcResponseHeaderProto'), bytes, start, start + length);
    found.push({
      callId: plain['callId'] as number,
      status: plain['status'] as string,
      detail: plain['errorDetail'],
      javaClass: plain['exceptionClassName'],
      message: String(plain['errorMsg'] ?? ''),
      clientId: plain['clientId'] as Buffer,
      retryCount: plain['retryCount'],
    });
    at = end;
  }
  return found;
}

const enoughReplies =
  (count: number) =>
  (received: Buffer): boolean =>
    replies(received).length >= count;

/** A frame as a NameNode without state ids sends it: recorded ones end with one. */
function withoutStateId(recorded: string): string {
  const bytes = hex(recorded);
  const length = bytes.readUInt32BE(0) - 2;
  const cut = Buffer.from(bytes.subarray(0, bytes.length - 2));
  cut.writeUInt32BE(length, 0);
  cut[4] = cut[4]! - 2;
  return cut.toString('hex');
}

describe('preamble', () => {
  it('version 10 and unknown auth bytes get the frames that NameNodes send', async () => {
    expect((await exchange(hex('687270630a0000'))).toString('hex')).toBe(
      withoutStateId(
        '0000007e7d08ffffffff0f1002180922296f72672e6170616368652e6861646f6f702e6970632e5250432456657273696f6e4d69736d617463682a3e536572766572204950432076657273696f6e20392063616e6e6f7420636f6d6d756e6963617465207769746820636c69656e742076657273696f6e203130300e3a0040014806',
      ),
    );
    expect((await exchange(hex('68727063090005'))).toString('hex')).toBe(
      withoutStateId(
        '000000504f08ffffffff0f1002180922226f72672e6170616368652e6861646f6f702e6970632e497063457863657074696f6e2a17556e6b6e6f776e20617574682070726f746f636f6c3a35300f3a0040014806',
      ),
    );
  });

  it('old versions and browsers are answered in their own way', async () => {
    expect((await exchange(hex('68727063080000'))).toString('hex')).toBe(
      'ffffffffffffffff000000296f72672e6170616368652e6861646f6f702e6970632e5250432456657273696f6e4d69736d617463680000003d536572766572204950432076657273696f6e20392063616e6e6f7420636f6d6d756e6963617465207769746820636c69656e742076657273696f6e2038',
    );
    expect((await exchange(hex('68727063020000'))).toString('hex').slice(0, 10)).toBe('0000000001');
    expect(await exchange(hex('68727063000000'))).toHaveLength(0);
    expect((await exchange(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toString()).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    expect(replies(await exchange(Buffer.from('POST / HTTP/1.1\r\n\r\n')))[0]).toMatchObject({ status: 'FATAL' });
  });
});

describe('frames', () => {
  it.each([1, 3, 1000])('are read in pieces of %i bytes', async (pieceBytes) => {
    const sent = Buffer.concat([PREAMBLE, context(), stateCall(1), frame(header(-4)), stateCall(2)]);
    const received = await exchange(sent, enoughReplies(2), pieceBytes);
    expect(replies(received)).toMatchObject([
      { callId: 1, status: 'SUCCESS', clientId: CLIENT_ID, retryCount: 0 },
      { callId: 2, status: 'SUCCESS' },
    ]);
  });

  it('of wrong length close the connection without a word', async () => {
    expect(await exchange(Buffer.concat([PREAMBLE, hex('ffffffff')]))).toHaveLength(0);
    expect(await exchange(Buffer.concat([PREAMBLE, hex('00100001')]))).toHaveLength(0);
  });

  const RPC_SERVER = 'org.apache.hadoop.ipc.RpcServerException';
  it.each([
    ['an empty frame', hex('00000000'), -1, 'FATAL_DESERIALIZING_REQUEST', 'Error decoding RpcRequestHeaderProto: '],
    [
      'garbage',
      frame(hex('05ffffffffff')),
      -1,
      'FATAL_DESERIALIZING_REQUEST',
      'Error decoding RpcRequestHeaderProto: ',
    ],
    ['a call without context', stateCall(0), 0, 'FATAL_INVALID_RPC_HEADER', 'Connection context not established'],
    [
      'a second context',
      Buffer.concat([context(), context()]),
      -3,
      'FATAL_INVALID_RPC_HEADER',
      'Connection context already',
    ],
    [
      'an unknown negative id',
      Buffer.concat([context(), frame(header(-7))]),
      -7,
      'FATAL_INVALID_RPC_HEADER',
      'Unknown out of band call #-7',
    ],
    ['SASL unasked', frame(header(-33)), -33, 'FATAL_INVALID_RPC_HEADER', 'SASL protocol not requested by client'],
    [
      'another rpc kind',
      frame(header(1, { rpcKind: 'RPC_WRITABLE' })),
      1,
      'FATAL_INVALID_RPC_HEADER',
      'Unknown rpc kind in rpc header',
    ],
    [
      'a header without op',
      frame(header(1, { rpcOp: undefined })),
      1,
      'FATAL_INVALID_RPC_HEADER',
      'IPC Server: No rpc op',
    ],
  ])('%s is fatal', async (_name, bytes, callId, detail, message) => {
    const [reply] = replies(await exchange(Buffer.concat([PREAMBLE, bytes])));
    expect(reply).toMatchObject({ callId, status: 'FATAL', detail, javaClass: RPC_SERVER, clientId: Buffer.alloc(0) });
    expect(reply!.message).toContain(message);
  });

  it.each([
    [
      'protocol',
      call(1, 'x', hex('00'), 'org.nope.Proto'),
      'ERROR_NO_SUCH_PROTOCOL',
      'Unknown protocol: org.nope.Proto',
    ],
    [
      'method',
      call(1, 'noSuch', hex('00')),
      'ERROR_NO_SUCH_METHOD',
      `Unknown method noSuch called on ${CLIENT_PROTOCOL} protocol.`,
    ],
    [
      'version',
      call(1, 'mkdirs', hex('00'), CLIENT_PROTOCOL, 2),
      'ERROR_RPC_VERSION_MISMATCH',
      `Protocol ${CLIENT_PROTOCOL} version mismatch. (client = 2, server = 1)`,
    ],
  ])('an unknown %s leaves the connection open', async (_name, bytes, detail, message) => {
    const received = await exchange(Buffer.concat([PREAMBLE, context(), bytes, stateCall(2)]), enoughReplies(2));
    const [refused, served] = replies(received).sort((a, b) => a.callId - b.callId);
    expect(refused).toMatchObject({ callId: 1, status: 'ERROR', detail, clientId: CLIENT_ID });
    expect(refused!.message.split('\n')[0]).toBe(message);
    expect(served).toMatchObject({ callId: 2, status: 'SUCCESS' });
  });

  it('a message that cannot be parsed is the call’s own error', async () => {
    const received = await exchange(
      Buffer.concat([PREAMBLE, context(), call(3, 'mkdirs', hex('00'))]),
      enoughReplies(1),
    );
    expect(replies(received)[0]).toMatchObject({
      status: 'ERROR',
      detail: 'ERROR_APPLICATION',
      javaClass: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
    });
  });

  it('exceptions look like Java’s: a message, then a stack', async () => {
    const body = encodeDelimited(messageType('hadoop.hdfs.GetContentSummaryRequestProto'), { path: '/none' });
    const received = await exchange(
      Buffer.concat([PREAMBLE, context(), call(4, 'getContentSummary', body)]),
      enoughReplies(1),
    );
    expect(replies(received)[0]!.message).toMatch(/^File does not exist: \/none\n\tat [^\n]+\n$/);
  });
});

describe('SASL', () => {
  const NEGOTIATE = hex('0000000e0a08021000184122002801021001');
  const INITIATE_SIMPLE = hex('0000001a0a080210001841220028010e1002220a0a0653494d504c451200');

  it('offers tokens and SIMPLE, and goes on without an answer once SIMPLE is chosen', async () => {
    const sent = Buffer.concat([SASL_PREAMBLE, NEGOTIATE, INITIATE_SIMPLE, context(), stateCall(1)]);
    const received = await exchange(sent, enoughReplies(2));
    expect(replies(received)).toMatchObject([
      { callId: -33, status: 'SUCCESS', clientId: Buffer.alloc(0), retryCount: -1 },
      { callId: 1, status: 'SUCCESS' },
    ]);
    const offer = received.subarray(0, 4 + received.readUInt32BE(0));
    const sasl = offer.subarray(5 + offer[4]!);
    expect(decodePlain(messageType('hadoop.common.RpcSaslProto'), sasl, 2, sasl.length)).toMatchObject({
      state: 'NEGOTIATE',
      auths: [
        { method: 'TOKEN', mechanism: 'DIGEST-MD5', serverId: 'default' },
        { method: 'SIMPLE', mechanism: '' },
      ],
    });
  });

  it('refuses contexts before its end, other methods, and negotiating twice', async () => {
    const early = replies(await exchange(Buffer.concat([SASL_PREAMBLE, context()])));
    expect(early[0]).toMatchObject({ callId: -3, status: 'FATAL', detail: 'FATAL_INVALID_RPC_HEADER' });
    const twice = replies(await exchange(Buffer.concat([SASL_PREAMBLE, NEGOTIATE, NEGOTIATE])));
    expect(twice[1]).toMatchObject({ status: 'FATAL', detail: 'FATAL_UNAUTHORIZED' });
    const auths = [{ method: 'KERBEROS', mechanism: 'GSSAPI' }];
    const kerberos = frame(
      header(-33),
      encodeDelimited(messageType('hadoop.common.RpcSaslProto'), { state: 'INITIATE', auths }),
    );
    expect(replies(await exchange(Buffer.concat([SASL_PREAMBLE, NEGOTIATE, kerberos])))[1]).toMatchObject({
      status: 'FATAL',
      javaClass: 'org.apache.hadoop.security.AccessControlException',
      message: 'KERBEROS authentication is not enabled.  Available:[TOKEN, SIMPLE]',
    });
  });
});

describe('identity', () => {
  it('takes the effective user, and lets only proxy users act for others', async () => {
    const mkdirs = async (user: string, realUser?: string): Promise<unknown> => {
      using client = await RpcClient.connect({ host: '127.0.0.1', port, user, realUser });
      return await client.call(
        CLIENT_PROTOCOL,
        'mkdirs',
        'hadoop.hdfs.MkdirsRequestProto',
        'hadoop.hdfs.MkdirsResponseProto',
        {
          src: `/of-${user.replace(/[@/].*/, '')}`,
          masked: { perm: 0o755 },
          createParent: true,
        },
      );
    };
    await mkdirs('hdfs/host@EXAMPLE.COM');
    await expect(mkdirs('alice')).rejects.toThrow('Permission denied: user=alice, access=WRITE, inode="/":hdfs');
    await expect(mkdirs('alice', 'hdfs')).rejects.toThrow('Permission denied: user=alice');
    await expect(mkdirs('alice', 'mallory')).rejects.toThrow('User: mallory is not allowed to impersonate alice');
    const calls = await simulator.control({ op: 'calls', method: 'mkdirs' });
    expect(calls.map((one) => [one.user, one.realUser, one.path])).toEqual([
      ['hdfs', '', '/of-hdfs'],
      ['alice', '', '/of-alice'],
      ['alice', 'hdfs', '/of-alice'],
    ]);
  });

  it('logs what the header said', async () => {
    using client = await RpcClient.connect({ host: '127.0.0.1', port, user: 'hdfs', clientId: CLIENT_ID });
    const asked = client.call(
      CLIENT_PROTOCOL,
      'delete',
      'hadoop.hdfs.DeleteRequestProto',
      'hadoop.hdfs.DeleteResponseProto',
      { src: '/nothing', recursive: false },
      {
        callId: 77,
        retryCount: 3,
        callerContext: 'clientIp:10.0.0.9',
        signature: Buffer.from([1, 2]),
        stateId: -(2n ** 63n),
      },
    );
    await asked;
    const [logged] = await simulator.control({ op: 'calls', path: '/nothing' });
    expect(logged).toMatchObject({
      callId: 77,
      retryCount: 3,
      clientId: CLIENT_ID.toString('hex'),
      callerContext: 'clientIp:10.0.0.9',
      callerSignature: '0102',
      stateId: '-9223372036854775808',
      executed: true,
      exception: '',
    });
  });

  it('errors reach a client with class, detail and text', async () => {
    using client = await RpcClient.connect({ host: '127.0.0.1', port, user: 'hdfs' });
    const failed = await client
      .call(
        CLIENT_PROTOCOL,
        'getFileInfo',
        'hadoop.hdfs.GetFileInfoRequestProto',
        'hadoop.hdfs.GetFileInfoResponseProto',
        {
          src: 'rel',
        },
      )
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RemoteError);
    expect(failed).toMatchObject({ className: 'java.lang.AssertionError', detail: 'ERROR_APPLICATION', fatal: false });
  });
});
