/** What a client may do to a router, each as one function that goes on until it is told to end, and says what it did. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesField, CallId, encodeCall, encodeHandshake, numberField } from '../harness/frames.ts';
import { Caller, type CallKind, getFileInfo } from '../pressure/caller.ts';

export const ATTACKS = ['greedy-user', 'storm', 'never-reads', 'big-frames', 'half-open'] as const;
export type Attack = (typeof ATTACKS)[number];

export const ATTACK_MEANINGS: Readonly<Record<Attack, string>> = {
  'greedy-user': 'one user asks 50 times as often as each of the others, for more than the NameNodes can do',
  storm:
    'connections open all at once, each makes one call and stays; when all are through they close, and it begins again',
  'never-reads': '20 clients make 100 calls a second each, of 64 KiB of answer, and never read one',
  'big-frames': 'setXAttr with 64 MiB, one after the other on 2 connections',
  'half-open': 'sockets that say nothing, half of a handshake, or half of a call, and stay',
};

export interface AttackOptions {
  readonly attack: Attack;
  readonly port: number;
  /** Path of a file. */
  readonly path: string;
  /** Connections of `storm`, sockets of `half-open`. */
  readonly connections: number;
  /** Calls a second of `greedy-user`. */
  readonly ratePerSecond: number;
}

/** What was done, and what the router did about it; by words that the report prints. */
export type Done = Readonly<Record<string, number>>;

const USER = 'greedy';
/** Takes what getFileInfo takes; the stub NameNode answers it with few bytes always. */
const SHORT_METHOD = 'getFileLinkInfo';
const FRAME_BYTES = 64 * 1024 * 1024;
const BIG_FRAME_CONNECTIONS = 2;
const NON_READERS = 20;
/** Calls that a client which never reads makes each time. */
const BATCH_CALLS = 2;
const BATCH_EVERY_MS = 20;
const GREEDY_CONNECTIONS = 32;
const GREEDY_IN_FLIGHT = 512;
const PAUSE_MS = 20;
/** setXAttr: name space USER, flag CREATE | REPLACE. */
const XATTR_USER = 0;
const XATTR_FLAGS = 3;

export function runAttack(options: AttackOptions, ended: AbortSignal): Promise<Done> {
  switch (options.attack) {
    case 'greedy-user':
      return beGreedy(options, ended);
    case 'storm':
      return storm(options, ended);
    case 'never-reads':
      return neverRead(options, ended);
    case 'big-frames':
      return sendBigFrames(options, ended);
    case 'half-open':
      return stayHalfOpen(options, ended);
  }
}

async function beGreedy({ port, path, ratePerSecond }: AttackOptions, ended: AbortSignal): Promise<Done> {
  const caller = await new Caller({
    port,
    kinds: [getFileInfo(path)],
    connections: GREEDY_CONNECTIONS,
    users: [USER],
    ratePerSecond,
    inFlight: GREEDY_IN_FLIGHT,
  }).start();
  await until(ended);
  const { asked, succeeded, refused, lost, unsent } = await caller.stop(0);
  return { asked, answered: succeeded, refused: Object.values(refused).reduce((a, b) => a + b, 0), lost, unsent };
}

async function storm({ port, path, connections }: AttackOptions, ended: AbortSignal): Promise<Done> {
  const done = { storms: 0, answered: 0, closed: 0, failed: 0 };
  const request = openingWith({ ...getFileInfo(path), method: SHORT_METHOD });
  while (!ended.aborted) {
    const sockets: net.Socket[] = [];
    let over = 0;
    const all = Promise.withResolvers<void>();
    for (let i = 0; i < connections && !ended.aborted; i++) {
      const socket = net.connect({ host: '127.0.0.1', port });
      sockets.push(socket);
      let isAnswered = false;
      socket.on('connect', () => socket.write(request()));
      socket.once('data', () => {
        isAnswered = true;
        done.answered++;
        if (++over === connections) all.resolve();
      });
      socket.on('error', () => {
        if (!isAnswered) done.failed++;
      });
      socket.on('close', (hadError) => {
        if (isAnswered || ended.aborted) return;
        if (!hadError) done.closed++;
        if (++over === connections) all.resolve();
      });
    }
    await Promise.race([all.promise, until(ended)]);
    done.storms++;
    for (const socket of sockets) socket.destroy();
    await sleep(PAUSE_MS);
  }
  return done;
}

async function neverRead({ port, path }: AttackOptions, ended: AbortSignal): Promise<Done> {
  const done = { calls: 0, closed: 0 };
  await Promise.all(
    Array.from({ length: NON_READERS }, async () => {
      while (!ended.aborted) done.closed += await stayUnread(port, path, done, ended);
    }),
  );
  return done;
}

/** One connection until the router closes it (1), or the attack ends (0). */
async function stayUnread(port: number, path: string, done: { calls: number }, ended: AbortSignal): Promise<number> {
  const socket = net.connect({ host: '127.0.0.1', port });
  socket.pause();
  const closed = closing(socket);
  const clientId = randomBytes(16);
  const { method, body } = getFileInfo(path);
  socket.write(encodeHandshake(USER, clientId));
  for (let id: number = CallId.FIRST; !socket.destroyed && !ended.aborted; ) {
    // What the router does not read stays in the socket: then nothing more is made.
    for (let i = 0; i < BATCH_CALLS && !socket.writableNeedDrain; i++) {
      socket.write(encodeCall(method, body, clientId, id++));
      done.calls++;
    }
    await sleep(BATCH_EVERY_MS);
  }
  socket.destroy();
  await closed;
  return ended.aborted ? 0 : 1;
}

async function sendBigFrames({ port, path }: AttackOptions, ended: AbortSignal): Promise<Done> {
  const done = { frames: 0, answered: 0, closed: 0 };
  const xattr = Buffer.concat([
    numberField(1, XATTR_USER),
    bytesField(2, 'big'),
    bytesField(3, Buffer.alloc(FRAME_BYTES)),
  ]);
  const body = Buffer.concat([bytesField(1, path), bytesField(2, xattr), numberField(3, XATTR_FLAGS)]);
  const clientId = randomBytes(16);
  const call = encodeCall('setXAttr', body, clientId, CallId.FIRST);
  await Promise.all(
    Array.from({ length: BIG_FRAME_CONNECTIONS }, async () => {
      while (!ended.aborted) {
        const socket = net.connect({ host: '127.0.0.1', port });
        const closed = closing(socket);
        socket.write(encodeHandshake(USER, clientId));
        while (!socket.destroyed && !ended.aborted) {
          socket.write(call);
          done.frames++;
          const answer = once(socket, 'data', { signal: ended }).then(
            () => 'answered' as const,
            () => 'ended' as const,
          );
          const outcome = await Promise.race([answer, closed]);
          if (outcome === 'ended') break;
          done[outcome]++;
          if (outcome === 'closed') await sleep(PAUSE_MS);
        }
        socket.destroy();
      }
    }),
  );
  return done;
}

async function stayHalfOpen({ port, path, connections }: AttackOptions, ended: AbortSignal): Promise<Done> {
  const done = { opened: 0, closed: 0, failed: 0 };
  const opening = openingWith(getFileInfo(path))();
  const parts = [Buffer.alloc(0), opening.subarray(0, 5), opening.subarray(0, -20)];
  const sockets = Array.from({ length: connections }, (_, i) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    socket.on('connect', () => {
      done.opened++;
      const part = parts[i % parts.length] as Buffer;
      if (part.length > 0) socket.write(part);
    });
    socket.on('error', () => done.failed++);
    socket.on('close', (hadError) => {
      if (!hadError && !ended.aborted) done.closed++;
    });
    socket.resume();
    return socket;
  });
  await until(ended);
  for (const socket of sockets) socket.destroy();
  return done;
}

/** Handshake and one call, with a client id of its own each time. */
function openingWith({ method, body }: CallKind): () => Buffer {
  return () => {
    const clientId = randomBytes(16);
    return Buffer.concat([encodeHandshake(USER, clientId), encodeCall(method, body, clientId, CallId.FIRST)]);
  };
}

function closing(socket: net.Socket): Promise<'closed'> {
  return new Promise((resolve) => {
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve('closed'));
  });
}

function until(ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ended.aborted) resolve();
    else ended.addEventListener('abort', () => resolve(), { once: true });
  });
}
