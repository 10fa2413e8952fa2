import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Plain } from '../../src/wire/messages.ts';
import { decodeResponse, type RawReply } from '../support/raw-client.ts';
import { all, disposeAll, ScriptedCluster } from '../support/scripted-cluster.ts';
import {
  answerPlainly,
  fileStatus,
  IO,
  type NameNodeCall,
  type ScriptedNameNode,
} from '../support/scripted-namenode.ts';

/** Requests and answers far beyond what any buffer of the router holds, and those beyond its limit. */

const MIB = 1024 * 1024;
const BIG_BYTES = 20 * MIB;
const MAX_RESPONSE_BYTES = 24 * MIB;
const ENTRIES = 100_000;
const PAGE_ENTRIES = 5_000;
/** The test's own work on 20 MiB takes seconds on a busy machine. */
const BIG_WITHIN_MS = 25_000;

/** Bytes of which no two stretches are alike, so that a lost or doubled piece shows. */
function bigValue(seed: number): Buffer {
  const value = Buffer.allocUnsafe(BIG_BYTES);
  for (let at = 0; at < BIG_BYTES; at += 4) value.writeUInt32LE(Math.imul(at + seed, 2_654_435_761) >>> 0, at);
  return value;
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function nameOf(entry: number): string {
  return `file-${String(entry).padStart(6, '0')}`;
}

/** One page behind `startAfter`, as a NameNode lists a directory. */
function listPage(call: NameNodeCall): void {
  const after = (call.request['startAfter'] as Buffer).toString();
  const from = after === '' ? 0 : Number(after.slice('file-'.length)) + 1;
  const to = Math.min(from + PAGE_ENTRIES, ENTRIES);
  const partialListing: Plain[] = [];
  for (let entry = from; entry < to; entry++) partialListing.push(fileStatus(entry, nameOf(entry)));
  call.succeed({ dirList: { partialListing, remainingEntries: ENTRIES - to } });
}

describe.each(['ring', 'inline'] as const)('%s', (handoff) => {
  let cluster: ScriptedCluster;
  let namenode: ScriptedNameNode;

  beforeAll(async () => {
    cluster = await ScriptedCluster.start({
      nameservices: { ns0: ['active'] },
      mounts: ['/ns0=ns0:/ns0', '/moved=ns0:/target'],
      keys: { 'ipc.maximum.response.length': String(MAX_RESPONSE_BYTES) },
      handoff,
    });
    namenode = cluster.namenode('ns0');
  });

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  it('a request of 20 MiB arrives whole, its path replaced, and calls beside it are served', async () => {
    using client = await cluster.connect();
    using other = await cluster.connect();
    const value = bigValue(1);
    const request = { src: '/moved/big', xAttr: { namespace: 'USER', name: 'big', value }, flag: 1 };
    const set = client.call({ method: 'setXAttr', request }, BIG_WITHIN_MS);
    await all(
      Array.from({ length: 20 }, async () => {
        using small = await cluster.connect();
        expect((await small.call({ method: 'getFileInfo', request: { src: '/ns0/small' } })).status).toBe('SUCCESS');
      }),
    );
    expect((await set).status).toBe('SUCCESS');
    const [call] = namenode.callsOf({ method: 'setXAttr' }) as [NameNodeCall];
    expect(call.path).toBe('/target/big');
    expect(digest((call.request['xAttr'] as Plain)['value'] as Buffer)).toBe(digest(value));
    expect((await other.call({ method: 'getFileInfo', request: { src: '/ns0/after' } })).status).toBe('SUCCESS');
  });

  it('a request of 20 MiB whose connection is lost is sent again as it was', async () => {
    using client = await cluster.connect();
    const value = bigValue(3);
    const path = '/ns0/big and lost';
    const sent = namenode.callsOf({ method: 'setXAttr' }).length;
    namenode.handler = (call) => {
      if (call.path === path && namenode.callsOf({ path }).length === 1) call.reset();
      else answerPlainly(call);
    };
    const request = { src: path, xAttr: { namespace: 'USER', name: 'big', value }, flag: 3 };
    const reply = await client.call({ method: 'setXAttr', request }, BIG_WITHIN_MS);
    const calls = namenode.callsOf({ method: 'setXAttr' }).slice(sent);
    expect(reply.status).toBe('SUCCESS');
    expect(calls.map((call) => call.path)).toEqual([path, path]);
    for (const call of calls) expect(digest((call.request['xAttr'] as Plain)['value'] as Buffer)).toBe(digest(value));
  });

  it('an answer of 20 MiB arrives whole, and calls beside it are served', async () => {
    using client = await cluster.connect();
    using other = await cluster.connect();
    const value = bigValue(2);
    namenode.handler = (call) => {
      if (call.method !== 'getXAttrs') answerPlainly(call);
      else call.succeed({ xAttrs: [{ namespace: 'USER', name: 'big', value }] });
    };
    const get = client.call({ method: 'getXAttrs', request: { src: '/ns0/big', xAttrs: [] } }, BIG_WITHIN_MS);
    for (let i = 0; i < 20; i++) {
      expect((await other.call({ method: 'getFileInfo', request: { src: '/ns0/small' } })).status).toBe('SUCCESS');
    }
    const reply = await get;
    const [attribute] = decodeResponse('getXAttrs', reply.body)['xAttrs'] as [Plain];
    expect(digest(attribute['value'] as Buffer)).toBe(digest(value));
    expect(reply.clientId).toEqual(client.clientId);
  });

  it('a directory of 100,000 entries is listed page by page', async () => {
    namenode.handler = listPage;
    using client = await cluster.connect();
    let next = 0;
    let startAfter: Buffer = Buffer.alloc(0);
    for (let remaining = ENTRIES; remaining > 0; ) {
      const { dirList } = await client.result({
        method: 'getListing',
        request: { src: '/moved', startAfter, needLocation: false },
      });
      const { partialListing, remainingEntries } = dirList as { partialListing: Plain[]; remainingEntries: number };
      for (const entry of partialListing) {
        if (!(entry['path'] as Buffer).equals(Buffer.from(nameOf(next))) || entry['length'] !== next)
          expect(entry).toEqual(fileStatus(next, nameOf(next)));
        next++;
      }
      startAfter = Buffer.from(nameOf(next - 1));
      remaining = remainingEntries;
    }
    expect(next).toBe(ENTRIES);
    expect(namenode.callsOf({ method: 'getListing', path: '/target' })).toHaveLength(ENTRIES / PAGE_ENTRIES);
  });

  const LENGTH_TOO_LARGE = Buffer.alloc(4);
  LENGTH_TOO_LARGE.writeInt32BE(MAX_RESPONSE_BYTES + 1);
  it.each([
    { what: 'longer than allowed', bytes: LENGTH_TOO_LARGE, why: 'ipc.maximum.response.length' },
    { what: 'of negative length', bytes: Buffer.from('80000000', 'hex'), why: 'ipc.maximum.response.length' },
    { what: 'whose header cannot be read', bytes: Buffer.from('0000000308ffff', 'hex'), why: 'malformed reply header' },
  ])('an answer $what ends its own connection and its own call only', async ({ what, bytes, why }) => {
    const bad = `/ns0/bad answer ${what}`;
    namenode.handler = () => {};
    using elsewhere = await cluster.connect('bob');
    using unlucky = await cluster.connect();
    const beside = await cluster.connectMany(5);
    const bobs = elsewhere.call({ method: 'getFileInfo', request: { src: `${bad}/bob` } });
    const besides = beside.map((client, i) =>
      client.call({ method: 'getFileInfo', request: { src: `${bad}/beside-${i}` } }),
    );
    const ofBob = await namenode.waitForCall({ path: `${bad}/bob` });
    for (const i of beside.keys()) await namenode.waitForCall({ path: `${bad}/beside-${i}` });
    namenode.handler = (call) => (call.path === bad ? call.sendBytes(bytes) : answerPlainly(call));
    const refused: RawReply = await unlucky.call({ method: 'getFileInfo', request: { src: bad } });
    expect([refused.status, refused.exception]).toEqual(['ERROR', IO]);
    expect(refused.message).toContain(why);
    // Sent with the others, then alone; the others are answered from their second sending.
    expect(namenode.callsOf({ path: bad })).toHaveLength(2);
    for (const reply of await all(besides)) expect(reply.status).toBe('SUCCESS');
    for (const i of beside.keys()) expect(namenode.callsOf({ path: `${bad}/beside-${i}` })).toHaveLength(2);
    // Another user's connection carries its call still.
    expect(ofBob.peer.open).toBe(true);
    answerPlainly(ofBob);
    expect((await bobs).status).toBe('SUCCESS');
    expect(namenode.callsOf({ path: `${bad}/bob` })).toHaveLength(1);
    disposeAll(beside);
  });
});
