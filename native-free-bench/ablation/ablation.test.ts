/** Each variant of the ablation bench is a router that answers as the full one does, and has really been changed. */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { encode, messageType } from '../../src/wire/messages.ts';
import { Child } from '../harness/children.ts';
import {
  bytesField,
  CallId,
  encodeCall,
  encodeHandshake,
  FrameReader,
  readVarint,
  varintEnd,
} from '../harness/frames.ts';
import { ROUTER_SOURCES, type RunningProxy } from '../harness/proxies.ts';
import { PRELOAD_RECORD, PRELOAD_VARIANT } from './preload.ts';
import { findMissing, startReplacedRouter } from './replaced-router.ts';
import { FULL, VARIANT_NAMES, VARIANTS, type Variant } from './variants.ts';

const WAIT_MS = 25_000;
/** Starts a simulator and a router. */
const PREPARE_MS = 60_000;
const SUPERUSER = 'hdfs';
const USERS = ['alice', 'bob'];
const CONNECTIONS_PER_USER = 2;
const REPEATS = 5;
const DATE_MS = Date.UTC(2026, 6, 1);

let directory = '';
let simulator: Simulator;
let namenodePort = 0;
let expected: ReadonlyMap<string, string>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-ablation-test-'));
  simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: SUPERUSER });
  namenodePort = simulator.nameservices[0]?.namenodes[0]?.port ?? 0;
  await makeNamespace();
  const mounts = [
    ['/data', '/real/of/data'],
    ['/data/deep/er', '/other'],
    ['/logs/app', '/logs/app'],
  ].map(([srcPath, path]) => ({
    srcPath,
    destinations: [{ nameserviceId: 'ns0', path }],
    dateCreated: DATE_MS,
    dateModified: DATE_MS,
  }));
  writeFileSync(join(directory, 'mounts.json'), JSON.stringify(mounts));
  const router = await startVariant(FULL);
  try {
    expected = await callAll(router.port);
  } finally {
    await router.child?.stop();
  }
}, PREPARE_MS);

afterAll(async () => {
  await simulator?.close();
  rmSync(directory, { recursive: true, force: true });
});

async function makeNamespace(): Promise<void> {
  using client = await HdfsClient.connect({ host: '127.0.0.1', port: namenodePort, user: SUPERUSER });
  for (const path of ['/real/of/data/sub', '/other', '/logs/app']) await client.mkdirs(path);
  for (const path of ['/real/of/data/f0', '/real/of/data/sub/f1', '/other/f2', '/logs/app/f3']) {
    await client.createEmptyFile(path);
  }
}

function startVariant(variant: Variant, port = namenodePort): Promise<RunningProxy> {
  return startReplacedRouter(variant, {
    namenodePort: port,
    cores: undefined,
    directory: mkdtempSync(join(directory, `${variant.name}-`)),
    env: process.env,
    routerMain: ROUTER_SOURCES,
    mounts: ['--mounts', join(directory, 'mounts.json')],
  });
}

interface Request {
  readonly method: string;
  readonly message: object;
}

/** Reads, refusals and errors, of mount points, below them, above them and beside them; two paths; a list of paths. */
function listRequests(): Request[] {
  const requests: Request[] = [];
  const paths = [
    ['/data', '/data/f0', '/data/sub', '/data/sub/f1', '/data/nothing', '/data/deep/er', '/data/deep/er/f2'],
    ['/logs/app', '/logs/app/f3', '/logs', '/data//sub/', '/nowhere/at/all', '/datafile', '/data/deep'],
  ].flat();
  for (const src of paths) {
    requests.push({ method: 'getFileInfo', message: { src } });
    requests.push({ method: 'getListing', message: { src, startAfter: Buffer.alloc(0), needLocation: true } });
    requests.push({ method: 'getBlockLocations', message: { src, offset: 0, length: 1 << 20 } });
    requests.push({ method: 'setPermission', message: { src: `${src}/none`, permission: { perm: 0o640 } } });
  }
  requests.push({ method: 'rename', message: { src: '/data/nothing', dst: '/data/sub/nothing' } });
  requests.push({ method: 'rename', message: { src: '/data/f0', dst: '/logs/app/f3' } });
  requests.push({ method: 'getContentSummary', message: { path: '/logs/app' } });
  requests.push({ method: 'getServerDefaults', message: {} });
  return requests;
}

/** Makes all calls as every user on several connections at once; answers by user, connection and call, in hexadecimal. */
async function callAll(port: number): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const clients = USERS.flatMap((user) => Array.from({ length: CONNECTIONS_PER_USER }, (_, i) => ({ user, i })));
  await Promise.all(
    clients.map(async ({ user, i }) => {
      for (const [callId, answer] of await callAs(port, user, i)) answers.set(`${user} ${i} ${callId}`, answer);
    }),
  );
  return answers;
}

async function callAs(port: number, user: string, connection: number): Promise<Map<number, string>> {
  const clientId = Buffer.alloc(16, connection + 1);
  const requests = Array.from({ length: REPEATS }, listRequests).flat();
  const frames = requests.map(({ method, message }, i) => {
    const type = messageType(`hadoop.hdfs.${method.charAt(0).toUpperCase()}${method.slice(1)}RequestProto`);
    return encodeCall(method, encode(type, message), clientId, CallId.FIRST + i);
  });
  const answers = new Map<number, string>();
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
  try {
    const done = Promise.withResolvers<void>();
    const reader = new FrameReader(0, (buffer, start, end) => {
      answers.set(readCallId(buffer, start), buffer.toString('hex', start, end));
      if (answers.size === frames.length) done.resolve();
    });
    socket.on('data', (chunk: Buffer) => reader.feed(chunk, chunk.length));
    socket.on('close', () => done.reject(new Error(`closed after ${answers.size} of ${frames.length} answers`)));
    socket.on('error', done.reject);
    await once(socket, 'connect', { signal: AbortSignal.timeout(WAIT_MS) });
    socket.write(Buffer.concat([encodeHandshake(user, clientId), ...frames]));
    await done.promise;
  } finally {
    socket.destroy();
  }
  return answers;
}

/** The first field of the header of a reply. */
function readCallId(buffer: Buffer, start: number): number {
  readVarint(buffer, start);
  return readVarint(buffer, varintEnd + 1);
}

describe('variants', () => {
  it('are compared with answers of all kinds', () => {
    const requests = listRequests().length * REPEATS;
    expect(expected.size).toBe(requests * USERS.length * CONNECTIONS_PER_USER);
    const texts = [...expected.values()].map((answer) => Buffer.from(answer, 'hex').toString('latin1'));
    expect(texts.some((text) => text.includes('FileNotFoundException') && text.includes('/data/nothing'))).toBe(true);
    expect(texts.some((text) => text.includes('AccessControlException'))).toBe(true);
    expect(texts.filter((text) => !text.includes('Exception')).length).toBeGreaterThan(requests);
  });

  it.each(VARIANTS.map((variant) => [variant.name, variant] as const))(
    '%s answers as the full router',
    async (_, variant) => {
      const router = await startVariant(variant);
      try {
        const answers = await callAll(router.port);
        expect([...answers].filter(([call, answer]) => expected.get(call) !== answer)).toEqual([]);
        expect(answers.size).toBe(expected.size);
      } finally {
        await router.child?.stop();
      }
    },
  );

  it('connections: each client connection has one to the NameNode', async () => {
    const script = fileURLToPath(new URL('../harness/stub-namenode.ts', import.meta.url));
    const stub = new Child({ name: 'stub', command: process.execPath, args: [script], channel: true });
    try {
      const ready = await stub.waitFor((line) => line['ready'] === true, WAIT_MS);
      const [port] = ready['ports'] as [number];
      const counts: Record<string, number> = {};
      for (const variant of [FULL, VARIANTS.find(({ name }) => name === 'connections') as Variant]) {
        const router = await startVariant(variant, port);
        try {
          await stub.ask('stats');
          counts[variant.name] = await countConnections(router.port, stub);
        } finally {
          await router.child?.stop();
        }
      }
      expect(counts['connections']).toBe(6);
      expect(counts['full']).toBeLessThan(6);
    } finally {
      await stub.stop();
    }
  });
});

/** NameNode connections that carry one call of each of six clients of one user. */
async function countConnections(port: number, stub: Child): Promise<number> {
  const sockets: net.Socket[] = [];
  try {
    for (let i = 0; i < 6; i++) {
      const clientId = Buffer.alloc(16, i);
      const socket = net.connect({ host: '127.0.0.1', port });
      sockets.push(socket);
      const answered = once(socket, 'data', { signal: AbortSignal.timeout(WAIT_MS) });
      const call = encodeCall('getFileInfo', bytesField(1, '/data/f0'), clientId, CallId.FIRST);
      socket.write(Buffer.concat([encodeHandshake('alice', clientId), call]));
      await answered;
    }
    const { connections } = (await stub.ask('stats')) as { connections: number };
    return connections;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

describe('preload', () => {
  const preload = (env: Record<string, string>) =>
    spawnSync(process.execPath, ['--import', new URL('./preload.ts', import.meta.url).href, '-e', '0'], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });

  it('refuses an unknown name and lists the known ones', () => {
    const run = preload({ [PRELOAD_VARIANT]: 'everything', [PRELOAD_RECORD]: join(directory, 'none') });
    expect(run.status).toBe(2);
    expect(run.stderr).toBe(`${PRELOAD_VARIANT}=everything: no such variant; there are ${VARIANT_NAMES.join(', ')}\n`);
  });

  it('refuses to work without a record', () => {
    const run = preload({ [PRELOAD_VARIANT]: 'scan' });
    expect(run.status).toBe(2);
    expect(run.stderr).toContain(PRELOAD_RECORD);
  });

  it('counts only what threads other than the main one have replaced', () => {
    const variant = VARIANTS.find(({ name }) => name === 'scan') as Variant;
    const [first, second] = variant.replacements.map(({ module }) => module) as [string, string];
    const record = join(directory, 'record.jsonl');
    expect(findMissing(variant, record)).toEqual([first, second]);
    const lines = [
      { module: first, thread: 2 },
      { module: second, thread: 0 },
    ];
    writeFileSync(record, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(findMissing(variant, record)).toEqual([second]);
  });

  it('fails the start of a router that has not loaded a replacement', async () => {
    const variant = VARIANTS.find(({ name }) => name === 'mounts') as Variant;
    const more = { module: 'src/handoff/inline-link.ts', by: 'message/ring-link.ts' };
    await expect(startVariant({ ...variant, replacements: [...variant.replacements, more] })).rejects.toThrow(
      'variant mounts: src/handoff/inline-link.ts was not replaced in any thread of the router',
    );
  });
});
