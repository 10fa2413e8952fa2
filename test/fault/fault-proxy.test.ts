import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FaultProxy } from '../support/fault-proxy.ts';
import { nextEvent } from '../support/wait.ts';

/** The proxy in front of an echo server: what other fault tests rely on. */
let echo: Server;
let served: Socket[] = [];
let proxy: FaultProxy;

beforeEach(async () => {
  served = [];
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    served.push(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  echo.listen(0, '127.0.0.1');
  await nextEvent(echo, 'listening', 'echo server listens');
  proxy = await FaultProxy.start({ port: (echo.address() as AddressInfo).port });
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  for (const socket of served) socket.destroy();
  const closed = nextEvent(echo, 'close', 'echo server is closed');
  echo.close();
  await closed;
});

class Client implements Disposable {
  readonly socket: Socket;
  received: Buffer = Buffer.alloc(0);
  chunks = 0;
  error = '';

  constructor() {
    this.socket = connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true });
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      this.error = error.code ?? error.message;
    });
    this.socket.on('data', (chunk: Buffer) => {
      this.chunks++;
      this.received = Buffer.concat([this.received, chunk]);
      this.socket.emit('progress');
    });
  }

  async receive(bytes: number): Promise<Buffer> {
    while (this.received.length < bytes) await nextEvent(this.socket, 'progress', `${bytes} bytes of echo`);
    return this.received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

function pattern(bytes: number): Buffer {
  const data = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i++) data[i] = (i * 31 + (i >> 8)) & 0xff;
  return data;
}

describe('fault proxy', () => {
  it('passes 3 MB through unchanged', async () => {
    using client = new Client();
    const data = pattern(3_000_000);
    client.socket.write(data);
    expect((await client.receive(data.length)).equals(data)).toBe(true);
    expect(proxy.toServer.passedBytes).toBe(data.length);
  });

  it('splits into single bytes', async () => {
    proxy.toClient.sliceBytes = 1;
    using client = new Client();
    const data = pattern(200);
    client.socket.write(data);
    expect((await client.receive(200)).equals(data)).toBe(true);
    expect(client.chunks).toBeGreaterThan(20);
  });

  it('resets after exactly n bytes', async () => {
    proxy.toClient.resetAfterBytes = 1000;
    using client = new Client();
    client.socket.write(pattern(5000));
    await nextEvent(client.socket, 'close', 'the client is reset');
    expect(client.error).toBe('ECONNRESET');
    expect(client.received.length).toBe(1000);
  });

  it('half-closes after exactly n bytes and still passes the other direction', async () => {
    proxy.toServer.endAfterBytes = 10;
    using client = new Client();
    const end = nextEvent(client.socket, 'end', 'the echo of the half-close');
    client.socket.write(pattern(50));
    await end;
    expect(client.received.equals(pattern(10))).toBe(true);
    expect(client.error).toBe('');
  });

  it('freezes and thaws', async () => {
    using client = new Client();
    client.socket.write('a');
    await client.receive(1);
    proxy.toClient.freeze();
    client.socket.write('b');
    const [, chunk] = await Promise.all([
      client.socket.write('c'),
      new Promise<void>((resolve) => served[0]?.once('data', () => setImmediate(resolve))),
    ]);
    expect(chunk).toBeUndefined();
    expect(client.received.toString()).toBe('a');
    proxy.toClient.thaw();
    expect((await client.receive(3)).toString()).toBe('abc');
  });

  it('lets a slow reader meet back-pressure', async () => {
    proxy.toClient.slowBytes = 100;
    using client = new Client();
    client.socket.write(pattern(2000));
    const started = performance.now();
    await client.receive(2000);
    expect(performance.now() - started).toBeGreaterThan(50);
  });

  it('delivers late replies in order', async () => {
    proxy.toClient.delayMs = 20;
    using client = new Client();
    const started = performance.now();
    client.socket.write('one ');
    client.socket.write('two');
    expect((await client.receive(7)).toString()).toBe('one two');
    expect(performance.now() - started).toBeGreaterThan(15);
  });

  it('refuses, retargets, and cuts what is there', async () => {
    proxy.refuses = true;
    using refused = new Client();
    await nextEvent(refused.socket, 'close', 'the refused client is closed');
    proxy.refuses = false;
    using client = new Client();
    client.socket.write('x');
    await client.receive(1);
    await proxy.connections(2);
    proxy.resetAll();
    await nextEvent(client.socket, 'close', 'the client is cut');
    expect(client.error).toBe('ECONNRESET');
    expect(proxy.accepted).toBe(2);
  });

  it('shows a client that the server reset', async () => {
    using client = new Client();
    client.socket.write('x');
    await client.receive(1);
    served[0]?.resetAndDestroy();
    await nextEvent(client.socket, 'close', 'the client is reset');
    expect(client.error).toBe('ECONNRESET');
  });
});
