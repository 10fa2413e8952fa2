import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MAX_NAME_BYTES } from '../../src/client/connection-context.ts';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import {
  ByteClient,
  CLIENT_ID,
  CLIENT_PROTOCOL,
  callFrame,
  contextFrame,
  controlFrame,
  frameOf,
  headerOf,
  PREAMBLE,
  prefixOf,
  readReply,
  readResult,
  SASL_PREAMBLE,
  saslFrame,
} from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient } from '../support/raw-client.ts';
import { RouterProcess } from '../support/router-process.ts';
import { nextEvent } from '../support/wait.ts';
import { vector, withoutStateId } from '../wire/vectors.ts';

/** Every stimulus of the tables of preamble, context and fatal replies, on the client port of a real router process. */

const CONTEXT = contextFrame({ user: 'alice' });
const OPEN = Buffer.concat([PREAMBLE, CONTEXT]);
const LIMIT_BYTES = 134_217_728;

let namenode: EchoNameNode;
let router: RouterProcess;
/** Connected all the time: nothing that another client does may reach it. */
let honest: RawClient;

beforeAll(async () => {
  namenode = await EchoNameNode.start('nn');
  router = await RouterProcess.start({ nameservices: { ns0: [{ port: namenode.port }] }, mounts: ['/a=ns0:/a'] });
  honest = await RawClient.connect(router, { user: 'honest' });
});

afterAll(async () => {
  honest[Symbol.dispose]();
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

afterEach(async () => {
  const call = { method: 'getFileInfo', request: { src: '/a/honest' } };
  expect(await honest.result(call)).toMatchObject({ fs: { owner: '/a/honest' } });
  using another = await RawClient.connect(router, { user: 'another' });
  expect(await another.result(call)).toMatchObject({ fs: { owner: '/a/honest' } });
});

/** What the router answers to these bytes before it ends the connection; the same must come when they arrive one by one. */
async function lastWords(...parts: Buffer[]): Promise<Buffer> {
  using slow = await ByteClient.connect(router);
  await slow.sendSlowly(...parts);
  const slowly = await slow.whole();
  using client = await ByteClient.connect(router);
  client.send(...parts);
  const answer = await client.whole();
  expect(slowly).toEqual(answer);
  expect(client.ended).toBe('FIN');
  return answer;
}

function fatalOf(answer: Buffer): object {
  const { header, body } = readReply(answer);
  expect(body.length).toBe(0);
  expect(header).toMatchObject({ status: 'FATAL', serverIpcVersionNum: 9, clientId: Buffer.alloc(0) });
  const { callId, retryCount, exceptionClassName, errorDetail, errorMsg } = header;
  return { callId, retryCount, exceptionClassName, errorDetail, errorMsg };
}

function invalidHeader(callId: number, retryCount: number, errorMsg: unknown): object {
  return {
    callId,
    retryCount,
    exceptionClassName: 'org.apache.hadoop.ipc.RpcServerException',
    errorDetail: 'FATAL_INVALID_RPC_HEADER',
    errorMsg,
  };
}

const GARBAGE_HEADER = {
  callId: -1,
  retryCount: -1,
  exceptionClassName: 'org.apache.hadoop.ipc.RpcServerException',
  errorDetail: 'FATAL_DESERIALIZING_REQUEST',
  errorMsg: expect.stringMatching(/^Error decoding RpcRequestHeaderProto: /),
};

describe('preamble', () => {
  it.each([
    ['version 10', '687270630a0000', withoutStateId(vector('10-fatal-version-mismatch-v10'))],
    ['version 8', '68727063080000', vector('11-oldstyle-version-8')],
    ['auth byte 5', '68727063090005', withoutStateId(vector('12-fatal-unknown-auth'))],
    ['an HTTP GET', '474554202f20485454502f312e310d0a0d0a', vector('13-http-get-response')],
    ['version 0', '68727063000000', Buffer.alloc(0)],
    ['version 1', '68727063010000', Buffer.alloc(0)],
    ['version 128', '68727063800000', Buffer.alloc(0)],
    ['version 255', '68727063ff00df', Buffer.alloc(0)],
  ])('of %s', async (_, hex, answer) => {
    expect(await lastWords(Buffer.from(hex, 'hex'))).toEqual(answer);
  });

  it('of the versions 3 and 2', async () => {
    const eight = vector('11-oldstyle-version-8').toString('latin1');
    const three = await lastWords(Buffer.from('68727063030000', 'hex'));
    expect(three.toString('latin1')).toBe(eight.replace(/8$/, '3'));
    const two = await lastWords(Buffer.from('68727063020000', 'hex'));
    // i32 call id 0, a byte for "error", then the same two strings.
    expect(two.toString('latin1')).toBe(`\0\0\0\0\x01${eight.slice(8).replace(/8$/, '2')}`);
  });

  it.each([
    ['POST / ', 32],
    ['hrpc\x7f\0\0', 127],
    ['xxxx\x0a\0\0', 10],
    ['xxxx\x09\0\0', 9],
  ])('%j is told the version of its fifth byte', async (text, version) => {
    expect(fatalOf(await lastWords(Buffer.from(text, 'latin1')))).toEqual({
      callId: -1,
      retryCount: -1,
      exceptionClassName: 'org.apache.hadoop.ipc.RPC$VersionMismatch',
      errorDetail: 'FATAL_VERSION_MISMATCH',
      errorMsg: `Server IPC version 9 cannot communicate with client version ${version}`,
    });
  });

  it('may name any service class', async () => {
    using client = await ByteClient.connect(router);
    client.send(Buffer.from('hrpc\x09\x07\x00', 'latin1'), CONTEXT, callFrame({ callId: 7 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 7, status: 'SUCCESS' });
  });

  it('that ends early is closed without a word', async () => {
    using client = await ByteClient.connect(router);
    client.socket.end(PREAMBLE.subarray(0, 6));
    expect((await client.whole()).length).toBe(0);
  });
});

describe('context and calls', () => {
  const calls = [1, 2, 3].map((callId) => callFrame({ callId, path: `/a/${callId}` }));

  async function expectAnswers(client: ByteClient): Promise<void> {
    for (const callId of [1, 2, 3]) {
      const frame = await client.nextFrame();
      expect(readReply(frame).header).toEqual({
        callId,
        status: 'SUCCESS',
        serverIpcVersionNum: 9,
        clientId: CLIENT_ID,
        retryCount: 0,
      });
      expect(readResult(frame)).toMatchObject({ fs: { owner: `/a/${callId}` } });
    }
  }

  it('in one write with the preamble, as Java clients send them', async () => {
    using client = await ByteClient.connect(router);
    client.send(PREAMBLE, CONTEXT, ...calls);
    await expectAnswers(client);
  });

  it('byte by byte', async () => {
    using client = await ByteClient.connect(router);
    await client.sendSlowly(PREAMBLE, CONTEXT, ...calls);
    await expectAnswers(client);
  });

  it('cut in two anywhere', async () => {
    const bytes = Buffer.concat([PREAMBLE, CONTEXT, ...calls]);
    const probe = { method: 'getFileInfo', request: { src: '/a/probe' } };
    for (let cut = 1; cut < bytes.length; cut += cut < 16 ? 1 : 17) {
      using client = await ByteClient.connect(router);
      client.send(bytes.subarray(0, cut));
      // By then the router has read the first part.
      await honest.result(probe);
      client.send(bytes.subarray(cut));
      await expectAnswers(client);
    }
  });

  it('recorded from a Java client are served', async () => {
    using client = await ByteClient.connect(router);
    client.send(vector('01-preamble'), vector('02-connection-context'), vector('22-ping'));
    client.send(vector('05-mkdirs-request'));
    const { header } = readReply(await client.nextFrame());
    // Beside its ids the answer says why: nothing is mounted there and there is no default nameservice.
    expect(header).toMatchObject({
      callId: 6,
      status: 'ERROR',
      exceptionClassName: expect.stringMatching(/RouterResolveException$/),
    });
  });

  it('pings are not answered, before or after the context', async () => {
    using client = await ByteClient.connect(router);
    client.send(PREAMBLE, controlFrame(-4), CONTEXT, controlFrame(-4), vector('22-ping'), ...calls, controlFrame(-4));
    await expectAnswers(client);
    expect(namenode.calls.at(-1)?.user).toBe('alice');
  });

  it('a context without a user is refused', async () => {
    for (const context of [contextFrame({}), contextFrame({ user: '' }), controlFrame(-3, Buffer.from([0]))]) {
      expect(fatalOf(await lastWords(PREAMBLE, context, callFrame()))).toEqual({
        callId: -3,
        retryCount: -1,
        exceptionClassName: 'org.apache.hadoop.security.AccessControlException',
        errorDetail: 'FATAL_UNAUTHORIZED',
        errorMsg: 'The connection context names no user: SIMPLE authentication needs an effective user',
      });
    }
  });

  it.each([
    ['The effective user', (name: string) => ({ user: name })],
    ['The real user', (name: string) => ({ user: 'alice', realUser: name })],
    ['The protocol', (name: string) => ({ user: 'alice', protocol: name })],
  ])('a context whose names are too long is refused: %s', async (what, contextOf) => {
    // Two bytes a letter: it is bytes that count.
    const long = contextFrame(contextOf(`${'é'.repeat(MAX_NAME_BYTES / 2)}x`));
    const answer = fatalOf(await lastWords(PREAMBLE, long, callFrame()));
    expect(answer).toEqual({
      callId: -3,
      retryCount: -1,
      exceptionClassName: 'org.apache.hadoop.security.AccessControlException',
      errorDetail: 'FATAL_UNAUTHORIZED',
      errorMsg: `${what} of the connection context is too long: a name may have 4096 bytes`,
    });
    using client = await ByteClient.connect(router);
    client.send(PREAMBLE, contextFrame({ user: 'x'.repeat(MAX_NAME_BYTES) }), callFrame({ callId: 7 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 7, status: 'SUCCESS' });
  });

  it('a context that is longer than its names can be is not read', async () => {
    using client = await ByteClient.connect(router);
    client.send(PREAMBLE, contextFrame({ user: 'x'.repeat(1024 * 1024) }));
    expect(fatalOf(await client.whole())).toMatchObject({
      errorDetail: 'FATAL_UNAUTHORIZED',
      errorMsg: expect.stringMatching(/^The connection context of 1048\d+ bytes is too long/),
    });
  });

  it('a context that cannot be read is refused', async () => {
    const answer = await lastWords(PREAMBLE, controlFrame(-3, Buffer.from([3, 0x12, 5, 0x61])));
    expect(fatalOf(answer)).toMatchObject({ callId: -3, errorDetail: 'FATAL_DESERIALIZING_REQUEST' });
  });

  it('a second context is refused', async () => {
    const answer = await lastWords(OPEN, CONTEXT);
    expect(fatalOf(answer)).toEqual(invalidHeader(-3, -1, 'Connection context already processed'));
  });

  it('a call before the context is refused', async () => {
    expect(await lastWords(PREAMBLE, callFrame())).toEqual(withoutStateId(vector('17-fatal-no-context')));
  });
});

describe('request headers', () => {
  it.each([
    ['no operation', { rpcOp: undefined }, ' IPC Server: No rpc op in rpcRequestHeader'],
    ['CONTINUATION', { rpcOp: 'RPC_CONTINUATION_PACKET' }, ' IPC Server does not implement rpc header operation 1'],
    ['CLOSE', { rpcOp: 'RPC_CLOSE_CONNECTION' }, ' IPC Server does not implement rpc header operation 2'],
    ['no kind', { rpcKind: undefined }, ' IPC Server: No rpc kind in rpcRequestHeader'],
    ['BUILTIN', { rpcKind: 'RPC_BUILTIN' }, expect.stringMatching(/^Unknown rpc kind in rpc header/)],
    ['WRITABLE', { rpcKind: 'RPC_WRITABLE' }, expect.stringMatching(/^Unknown rpc kind in rpc header/)],
  ])('with %s', async (_, header, message) => {
    const answer = await lastWords(OPEN, callFrame({ callId: 11, header: { ...header, retryCount: 4 } }));
    expect(fatalOf(answer)).toEqual(invalidHeader(11, 4, message));
  });

  it.each([-2, -5, -34, -2_147_483_648])('with the call id %i', async (callId) => {
    const answer = await lastWords(OPEN, controlFrame(callId));
    expect(fatalOf(answer)).toEqual(invalidHeader(callId, -1, `Unknown out of band call #${callId}`));
  });

  it.each([
    ['nothing', prefixOf(0)],
    ['a truncated one', frameOf(Buffer.from([9, 8, 2, 16, 0]))],
    ['bytes that are none', frameOf(Buffer.from('0b7878787878787878787878', 'hex'))],
    ['one without a client id', frameOf(Buffer.from('06080210001800', 'hex'))],
  ])('%s instead', async (_, bytes) => {
    expect(fatalOf(await lastWords(OPEN, bytes))).toEqual(GARBAGE_HEADER);
  });

  it('a header in a form that no known client writes is understood', async () => {
    using client = await ByteClient.connect(router);
    // The call id twice, the second in more bytes than it needs: the last one counts.
    const header = Buffer.concat([Buffer.from('0802100018062200280018828000', 'hex')]);
    const names = { methodName: 'getFileInfo', declaringClassProtocolName: CLIENT_PROTOCOL, clientProtocolVersion: 1 };
    const call = frameOf(
      Buffer.from([header.length]),
      header,
      encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), names),
      encodeDelimited(messageType('hadoop.hdfs.GetFileInfoRequestProto'), { src: '/a/odd' }),
    );
    client.send(OPEN, call);
    const frame = await client.nextFrame();
    expect(readReply(frame).header).toMatchObject({ callId: 1, status: 'SUCCESS', clientId: Buffer.alloc(0) });
    expect(readResult(frame)).toMatchObject({ fs: { owner: '/a/odd' } });
  });
});

describe('frame lengths', () => {
  it.each([-1, -2_147_483_648, LIMIT_BYTES + 1, 2_147_483_647])('%i closes without a word', async (length) => {
    expect((await lastWords(OPEN, prefixOf(length))).length).toBe(0);
    expect((await lastWords(PREAMBLE, prefixOf(length))).length).toBe(0);
  });

  it('the limit itself waits for the bytes', async () => {
    using client = await ByteClient.connect(router);
    client.send(OPEN, callFrame(), prefixOf(LIMIT_BYTES), Buffer.from([0x1a]));
    await client.nextFrame();
    await honest.result({ method: 'getFileInfo', request: { src: '/a/b' } });
    expect(client.ended).toBe('');
  });
});

describe('calls that no NameNode is asked', () => {
  /** As recorded, but for the state id and the lines of Java's stack. */
  function withoutStack(name: string): object {
    const { stateId, errorMsg, ...header } = readReply(vector(name)).header;
    expect(stateId).toBe(6);
    return { ...header, errorMsg: String(errorMsg).split('\n')[0] };
  }

  it('unknown protocol, method and version are errors of the call alone', async () => {
    using client = await ByteClient.connect(router);
    const body = Buffer.from([0]);
    client.send(OPEN, callFrame({ callId: 1, protocol: 'org.nope.Proto', body }));
    client.send(callFrame({ callId: 2, method: 'noSuch', body }), callFrame({ callId: 3, version: 2 }));
    client.send(callFrame({ callId: 4 }));
    const replies = new Map<unknown, object>();
    for (let i = 0; i < 4; i++) {
      const { header } = readReply(await client.nextFrame());
      replies.set(header['callId'], header);
    }
    expect(replies.get(1)).toEqual(withoutStack('14-error-unknown-protocol'));
    expect(replies.get(2)).toEqual(withoutStack('15-error-unknown-method'));
    expect(replies.get(3)).toEqual(withoutStack('16-error-protocol-version'));
    expect(replies.get(4)).toMatchObject({ status: 'SUCCESS' });
  });

  it('a frame that ends behind its header is one too, in one piece or in many', async () => {
    const bare = frameOf(headerOf({ callId: 9 }));
    using client = await ByteClient.connect(router);
    client.send(OPEN, bare);
    await client.nextFrame();
    await client.sendSlowly(bare, callFrame({ callId: 10 }));
    const { header } = readReply(await client.nextFrame());
    expect(header).toMatchObject({ callId: 9, status: 'ERROR', errorDetail: 'ERROR_APPLICATION' });
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 10, status: 'SUCCESS' });
  });

  it('a request that is missing or cannot be read is an error of the call alone', async () => {
    using client = await ByteClient.connect(router);
    client.send(
      OPEN,
      callFrame({ callId: 1, body: Buffer.alloc(0) }),
      callFrame({ callId: 2, body: Buffer.from([0]) }),
    );
    client.send(callFrame({ callId: 3, body: Buffer.from([3, 0x0a, 9, 0x61]) }), callFrame({ callId: 4 }));
    for (const callId of [1, 2, 3]) {
      expect(readReply(await client.nextFrame()).header).toMatchObject({
        callId,
        status: 'ERROR',
        exceptionClassName: 'org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException',
        errorDetail: 'ERROR_APPLICATION',
        clientId: CLIENT_ID,
      });
    }
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 4, status: 'SUCCESS' });
  });
});

describe('SASL', () => {
  const NEGOTIATE = vector('20-sasl-negotiate-request');
  const SUCCESS = vector('30-sasl-success-simple-only-router');

  it('is answered with the order to go on without', async () => {
    using client = await ByteClient.connect(router);
    client.send(SASL_PREAMBLE, NEGOTIATE);
    expect(await client.nextFrame()).toEqual(SUCCESS);
    client.send(CONTEXT, callFrame({ callId: 5 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 5, status: 'SUCCESS' });
  });

  it('byte by byte, and with everything in one write', async () => {
    for (const send of ['send', 'sendSlowly'] as const) {
      using client = await ByteClient.connect(router);
      await client[send](SASL_PREAMBLE, NEGOTIATE, CONTEXT, callFrame({ callId: 5 }));
      expect(await client.nextFrame()).toEqual(SUCCESS);
      expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 5, status: 'SUCCESS' });
    }
  });

  it('a client that chooses SIMPLE by itself is not answered, and goes on', async () => {
    using client = await ByteClient.connect(router);
    client.send(SASL_PREAMBLE, vector('24-sasl-initiate-simple'), CONTEXT, callFrame({ callId: 5 }));
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 5, status: 'SUCCESS' });
  });

  it('another method is refused as a Java server refuses it', async () => {
    const auths = [{ method: 'KERBEROS', mechanism: 'GSSAPI', protocol: 'nn', serverId: 'host' }];
    const answer = await lastWords(SASL_PREAMBLE, saslFrame({ state: 'INITIATE', auths }));
    const recorded = fatalOf(vector('25-fatal-sasl-method-not-enabled'));
    expect(fatalOf(answer)).toEqual({
      ...recorded,
      errorMsg: 'KERBEROS authentication is not enabled.  Available:[SIMPLE]',
    });
  });

  it.each(['CHALLENGE', 'RESPONSE', 'WRAP', 'SUCCESS'])('%s is refused', async (state) => {
    expect(fatalOf(await lastWords(SASL_PREAMBLE, saslFrame({ state })))).toMatchObject({
      callId: -33,
      exceptionClassName: 'javax.security.sasl.SaslException',
      errorDetail: 'FATAL_UNAUTHORIZED',
    });
  });

  it('where it was not asked for, and after it has ended', async () => {
    const refused = invalidHeader(-33, -1, 'SASL protocol not requested by client');
    expect(fatalOf(await lastWords(PREAMBLE, NEGOTIATE))).toEqual(refused);
    expect(fatalOf(await lastWords(OPEN, NEGOTIATE))).toEqual(refused);
    const twice = await lastWords(SASL_PREAMBLE, NEGOTIATE, NEGOTIATE);
    expect(twice.subarray(0, SUCCESS.length)).toEqual(SUCCESS);
    expect(fatalOf(twice.subarray(SUCCESS.length))).toEqual(refused);
  });

  it('neither context nor call may come before it has ended', async () => {
    const context = await lastWords(SASL_PREAMBLE, CONTEXT);
    expect(fatalOf(context)).toEqual(invalidHeader(-3, -1, 'Connection header sent during SASL negotiation'));
    const call = await lastWords(SASL_PREAMBLE, callFrame());
    expect(fatalOf(call)).toEqual(invalidHeader(0, 0, 'Connection context not established'));
  });
});

describe('after the last answer', () => {
  it('the connection is closed even when its client leaves it open', async () => {
    using client = await ByteClient.connect(router);
    client.send(OPEN, CONTEXT);
    await client.whole();
    expect(client.ended).toBe('FIN');
    // Nobody reads there any more: the kernel says so when more is sent.
    const closed = nextEvent(client.socket, 'close', 'the router has closed its end');
    const more = setInterval(() => client.send(controlFrame(-4)), 20);
    await closed.finally(() => clearInterval(more));
  });

  it('answers of calls that came before it are written first', async () => {
    using client = await ByteClient.connect(router);
    client.send(OPEN, callFrame({ callId: 1, method: 'noSuch' }), headerOfGarbage());
    expect(readReply(await client.nextFrame()).header).toMatchObject({ callId: 1, status: 'ERROR' });
    expect(fatalOf(await client.nextFrame())).toEqual(GARBAGE_HEADER);
    await client.whole();
  });
});

function headerOfGarbage(): Buffer {
  return frameOf(Buffer.from([1]), headerOf({}));
}
