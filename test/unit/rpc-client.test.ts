import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { MAX_OUTSTANDING_CALLS, RemoteError, RpcClient, RpcError } from '../../src/control/rpc-client.ts';
import { encodeDelimited, MessageError, messageType, type Plain, readDelimited } from '../../src/wire/messages.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import {
  bodyOf,
  CLIENT_ID,
  CLIENT_PROTOCOL,
  failure,
  framed,
  type Request,
  readRequest,
  type Script,
  ScriptedServer,
  statusOf,
  success,
} from '../support/scripted-rpc-server.ts';

const CONTEXT_CALL_ID = -3;

const opened: Disposable[] = [];
afterEach(() => disposeOpened(opened));

async function listen(script: Script): Promise<ScriptedServer> {
  const server = await ScriptedServer.listen(script);
  opened.push(server);
  return server;
}

function vector(name: string): Buffer {
  return Buffer.from(readFileSync(new URL(`frames/${name}.hex`, import.meta.url), 'utf8').trim(), 'hex');
}

/** A captured answer made the answer to another call; its client id is left out. */
function answer(name: string, request: Request): Buffer {
  const frame = vector(name).subarray(4);
  const type = messageType('hadoop.common.RpcResponseHeaderProto');
  const { message, next } = readDelimited(type, frame);
  const { callId, retryCount } = request.header;
  const header = { ...message, callId, retryCount, clientId: undefined };
  return framed([encodeDelimited(type, header), frame.subarray(next)]);
}

function getFileInfo(
  client: RpcClient,
  options: object = {},
  src = '/data',
): Promise<{ response: Plain; header: object }> {
  const stem = 'hadoop.hdfs.GetFileInfo';
  return client.call(CLIENT_PROTOCOL, 'getFileInfo', `${stem}RequestProto`, `${stem}ResponseProto`, { src }, options);
}

describe('bytes', () => {
  it('preamble, context and call are those of a Java client; its answer is read', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(vector('04-getFileInfo-response'));
    });
    const client = await server.connect();
    const { response, header } = await getFileInfo(client, { callId: 5 });
    expect(server.preambles).toEqual([vector('01-preamble')]);
    expect(server.requests.map((request) => request.frame.toString('hex'))).toEqual([
      vector('02-connection-context').toString('hex'),
      vector('03-getFileInfo-request').toString('hex'),
    ]);
    expect(response).toMatchObject({ fs: { fileType: 'IS_DIR', owner: 'root', fileId: 16386 } });
    expect(header).toMatchObject({ callId: 5, status: 'SUCCESS', stateId: 5, retryCount: 0 });
    expect(client.unknownReplies).toBe(0);
  });

  it('caller context and state id are those of a Java router', async () => {
    const expected = vector('23-router-to-namenode-mkdirs-request');
    const { header } = readRequest(expected);
    const { context } = header['callerContext'] as { context: string };
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(success(request, 'hadoop.hdfs.MkdirsResponseProto', { result: true }));
    });
    const client = await server.connect({ clientId: header['clientId'] as Buffer });
    const stem = 'hadoop.hdfs.Mkdirs';
    const { response } = await client.call<{ result: boolean }>(
      CLIENT_PROTOCOL,
      'mkdirs',
      `${stem}RequestProto`,
      `${stem}ResponseProto`,
      { src: '/dest/x', masked: { perm: 0o755 }, createParent: true },
      { callerContext: context, stateId: -(2n ** 63n) },
    );
    expect(response.result).toBe(true);
    expect(server.requests[1]!.frame.toString('hex')).toBe(expected.toString('hex'));
  });

  it('retry count, signature and federated state', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(answer('04-getFileInfo-response', request));
    });
    const client = await server.connect({ realUser: 'router' });
    await getFileInfo(client, {
      retryCount: 3,
      callerContext: 'CLI',
      signature: Buffer.from('sig'),
      federatedState: { ns0: 50 },
    });
    expect(server.requests[1]!.header).toMatchObject({
      callId: 0,
      retryCount: 3,
      callerContext: { context: 'CLI', signature: Buffer.from('sig') },
      routerFederatedState: Buffer.from('0a070a036e73301032', 'hex'),
    });
    expect(bodyOf(server.requests[0]!, 'hadoop.common.IpcConnectionContextProto')).toEqual({
      userInfo: { effectiveUser: 'alice', realUser: 'router' },
      protocol: CLIENT_PROTOCOL,
    });
  });

  it.each([1, 3, 1000])('answers in pieces of %i bytes, two in one stream', async (size) => {
    const server = await listen((request, socket) => {
      if (server.requests.length < 3) return;
      const answers = server.requests.slice(1).map((each) => answer('04-getFileInfo-response', each));
      const all = Buffer.concat(answers.reverse());
      expect(request.method).toBe('getFileInfo');
      for (let at = 0; at < all.length; at += size) {
        socket.write(all.subarray(at, at + size));
      }
    });
    const client = await server.connect();
    const replies = await Promise.all([getFileInfo(client), getFileInfo(client)]);
    expect(replies.map((reply) => reply.header)).toMatchObject([{ callId: 0 }, { callId: 1 }]);
    const [first, second] = replies;
    expect(first!.response).toEqual(second!.response);
  });
});

describe('SASL', () => {
  it('a server that switches to SIMPLE', async () => {
    const server = await listen((request, socket) => {
      if (request.header['callId'] === -33) socket.write(vector('30-sasl-success-simple-only-router'));
      if (request.method !== '') socket.write(answer('04-getFileInfo-response', request));
    });
    const client = await server.connect({ sasl: true });
    await getFileInfo(client);
    expect(server.preambles[0]!.toString('hex')).toBe('687270630900df');
    expect(server.requests[0]!.frame).toEqual(vector('20-sasl-negotiate-request'));
    expect(server.requests.map((request) => request.header['callId'])).toEqual([-33, CONTEXT_CALL_ID, 0]);
  });

  it('a NameNode that offers SIMPLE among others', async () => {
    const server = await listen((request, socket) => {
      if (server.requests.length === 1) socket.write(vector('21-sasl-negotiate-response-simple-plus-token'));
      if (request.method !== '') socket.write(answer('04-getFileInfo-response', request));
    });
    const client = await server.connect({ sasl: true });
    await getFileInfo(client);
    expect(server.requests[1]!.frame.toString('hex')).toBe(vector('24-sasl-initiate-simple').toString('hex'));
    expect(server.requests.map((request) => request.header['callId'])).toEqual([-33, -33, CONTEXT_CALL_ID, 0]);
  });

  it('a challenge of the offer is not sent back', async () => {
    const auth = { method: 'SIMPLE', mechanism: '' };
    const server = await listen((request, socket) => {
      const offer = { state: 'NEGOTIATE', auths: [{ ...auth, challenge: Buffer.from('c') }] };
      if (server.requests.length === 1) socket.write(success(request, 'hadoop.common.RpcSaslProto', offer));
      if (request.method !== '') socket.write(answer('04-getFileInfo-response', request));
    });
    await getFileInfo(await server.connect({ sasl: true }));
    expect(bodyOf(server.requests[1]!, 'hadoop.common.RpcSaslProto')).toEqual({ state: 'INITIATE', auths: [auth] });
  });

  it('a server without SIMPLE, and one that answers with an exception', async () => {
    const kerberos = await listen((request, socket) => {
      const auths = [{ method: 'KERBEROS', mechanism: 'GSSAPI' }];
      socket.write(success(request, 'hadoop.common.RpcSaslProto', { state: 'NEGOTIATE', auths }));
    });
    const refused = await failure(kerberos.connect({ sasl: true }));
    expect(refused).toMatchObject({
      code: 'REFUSED',
      message: expect.stringContaining('no SIMPLE authentication, only KERBEROS'),
    });
    const fatal = await listen((_request, socket) => {
      socket.write(vector('25-fatal-sasl-method-not-enabled'));
    });
    const error = await failure(fatal.connect({ sasl: true }));
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ fatal: true, detail: 'FATAL_UNAUTHORIZED' });
  });

  it('a server that never answers', async () => {
    const server = await listen(() => undefined);
    const error = await failure(server.connect({ sasl: true, connectTimeoutMs: 30 }));
    expect(error).toMatchObject({
      name: 'RpcError',
      code: 'TIMEOUT',
      message: expect.stringContaining(`127.0.0.1:${server.port}`),
    });
  });
});

describe('exceptions of the server', () => {
  it.each([
    [
      '08-error-FileNotFound-response',
      'java.io.FileNotFoundException',
      'ERROR_APPLICATION',
      /: File does not exist: \/data\/none$/,
    ],
    [
      '09-error-Standby-response',
      'org.apache.hadoop.ipc.StandbyException',
      'ERROR_APPLICATION',
      /not supported in state standby/,
    ],
    [
      '15-error-unknown-method',
      'org.apache.hadoop.ipc.RpcNoSuchMethodException',
      'ERROR_NO_SUCH_METHOD',
      /Unknown method/,
    ],
    ['18-error-observer-no-stateid', 'org.apache.hadoop.ipc.StandbyException', 'ERROR_RPC_SERVER', /without stateId/],
  ])('%s', async (name, className, detail, text) => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(answer(name, request));
    });
    const client = await server.connect();
    const error = await failure(getFileInfo(client));
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ className, detail, status: 'ERROR', fatal: false });
    expect(error.message).toMatch(text);
    expect(error.message).not.toContain('\n');
    expect(client.isClosed).toBe(false);
  });

  it('a FATAL answer fails every call, and later ones say why', async () => {
    const server = await listen((_request, socket) => {
      if (server.requests.length === 3) socket.write(vector('27-fatal-call-queue-overflow'));
    });
    const client = await server.connect();
    const errors = await Promise.all([failure(getFileInfo(client)), failure(getFileInfo(client))]);
    for (const error of errors) {
      expect(error).toMatchObject({ className: 'org.apache.hadoop.ipc.RetriableException', fatal: true });
    }
    expect(client.isClosed).toBe(true);
    const later = await failure(getFileInfo(client));
    expect(later).toMatchObject({ name: 'RpcError', code: 'CLOSED', cause: errors[0] });
    expect(later.message).toContain('RetriableException');
  });
});

describe('answers and their calls', () => {
  it('in any order; unknown ones are dropped and counted', async () => {
    const server = await listen((_request, socket) => {
      if (server.requests.length !== 4) return;
      const [, first, second, third] = server.requests;
      const stranger = { ...second!, header: { ...second!.header, callId: 77 } };
      for (const request of [third!, stranger, first!, first!, second!]) {
        const status = { ...statusOf('/x'), fileId: request.header['callId'] };
        socket.write(success(request, 'hadoop.hdfs.GetFileInfoResponseProto', { fs: status }));
      }
    });
    const client = await server.connect();
    const replies = await Promise.all([getFileInfo(client), getFileInfo(client), getFileInfo(client)]);
    expect(replies.map((reply) => reply.response)).toMatchObject([
      { fs: { fileId: 0 } },
      { fs: { fileId: 1 } },
      { fs: { fileId: 2 } },
    ]);
    expect(client.unknownReplies).toBe(2);
  });

  it('one call id twice: told apart by the retry count', async () => {
    const server = await listen((_request, socket) => {
      if (server.requests.length !== 3) return;
      for (const request of server.requests.slice(1).reverse()) {
        const status = { ...statusOf('/x'), fileId: 100 + (request.header['retryCount'] as number) };
        socket.write(success(request, 'hadoop.hdfs.GetFileInfoResponseProto', { fs: status }));
      }
    });
    const client = await server.connect();
    const replies = await Promise.all([0, 1].map((retryCount) => getFileInfo(client, { callId: 9, retryCount })));
    expect(replies.map((reply) => reply.response)).toMatchObject([{ fs: { fileId: 100 } }, { fs: { fileId: 101 } }]);
  });

  it('a late answer does not disturb the next call', async () => {
    let socketOfServer: Socket | undefined;
    const server = await listen((request, socket) => {
      socketOfServer = socket;
      if (server.requests.length === 3) {
        const late = { ...statusOf('/late'), owner: 'late' };
        socket.write(success(server.requests[1]!, 'hadoop.hdfs.GetFileInfoResponseProto', { fs: late }));
        socket.write(answer('04-getFileInfo-response', request));
      }
    });
    const client = await server.connect();
    const error = await failure(getFileInfo(client, { timeoutMs: 20 }));
    expect(error).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/getFileInfo on 127\.0\.0\.1:\d+: no answer within 20 ms/),
    });
    const { response } = await getFileInfo(client);
    expect(response).toMatchObject({ fs: { owner: 'root' } });
    expect(client.unknownReplies).toBe(1);
    expect(socketOfServer!.destroyed).toBe(false);
  });

  it('the answer to another client closes the connection', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(vector('04-getFileInfo-response'));
    });
    const client = await server.connect({ clientId: Buffer.alloc(16, 7) });
    expect(await failure(getFileInfo(client, { callId: 5 }))).toMatchObject({
      code: 'MALFORMED',
      message: expect.stringContaining(CLIENT_ID.toString('hex')),
    });
  });
});

describe('connections that end', () => {
  it('closed by the server', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.end();
    });
    const client = await server.connect();
    const errors = await Promise.all([failure(getFileInfo(client)), failure(getFileInfo(client))]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('closed by the server') });
    }
  });

  it('reset by the server, in the middle of an answer', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') {
        socket.write(vector('04-getFileInfo-response').subarray(0, 20), () => socket.resetAndDestroy());
      }
    });
    const client = await server.connect();
    expect(await failure(getFileInfo(client, { callId: 5 }))).toMatchObject({ name: 'RpcError', code: 'CLOSED' });
  });

  it('closed here', async () => {
    const server = await listen(() => undefined);
    const client = await server.connect();
    const pending = failure(getFileInfo(client));
    client.close();
    expect(await pending).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('on this side') });
    expect(await failure(getFileInfo(client))).toMatchObject({ code: 'CLOSED' });
  });

  it.each([
    ['a frame above the limit', Buffer.from('7fffffff', 'hex'), /announced a frame of 2147483647 bytes/],
    ['a negative length', Buffer.from('ffffffff', 'hex'), /announced a frame of -1 bytes/],
    ['garbage in a frame', Buffer.from('0000000401ffffff', 'hex'), /cannot be read/],
    ['an empty frame', Buffer.from('00000000', 'hex'), /cannot be read/],
    ['a header longer than its frame', Buffer.from('000000027f08', 'hex'), /127 bytes announced, 1 there/],
  ])('%s', async (_name, bytes, text) => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(bytes);
    });
    const client = await server.connect();
    const error = await failure(getFileInfo(client));
    expect(error).toMatchObject({ code: 'MALFORMED' });
    expect(error.message).toMatch(text);
  });

  it('a port where nobody listens', async () => {
    const server = await listen(() => undefined);
    const { port } = server;
    await new Promise((resolve) => server.server.close(resolve));
    const error = await failure(RpcClient.connect({ host: '127.0.0.1', port, user: 'alice' }));
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: 'CONNECT', message: `cannot connect to 127.0.0.1:${port}: ECONNREFUSED` });
  });
});

describe('limits and mistakes', () => {
  it('a request that does not fit its type is not sent', async () => {
    const server = await listen((request, socket) => {
      if (request.method !== '') socket.write(answer('04-getFileInfo-response', request));
    });
    const client = await server.connect();
    const stem = 'hadoop.hdfs.GetFileInfo';
    const call = client.call(CLIENT_PROTOCOL, 'getFileInfo', `${stem}RequestProto`, `${stem}ResponseProto`, {
      path: '/data',
    });
    expect(await failure(call)).toBeInstanceOf(MessageError);
    await getFileInfo(client);
    expect(server.requests.filter((request) => request.method !== '').length).toBe(1);
  });

  it('calls without an answer are bounded; answered ones make room', async () => {
    const server = await listen((_request, socket) => {
      const calls = server.requests.slice(1);
      if (calls.length >= MAX_OUTSTANDING_CALLS) {
        for (const call of calls.slice(calls.length === MAX_OUTSTANDING_CALLS ? 0 : -1)) {
          socket.write(success(call, 'hadoop.hdfs.GetFileInfoResponseProto', {}));
        }
      }
    });
    const client = await server.connect();
    const waiting = Array.from({ length: MAX_OUTSTANDING_CALLS }, () => getFileInfo(client));
    expect(await failure(getFileInfo(client))).toMatchObject({ code: 'REFUSED' });
    await Promise.all(waiting);
    expect((await getFileInfo(client)).response).toEqual({});
  });
});
