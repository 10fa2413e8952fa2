import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { escapeKey } from '../../src/state-store/record-names.ts';
import { decodeMount, encodeMount, type MountRecord } from '../../src/state-store/records.ts';
import { OPEN_ACL } from '../../src/state-store/zookeeper/protocol.ts';
import { ZooKeeperDriver } from '../../src/state-store/zookeeper-driver.ts';
import { type Changed, COUNTER, type Step } from '../support/mount-writer.ts';
import { within } from '../support/wait.ts';
import { ZooKeeperServer } from '../support/zookeeper-server.ts';
import { DEFAULTS, mount } from '../unit/mount-samples.ts';

/** Processes that change one mount table at the same time. */

const FULL = process.env['SWITCHYARD_TEST_FULL'] === '1';
const PROCESSES = 8;
const CHANGES = FULL ? 1_000 : 50;
const LIMIT_MS = FULL ? 600_000 : 60_000;
const READY_WITHIN_MS = 60_000;
const PARENT = '/writers';
const WRITER = fileURLToPath(new URL('../support/mount-writer.ts', import.meta.url));

let server: ZooKeeperServer;
let driver: ZooKeeperDriver;
const writers: ChildProcess[] = [];

beforeAll(async () => {
  server = await ZooKeeperServer.start();
  const servers = [server.address];
  const times = { timeoutMs: 20_000, numRetries: 3, retryIntervalMs: 100 };
  driver = new ZooKeeperDriver({ servers, chroot: '', parentPath: PARENT, ...times, acl: OPEN_ACL, auth: [] });
  await driver.start();
  for (let i = 0; i < PROCESSES; i++) {
    writers.push(fork(WRITER, [`${server.host}:${server.port}`, PARENT, `w${i}`, String(CHANGES)]));
  }
  await Promise.all(writers.map((writer) => within(once(writer, 'message'), 'the writer is ready', READY_WITHIN_MS)));
}, 120_000);

afterAll(async () => {
  const ended = writers.map((writer) => once(writer, 'exit'));
  for (const writer of writers) writer.disconnect();
  await Promise.all(ended);
  await driver?.close();
  await server?.[Symbol.asyncDispose]();
});

/** All writers do it at once; what each of them has changed. */
async function allDo(step: Step): Promise<Changed[]> {
  return await Promise.all(
    writers.map(async (writer) => {
      const answer = within(once(writer, 'message'), `a writer has ended with ${step}`, LIMIT_MS);
      writer.send(step);
      return (await answer)[0] as Changed;
    }),
  );
}

/** How many changes of all writers ended in which way. */
function kindsOf(all: readonly Changed[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { kinds } of all)
    for (const [kind, count] of Object.entries(kinds)) sums[kind] = (sums[kind] ?? 0) + count;
  return sums;
}

async function stored(): Promise<Map<string, MountRecord>> {
  const { records, problems } = await driver.readAll('MountTable');
  expect(problems).toEqual([]);
  return new Map(
    records.map(({ bytes }) => {
      const { record } = decodeMount(bytes, DEFAULTS);
      return [record.entry.sourcePath, record];
    }),
  );
}

describe(`${PROCESSES} processes with ${CHANGES} changes each`, () => {
  it(
    'keep all entries of different paths',
    async () => {
      expect(kindsOf(await allDo('distinct'))).toEqual({ done: PROCESSES * CHANGES });
      const table = await stored();
      for (let writer = 0; writer < PROCESSES; writer++) {
        for (let i = 0; i < CHANGES; i++) {
          expect(table.get(`/w${writer}/${i}`)?.entry.destinations[0]?.path).toBe(`/w${writer}`);
        }
      }
    },
    LIMIT_MS,
  );

  it(
    'add each entry of one path once, and all others are told that it is there',
    async () => {
      const all = await allDo('common');
      expect(kindsOf(all)).toEqual({ done: CHANGES, exists: (PROCESSES - 1) * CHANGES });
      const table = await stored();
      for (const [writer, { added }] of all.entries()) {
        for (const path of added) expect(table.get(path)?.entry.destinations[0]?.path).toBe(`/w${writer}`);
      }
      expect(new Set(all.flatMap(({ added }) => added)).size).toBe(CHANGES);
    },
    LIMIT_MS,
  );

  it(
    'lose no change of one entry that was answered',
    async () => {
      const options = { update: false, errorIfExists: true };
      await driver.put('MountTable', escapeKey(COUNTER), encodeMount(mount(COUNTER, ['ns0:/x'])), options);
      const kinds = kindsOf(await allDo('counter'));
      // Where one changes it again and again another may have to give up, and says so.
      expect(Object.keys(kinds).filter((kind) => kind !== 'done' && kind !== 'lost')).toEqual([]);
      expect(kinds['done']).toBeGreaterThan(0);
      expect((await stored()).get(COUNTER)?.entry.quota.spaceConsumed).toBe(BigInt(kinds['done'] ?? 0));
    },
    LIMIT_MS,
  );
});
