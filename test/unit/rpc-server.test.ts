import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RemoteError, RpcClient, RpcError } from '../../src/control/rpc-client.ts';
import type { Identity } from '../../src/control/rpc-server/connection.ts';
import { JAVA, RemoteException } from '../../src/control/rpc-server/remote-exception.ts';
import {
  MAX_CALLS_OF_CONNECTION,
  MAX_CONNECTIONS,
  MAX_RUNNING_CALLS,
  RpcServer,
  type ServiceMethod,
} from '../../src/control/rpc-server/server.ts';
import { messageType } from '../../src/wire/messages.ts';
import { Gate, nextEvent, waitUntil, within } from '../support/wait.ts';

const PROTOCOL = 'org.apache.hadoop.ipc.GenericRefreshProtocol';
const REQUEST = 'hadoop.common.GenericRefreshRequestProto';
const RESPONSE = 'hadoop.common.GenericRefreshResponseCollectionProto';

interface Fixture extends AsyncDisposable {
  readonly server: RpcServer<string>;
  readonly gate: Gate;
  readonly unexpected: string[];
  connect(user?: string, more?: { sasl?: boolean; realUser?: string }): Promise<RpcClient>;
}

interface Settings {
  readonly idleMs?: number;
  readonly callWithinMs?: number;
  readonly maxFrameBytes?: number;
  readonly login?: (identity: Identity) => string | Promise<string>;
}

/** A server whose `refresh` answers with the caller, waits at the gate (`wait`), or fails as its identifier says. */
async function startServer(settings: Settings = {}): Promise<Fixture> {
  const gate = new Gate();
  const unexpected: string[] = [];
  const refresh: ServiceMethod<string> = {
    protocol: PROTOCOL,
    name: 'refresh',
    request: messageType(REQUEST),
    response: messageType(RESPONSE),
    run: async ({ request, caller }) => {
      const { identifier } = request;
      if (identifier === 'refused') throw new RemoteException(JAVA.ACCESS_CONTROL, 'not for you');
      if (identifier === 'defect') throw new TypeError('something broke');
      if (identifier === 'misshapen') return { nonsense: 1 };
      if (identifier === 'wait') await gate.wait();
      return { responses: [{ exitStatus: 0, userMessage: `hello ${caller}` }] };
    },
  };
  const server = new RpcServer<string>({
    host: '127.0.0.1',
    port: 0,
    idleMs: settings.idleMs ?? 60_000,
    ...(settings.callWithinMs === undefined ? {} : { callWithinMs: settings.callWithinMs }),
    ...(settings.maxFrameBytes === undefined ? {} : { maxFrameBytes: settings.maxFrameBytes }),
    services: new Map([[PROTOCOL, new Map([['refresh', refresh]])]]),
    login: settings.login ?? (({ user }) => user),
    onUnexpected: (method, error) => unexpected.push(`${method}: ${String(error)}`),
  });
  await server.start();
  const clients: RpcClient[] = [];
  return {
    server,
    gate,
    unexpected,
    connect: async (user = 'alice', more = {}) => {
      const client = await RpcClient.connect({
        host: '127.0.0.1',
        port: server.port,
        user,
        protocol: PROTOCOL,
        ...more,
      });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      gate.open();
      for (const client of clients) client.close();
      await server.stop();
    },
  };
}

interface Refreshed {
  readonly responses: readonly { readonly userMessage: string }[];
}

async function refresh(client: RpcClient, identifier: string): Promise<string> {
  const { response } = await client.call<Refreshed>(PROTOCOL, 'refresh', REQUEST, RESPONSE, { identifier });
  return response.responses[0]?.userMessage ?? '';
}

async function failureOf(work: Promise<unknown>): Promise<RemoteError | RpcError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof RemoteError || error instanceof RpcError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('the RPC server of the main thread', () => {
  it('answers calls of SIMPLE and of SASL connections', async () => {
    await using fixture = await startServer();
    expect(await refresh(await fixture.connect('alice'), 'x')).toBe('hello alice');
    expect(await refresh(await fixture.connect('bob', { sasl: true }), 'x')).toBe('hello bob');
  });

  it('answers with the exception of a method, without a stack; the connection goes on', async () => {
    await using fixture = await startServer();
    const client = await fixture.connect();
    const refused = await failureOf(refresh(client, 'refused'));
    expect(refused).toMatchObject({ className: JAVA.ACCESS_CONTROL, text: 'not for you', status: 'ERROR' });
    const defect = await failureOf(refresh(client, 'defect'));
    expect(defect).toMatchObject({ className: JAVA.IO, text: 'something broke' });
    const misshapen = await failureOf(refresh(client, 'misshapen'));
    expect(misshapen).toMatchObject({ className: JAVA.IO, detail: 'ERROR_SERIALIZING_RESPONSE' });
    expect(fixture.unexpected).toHaveLength(2);
    expect(await refresh(client, 'x')).toBe('hello alice');
  });

  it('says what it does not serve', async () => {
    await using fixture = await startServer();
    const client = await fixture.connect();
    const protocol = await failureOf(client.call('no.such.Protocol', 'refresh', REQUEST, RESPONSE, {}));
    expect(protocol).toMatchObject({ className: JAVA.NO_SUCH_PROTOCOL, text: 'Unknown protocol: no.such.Protocol' });
    const method = await failureOf(client.call(PROTOCOL, 'nope', REQUEST, RESPONSE, {}));
    expect(method).toMatchObject({ className: JAVA.NO_SUCH_METHOD });
  });

  it('holds calls back until a slow login has ended', async () => {
    const login = Promise.withResolvers<void>();
    await using fixture = await startServer({
      login: async ({ user }) => {
        await login.promise;
        return `${user} at last`;
      },
    });
    const client = await fixture.connect();
    const answers = [refresh(client, 'x'), refresh(client, 'y')];
    await waitUntil(() => fixture.server.connections === 1, 'the connection');
    expect(fixture.server.runningCalls).toBe(0);
    login.resolve();
    expect(await within(Promise.all(answers), 'the answers')).toEqual(['hello alice at last', 'hello alice at last']);
  });

  it('refuses a login as it is told, at once or later', async () => {
    await using fixture = await startServer({
      login: ({ user }) => {
        if (user === 'eve') throw new RemoteException(JAVA.ACCESS_CONTROL, 'no eve here');
        return Promise.reject(new RemoteException(JAVA.AUTHORIZATION, 'nor anyone else'));
      },
    });
    const eve = await failureOf(refresh(await fixture.connect('eve'), 'x'));
    expect(eve).toMatchObject({ className: JAVA.ACCESS_CONTROL, text: 'no eve here', fatal: true });
    const other = await failureOf(refresh(await fixture.connect('mallory'), 'x'));
    expect(other).toMatchObject({ className: JAVA.AUTHORIZATION, text: 'nor anyone else', fatal: true });
    await waitUntil(() => fixture.server.connections === 0, 'both connections to end');
  });

  it('reads no more of a connection with too many calls, and goes on when they end', async () => {
    await using fixture = await startServer();
    fixture.gate.shut();
    const client = await fixture.connect();
    const answers = Array.from({ length: 3 * MAX_CALLS_OF_CONNECTION }, () => refresh(client, 'wait'));
    await waitUntil(() => fixture.server.runningCalls === MAX_CALLS_OF_CONNECTION, 'the first calls to run');
    const other = await fixture.connect('bob');
    expect(await refresh(other, 'x')).toBe('hello bob');
    expect(fixture.server.runningCalls).toBe(MAX_CALLS_OF_CONNECTION);
    fixture.gate.open();
    expect(await within(Promise.all(answers), 'all answers')).toHaveLength(3 * MAX_CALLS_OF_CONNECTION);
  });

  it('sends calls beyond its number away, to come again', async () => {
    await using fixture = await startServer();
    fixture.gate.shut();
    const full = MAX_RUNNING_CALLS / MAX_CALLS_OF_CONNECTION;
    const answers: Promise<string>[] = [];
    for (let i = 0; i < full; i++) {
      const client = await fixture.connect();
      for (let j = 0; j < MAX_CALLS_OF_CONNECTION; j++) answers.push(refresh(client, 'wait'));
    }
    await waitUntil(() => fixture.server.runningCalls === MAX_RUNNING_CALLS, 'all calls to run');
    const busy = await failureOf(refresh(await fixture.connect(), 'x'));
    expect(busy).toMatchObject({ className: JAVA.RETRIABLE, status: 'ERROR' });
    fixture.gate.open();
    await within(Promise.all(answers), 'all answers');
  });

  it('closes what comes beyond the number of connections', async () => {
    await using fixture = await startServer();
    const sockets: Socket[] = [];
    try {
      for (let i = 0; i < MAX_CONNECTIONS; i++) sockets.push(connect(fixture.server.port, '127.0.0.1'));
      await waitUntil(() => fixture.server.connections === MAX_CONNECTIONS, 'all connections');
      const late = connect(fixture.server.port, '127.0.0.1');
      sockets.push(late);
      await nextEvent(late, 'close', 'the end of the late one');
      expect(fixture.server.connections).toBe(MAX_CONNECTIONS);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('closes a connection that is idle, not one with a call', async () => {
    await using fixture = await startServer({ idleMs: 50 });
    fixture.gate.shut();
    const busy = await fixture.connect('busy');
    const answer = refresh(busy, 'wait');
    const idle = await fixture.connect('idle');
    await waitUntil(() => idle.isClosed, 'the idle one to be closed');
    expect(busy.isClosed).toBe(false);
    fixture.gate.open();
    expect(await answer).toBe('hello busy');
  });

  it('closes connections with frames that are too long, before and after the login', async () => {
    await using fixture = await startServer({ maxFrameBytes: 100_000 });
    const client = await fixture.connect();
    const long = { identifier: 'x'.repeat(100_000) };
    const failure = await failureOf(client.call(PROTOCOL, 'refresh', REQUEST, RESPONSE, long));
    expect(failure).toMatchObject({ code: 'CLOSED' });
    const socket = connect(fixture.server.port, '127.0.0.1');
    socket.on('error', () => {});
    const announced = Buffer.alloc(4);
    announced.writeUInt32BE(80_000);
    socket.write(Buffer.concat([Buffer.from('68727063090000', 'hex'), announced]));
    await nextEvent(socket, 'close', 'the end of the connection');
  });

  it('tells a caller that a call takes too long', async () => {
    await using fixture = await startServer({ callWithinMs: 20 });
    fixture.gate.shut();
    const failure = await failureOf(refresh(await fixture.connect(), 'wait'));
    expect(failure).toMatchObject({ className: JAVA.IO });
    expect(failure.message).toContain('may still be done');
    expect(fixture.server.runningCalls).toBe(0);
  });

  it('counts what unfinished requests hold, and gives it back', async () => {
    await using fixture = await startServer();
    const socket = connect(fixture.server.port, '127.0.0.1');
    const announced = Buffer.alloc(4);
    announced.writeUInt32BE(50_000);
    socket.write(Buffer.concat([Buffer.from('68727063090000', 'hex'), announced, Buffer.alloc(1_000)]));
    await waitUntil(() => fixture.server.heldBytes >= 1_000, 'the bytes to be held');
    socket.destroy();
    await waitUntil(() => fixture.server.heldBytes === 0, 'the bytes to be given back');
  });

  it('answers calls that run before it stops', async () => {
    const fixture = await startServer();
    fixture.gate.shut();
    const client = await fixture.connect();
    const answer = refresh(client, 'wait');
    await waitUntil(() => fixture.server.runningCalls === 1, 'the call to run');
    const stopped = fixture.server.stop();
    fixture.gate.open();
    expect(await answer).toBe('hello alice');
    await within(stopped, 'the end of the server');
    expect(
      await failureOf(RpcClient.connect({ host: '127.0.0.1', port: fixture.server.port, user: 'x' })),
    ).toMatchObject({
      code: 'CONNECT',
    });
  });
});
