import { once } from 'node:events';
import net from 'node:net';
import { expect, it } from 'vitest';
import { type Attack, type Done, runAttack } from './attacks.ts';

const CONNECTIONS = 30;
const MIB = 1024 * 1024;

/** What the attacked server has seen; `onBytes` may answer and says when it has seen enough. */
interface Seen {
  readonly sockets: net.Socket[];
  /** Of each socket. */
  readonly bytes: number[];
}

async function attack(
  name: Attack,
  onBytes: (socket: net.Socket, seen: Seen) => boolean,
): Promise<Seen & { done: Done }> {
  const seen: Seen = { sockets: [], bytes: [] };
  const enough = new AbortController();
  const server = net.createServer((socket) => {
    const at = seen.sockets.push(socket) - 1;
    seen.bytes.push(0);
    socket.on('data', (chunk: Buffer) => {
      seen.bytes[at] = (seen.bytes[at] as number) + chunk.length;
      if (onBytes(socket, seen)) enough.abort();
    });
    socket.on('error', () => socket.destroy());
    if (onBytes(socket, seen)) enough.abort();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const options = { attack: name, port, path: '/f', connections: CONNECTIONS, ratePerSecond: 1_000 };
  const done = await runAttack(options, enough.signal);
  for (const socket of seen.sockets) socket.destroy();
  server.close();
  await once(server, 'close');
  return { ...seen, done };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

it('is greedy on many connections', async () => {
  const { done, sockets } = await attack('greedy-user', (_, { bytes }) => sum(bytes) > 10_000);
  expect(done['asked']).toBeGreaterThan(50);
  expect(done['answered']).toBe(0);
  expect(sockets.length).toBeGreaterThan(1);
});

it('opens connections at once, and again when all are answered', async () => {
  const answered = new Set<net.Socket>();
  const { done, sockets } = await attack('storm', (socket, seen) => {
    if (socket.bytesRead > 0 && !answered.has(socket)) {
      answered.add(socket);
      socket.write('answer');
    }
    return seen.sockets.length > CONNECTIONS;
  });
  expect(sockets.length).toBeGreaterThan(CONNECTIONS);
  expect(done).toMatchObject({ closed: 0, failed: 0 });
  expect(done['answered']).toBeGreaterThanOrEqual(CONNECTIONS);
});

it('never reads', async () => {
  const { done, sockets } = await attack('never-reads', (socket, seen) => {
    // Until nothing fits into the sockets of both ends any more.
    if (socket.writableLength < MIB) socket.write(Buffer.alloc(MIB));
    return seen.sockets.length === 20 && socket.writableLength >= MIB && socket.bytesRead > 500;
  });
  expect(sockets).toHaveLength(20);
  expect(done['calls']).toBeGreaterThan(2);
});

it('sends frames of 64 MiB, the next one after the answer', async () => {
  let answers = 0;
  const { done, bytes } = await attack('big-frames', (socket, seen) => {
    if (seen.bytes[seen.sockets.indexOf(socket)] !== undefined && socket.bytesRead > 64 * MIB && answers === 0) {
      answers++;
      socket.write('answer');
    }
    return seen.bytes.some((count) => count > 128 * MIB);
  });
  expect(Math.max(...bytes)).toBeGreaterThan(128 * MIB);
  expect(done).toMatchObject({ answered: 1, closed: 0 });
});

it('stays half open: nothing, half a handshake, half a call', async () => {
  const { done, bytes } = await attack('half-open', (_, seen) => {
    return seen.sockets.length === CONNECTIONS && seen.bytes.filter((count) => count > 0).length === 20;
  });
  expect(done).toEqual({ opened: CONNECTIONS, closed: 0, failed: 0 });
  const sizes = new Set(bytes);
  expect(sizes.size).toBe(3);
  expect(sizes.has(0) && sizes.has(5)).toBe(true);
});
