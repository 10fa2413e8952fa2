import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ListenError } from '../../src/control/router-types.ts';
import { JAVA } from '../../src/control/rpc-server/remote-exception.ts';
import { MAX_BATCH } from '../../src/http/api/mount-routes.ts';
import {
  type HttpPart,
  HttpServer,
  type HttpServerOptions,
  MAX_BODY_BYTES,
  MAX_CONNECTIONS,
  MAX_HEADER_BYTES,
  MAX_RUNNING_REQUESTS,
} from '../../src/http/http-server.ts';
import { HttpRig, mountBody } from '../support/http-rig.ts';
import { Gate, nextEvent, waitUntil, within } from '../support/wait.ts';

/** Reads a socket to its end. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await nextEvent(socket, 'close', 'the end of the connection');
  return text;
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await nextEvent(socket, 'connect', 'a connection');
  return socket;
}

/** A server of a few routes, one of which waits at a gate. */
class SmallServer implements AsyncDisposable {
  readonly gate = new Gate();
  readonly lines: unknown[] = [];
  readonly rig: HttpRig;
  readonly server: HttpServer;
  #arrived = 0;

  constructor(rig: HttpRig, more: Partial<HttpServerOptions>) {
    this.rig = rig;
    const part: HttpPart = (app) => {
      app.get('/slow', async () => {
        this.#arrived++;
        await this.gate.wait();
        return { done: true };
      });
      app.post('/take', async () => ({ done: true }));
      app.get('/broken', async () => {
        throw new TypeError('a defect');
      });
    };
    const log = { error: (...line: unknown[]) => void this.lines.push(line) } as unknown as HttpServerOptions['log'];
    this.server = new HttpServer({ settings: rig.settings, parts: [part], log, ...more });
  }

  static async start(more: Partial<HttpServerOptions> = {}): Promise<SmallServer> {
    const small = new SmallServer(await HttpRig.start(), more);
    await small.server.start();
    return small;
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  async arrived(count: number): Promise<void> {
    await waitUntil(() => this.#arrived >= count, `${count} requests have come`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gate.open();
    await this.server.stop();
    await this.rig[Symbol.asyncDispose]();
  }
}

describe('the HTTP server', () => {
  it('answers what it cannot take with status, class and remedy', async () => {
    await using rig = await HttpRig.start();
    const send = async (body: string, type: string | null): Promise<[number, string, string]> => {
      const headers = {
        authorization: 'Bearer superuser-0123456789',
        ...(type === null ? {} : { 'content-type': type }),
      };
      const answer = await rig.send('/api/v1/mounts', {
        method: 'POST',
        headers,
        body: new TextEncoder().encode(body),
      });
      const { javaClassName, remedy } = answer.body.RemoteException;
      return [answer.status, javaClassName, remedy];
    };
    const class400 = JAVA.ILLEGAL_ARGUMENT;
    expect(await send('{}', 'text/plain')).toEqual([
      415,
      class400,
      'send JSON, with the header Content-Type: application/json',
    ]);
    expect((await send('path=/x', 'application/x-www-form-urlencoded'))[0]).toBe(415);
    expect(await send('', 'application/json')).toEqual([
      400,
      class400,
      'send a JSON object, or leave the header Content-Type out',
    ]);
    expect((await send('{"__proto__":{"path":"/x"}}', 'application/json'))[0]).toBe(400);
    expect(await send(JSON.stringify('x'.repeat(MAX_BODY_BYTES)), 'application/json')).toEqual([
      413,
      class400,
      'send less at a time',
    ]);
    const nothing = await rig.send('/nothing?x=1');
    expect([nothing.status, nothing.body.RemoteException.message]).toEqual([404, 'there is nothing at GET /nothing']);
    expect((await rig.send('/api/v1/nameservices/%')).status).toBe(400);
    const put = await rig.send('/api/v1/mounts', { method: 'PUT' });
    expect([put.status, put.headers.get('allow'), put.body.RemoteException.remedy]).toEqual([
      405,
      'GET, POST, HEAD',
      'use GET or POST',
    ]);
  });

  it('takes a whole batch of mount entries, and a path of the greatest length', async () => {
    await using rig = await HttpRig.start();
    const mounts = Array.from({ length: MAX_BATCH }, (_, i) => mountBody(`/${'d'.repeat(1_000)}/${i}`));
    const { status, body } = await rig.ask('POST', '/mounts/batch', { mounts });
    expect([status, body.added.length]).toEqual([200, MAX_BATCH]);
    expect((await rig.ask('POST', '/mounts/batch', { mounts: [...mounts, mountBody('/x')] })).status).toBe(400);
    const longest = `/${'€'.repeat(7_999)}`;
    const { body: none } = await rig.ask('GET', `/mounts?path=${encodeURIComponent(longest)}`);
    expect(none.mounts).toEqual([]);
  });

  it('says with each answer that it is not to be stored, guessed at or framed', async () => {
    await using rig = await HttpRig.start();
    for (const path of ['/api/v1/mounts', '/nothing']) {
      const { headers } = await rig.send(path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  it('answers what is no HTTP, or has too long headers, and closes', async () => {
    await using rig = await HttpRig.start();
    for (const [text, status] of [
      ['hrpc\t\0\0\r\n\r\n', '400 Bad Request'],
      [
        `GET / HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(MAX_HEADER_BYTES)}\r\n\r\n`,
        '431 Request Header Fields Too Large',
      ],
    ]) {
      const socket = await dial(rig.server.port);
      const answer = readAll(socket);
      socket.write(text ?? '');
      const [head = '', body = ''] = (await answer).split('\r\n\r\n');
      expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
      expect(JSON.parse(body).RemoteException.remedy).not.toBe('');
    }
    expect((await rig.ask('GET', '/safemode')).status).toBe(200);
  });

  it('does not wait for ever for a request, nor for its answer', async () => {
    await using small = await SmallServer.start({ requestWithinMs: 50 });
    const begun = 'POST /take HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{"a';
    for (const text of ['', 'GET / HTT', begun]) {
      const socket = await dial(small.server.port);
      const answer = readAll(socket);
      socket.write(text);
      expect((await answer).split('\r\n')[0], text).toBe('HTTP/1.1 408 Request Timeout');
    }
    await using busy = await SmallServer.start({ answerWithinMs: 50 });
    busy.gate.shut();
    const late = await fetch(`${busy.url}/slow`);
    expect(late.status).toBe(503);
    const { RemoteException } = (await late.json()) as { RemoteException: Record<string, string> };
    expect(RemoteException['remedy']).toBe('it may still be done: look before you repeat it');
  });

  it('has so many connections at a time, and not one more', async () => {
    await using rig = await HttpRig.start();
    const sockets = await Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => dial(rig.server.port)));
    const first = sockets[0] as Socket;
    first.write('GET /api/v1/safemode HTTP/1.1\r\nhost: x\r\n\r\n');
    await nextEvent(first, 'data', 'an answer');
    const one = await dial(rig.server.port);
    await nextEvent(one, 'close', 'the connection is closed');
    const closed = sockets.map((socket) => nextEvent(socket, 'close', 'it is closed'));
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    const works = await waitUntil(() => rig.ask('GET', '/safemode').catch(() => null), 'there is room again');
    expect(works.status).toBe(200);
  });

  it('runs so many requests at a time, those of one connection too, and counts those that go away', async () => {
    await using small = await SmallServer.start();
    small.gate.shut();
    const request = 'GET /slow HTTP/1.1\r\nhost: x\r\n\r\n';
    const half = MAX_RUNNING_REQUESTS / 2;
    const lost = await dial(small.server.port);
    lost.write(request.repeat(half));
    const answered = Array.from({ length: MAX_RUNNING_REQUESTS - half }, () => fetch(`${small.url}/slow`));
    await small.arrived(MAX_RUNNING_REQUESTS);
    expect(small.server.runningRequests).toBe(MAX_RUNNING_REQUESTS);
    const more = await fetch(`${small.url}/slow`);
    expect(more.status).toBe(503);
    expect(await more.json()).toMatchObject({ RemoteException: { javaClassName: JAVA.RETRIABLE } });
    lost.destroy();
    await waitUntil(() => small.server.runningRequests === MAX_RUNNING_REQUESTS - half, 'the lost ones are gone');
    small.gate.open();
    for (const answer of await Promise.all(answered)) expect(await answer.json()).toEqual({ done: true });
    await waitUntil(() => small.server.runningRequests === 0, 'nothing runs');
  });

  it('answers a defect with 500, tells it to the log and goes on', async () => {
    await using small = await SmallServer.start();
    const broken = await fetch(`${small.url}/broken`);
    expect(broken.status).toBe(500);
    expect(await broken.json()).toMatchObject({ RemoteException: { javaClassName: JAVA.IO, message: 'a defect' } });
    expect(small.lines).toEqual([[{ request: 'GET /broken', err: expect.any(TypeError) }, 'HTTP: a request failed']]);
    expect((await fetch(`${small.url}/slow`)).status).toBe(200);
  });

  it('lets requests that run end when it stops, for a moment', async () => {
    await using small = await SmallServer.start();
    small.gate.shut();
    const answer = fetch(`${small.url}/slow`);
    await small.arrived(1);
    const stopped = small.server.stop();
    small.gate.open();
    expect((await answer).status).toBe(200);
    await within(stopped, 'it has stopped');
    await using hung = await SmallServer.start();
    hung.gate.shut();
    const cut = fetch(`${hung.url}/slow`).then(
      () => 'answered',
      () => 'cut',
    );
    await hung.arrived(1);
    await within(hung.server.stop(), 'it has stopped although a request runs');
    expect(await cut).toBe('cut');
  });

  it('names key and remedy when its port is taken', async () => {
    await using rig = await HttpRig.start();
    const settings = { ...rig.settings, port: rig.server.port };
    const second = new HttpServer({ settings, parts: [], log: undefined as never });
    const refusal = await second.start().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ListenError);
    expect(String(refusal)).toMatch(
      /cannot listen on 127\.0\.0\.1:\d+ \(dfs\.federation\.router\.http-address\): .*EADDRINUSE.*; choose another port/,
    );
    await second.stop();
  });
});
