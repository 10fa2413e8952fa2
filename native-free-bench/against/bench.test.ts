/** The comparison as a program: it refuses what it cannot do, and leaves no process behind however it ends. */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CallId, FrameReader, PREAMBLE_BYTES } from '../harness/frames.ts';
import { REPLY_BOUND_BYTES, RequestFields, readRequest, writeReply } from '../harness/namenode-replies.ts';
import { awaitFirstCall } from './first-call.ts';

const BENCH = fileURLToPath(new URL('./bench.ts', import.meta.url));
const MARK = 'SWITCHYARD_AGAINST_MARK';
const LOOK_MS = 20;
/** Bench, NameNode, router and loader. */
const RUNNING_PROCESSES = 4;

interface Marked {
  readonly pid: number;
  readonly isPaused: boolean;
}

/** Living processes that have inherited the mark. */
function findMarked(mark: string): Marked[] {
  const found: Marked[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'latin1').includes(`${MARK}=${mark}`)) continue;
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      found.push({ pid: Number(name), isPaused: stat.slice(stat.lastIndexOf(')') + 2).startsWith('T') });
    } catch {
      // It ended while it was looked at, or belongs to another user.
    }
  }
  return found;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(LOOK_MS);
}

/** A run in which the direct connection is driven for a long time while the router is paused. */
async function startLongRun() {
  const mark = randomUUID();
  const directory = mkdtempSync(join(tmpdir(), 'against-test-'));
  const args = ['--peers', 'direct,ring', '--only', '64x1', '--seconds', '3000', '--rounds', '1', '--starts', '1'];
  const bench = spawn(process.execPath, [BENCH, ...args], {
    env: { ...process.env, [MARK]: mark, TMPDIR: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(bench, 'exit');
  await new Promise<void>((resolve, reject) => {
    const said: string[] = [];
    createInterface({ input: bench.stderr }).on('line', (line) => {
      said.push(line);
      if (line.includes('peers are up')) resolve();
    });
    bench.on('exit', () => reject(new Error(`the bench ended early: ${said.join('\n')}`)));
  });
  await until(() => {
    const marked = findMarked(mark);
    return marked.length >= RUNNING_PROCESSES && marked.some((process) => process.isPaused);
  });
  return {
    bench,
    ended,
    mark,
    directory,
    async [Symbol.asyncDispose]() {
      bench.kill('SIGKILL');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

describe('an interrupted run', () => {
  it('ends all its processes on Ctrl-C, paused ones too, and removes its files', async () => {
    await using run = await startLongRun();
    run.bench.kill('SIGINT');
    const [code] = await run.ended;
    expect(code).toBe(130);
    await until(() => findMarked(run.mark).length === 0);
    expect(readdirSync(run.directory)).toEqual([]);
  });

  it('leaves no process when it is killed', async () => {
    await using run = await startLongRun();
    run.bench.kill('SIGKILL');
    await run.ended;
    await until(() => findMarked(run.mark).length === 0);
  });
});

describe('a wrong command line', () => {
  it.each([
    [['--peers', 'nginx'], '--peers nginx: one or more of direct, haproxy, java-pool'],
    [['--backend', 'real'], '--backend real: one of stub, rig is wanted'],
    [['--peers', 'direct,ring', '--only', 'rate-50'], 'add a Java Router to --peers, or give --ceiling N'],
    [['--rounds', '0'], '--rounds 0: a number from 1'],
  ])('%j ends with 2 and says what is wanted', async (args, message) => {
    const bench = spawn(process.execPath, [BENCH, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    bench.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [code] = await once(bench, 'close');
    expect(code).toBe(2);
    expect(said).toContain(message);
    expect(said).not.toContain('at ');
  });
});

type Behaviour = 'close' | 'refuse' | 'answer';

/** A NameNode that does one of these with each connection, the last of them again and again. */
async function startReluctantServer(...behaviours: Behaviour[]) {
  let connections = 0;
  const server = net.createServer((socket) => {
    const behaviour = behaviours[Math.min(connections++, behaviours.length - 1)];
    if (behaviour === 'close') {
      socket.destroy();
      return;
    }
    const fields = new RequestFields();
    const reader = new FrameReader(PREAMBLE_BYTES, (buffer, start, end) => {
      if (!readRequest(buffer, start, end, fields) || fields.callId < CallId.FIRST) return;
      const out = Buffer.alloc(REPLY_BOUND_BYTES);
      const bytes = writeReply(out, 0, buffer, fields);
      // length:4 headerBytes:1 08 callId:4 10 status
      if (behaviour === 'refuse') out[11] = 1;
      socket.write(out.subarray(0, bytes));
    });
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => reader.feed(chunk, chunk.length));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as net.AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('the first call', () => {
  it('is tried until it is answered with success', async () => {
    await using server = await startReluctantServer('close', 'refuse', 'answer');
    await awaitFirstCall(server.port, '/mnt/a', 20_000);
    expect(server.connections()).toBe(3);
  });

  it('says why none succeeds', async () => {
    await using server = await startReluctantServer('refuse');
    await expect(awaitFirstCall(server.port, '/mnt/a', 0)).rejects.toThrow('succeeds: the answer has status 1');
  });
});
