import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { run as clean, findLeftovers, readMarkerAge } from '../../src/load/namespace/clean.ts';
import { MarkerRenewal } from '../../src/load/namespace/marker-renewal.ts';
import { prepareNamespace } from '../../src/load/namespace/namespace.ts';
import { markerPath } from '../../src/load/namespace/own-directory.ts';
import type { LoadPlan, Target } from '../../src/load/plan/plan.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { loadPlan } from '../support/load-thread-run.ts';
import { waitUntil } from '../support/wait.ts';

const HOST = '127.0.0.1';
const OWN = 'switchyard-load-0a1b2c3d';
const WORK: Target = { name: '/place', directory: '/place', own: `/place/${OWN}` };
const OTHER: Target = { name: '/other', directory: '/other', own: `/other/${OWN}` };
const MARKER = markerPath(WORK.own);
const HOUR_MS = 3_600_000;

let simulator: Simulator;
let root: HdfsClient;
let port = 0;

beforeEach(async () => {
  simulator = await startSimulator({ nameservices: ['ns0'], namenodes: 1, superuser: 'root' });
  port = simulator.nameservices[0]!.namenodes[0]!.port;
  root = await HdfsClient.connect({ host: HOST, port, user: 'root' });
  await root.mkdirs('/place', 0o777);
  await root.mkdirs('/other', 0o777);
});

afterEach(async () => {
  root.close();
  await simulator.close();
});

function planFor(changes: Partial<LoadPlan> = {}): LoadPlan {
  return loadPlan({ port, users: ['alice'], targets: [WORK], filesPerTarget: 1, ...changes });
}

async function cleaned(...args: string[]): Promise<{ code: number; text: string }> {
  const write = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  try {
    const code = await clean([
      '--fs',
      `hdfs://${HOST}:${port}`,
      '--mounts',
      '/place,/other',
      '--user',
      'root',
      ...args,
    ]);
    return { code, text: write.mock.calls.map(([text]) => String(text)).join('') };
  } finally {
    write.mockRestore();
  }
}

async function setTime(path: string, timeMs: number): Promise<void> {
  const request = { src: path, mtime: timeMs, atime: timeMs };
  const [type, response] = ['hadoop.hdfs.SetTimesRequestProto', 'hadoop.hdfs.SetTimesResponseProto'];
  await root.rpc.call('org.apache.hadoop.hdfs.protocol.ClientProtocol', 'setTimes', type, response, request);
}

async function timeOf(path: string): Promise<number> {
  return (await root.getFileInfo(path))?.modification_time ?? Number.NaN;
}

async function namesIn(path: string): Promise<string[] | undefined> {
  return (await root.list(path))?.map((status) => status.path.toString());
}

describe('leftovers of earlier runs', () => {
  it('are removed when they are old enough, and only those with a marker', async () => {
    await prepareNamespace(planFor());
    await root.mkdirs('/other/switchyard-load-ffffffff/data');
    await root.mkdirs('/other/mine');
    await root.createEmptyFile(markerPath('/other/mine'));
    expect((await findLeftovers({ host: HOST, port }, [WORK, OTHER], 'root')).marked).toEqual([WORK]);

    const kept = await cleaned();
    const unmarked = 'kept     /other/switchyard-load-ffffffff: no marker, and not empty';
    expect(kept).toEqual({
      code: 0,
      text: expect.stringMatching(`^kept +${WORK.own} .*--older-than\n${unmarked}.*\n$`),
    });
    const found = await cleaned('--older-than', '0', '--dry-run');
    expect(found.text).toMatch(`found    ${WORK.own}`);
    expect(await namesIn(WORK.own)).toEqual([`.${OWN}`, 'files']);
    const removed = await cleaned('--older-than', '0');
    expect(removed.text).toMatch(`removed  ${WORK.own}`);
    expect((await cleaned('--older-than', '0')).text).toMatch(RegExp(`^${unmarked}[^\n]*\n$`));
    expect(await namesIn('/place')).toEqual([]);
    expect(await namesIn('/other')).toEqual(['mine', 'switchyard-load-ffffffff']);
  });

  it('without a marker are named, and removed when they are empty and old', async () => {
    expect((await cleaned('--older-than', '0')).text).toBe('nothing was left in /place, /other\n');
    await root.mkdirs(WORK.own);
    expect((await cleaned()).text).toMatch(
      RegExp(`^kept     ${WORK.own}: no marker, empty, last changed .* --older-than\n$`),
    );
    await setTime(WORK.own, Date.now() - 2 * HOUR_MS);
    expect((await cleaned('--dry-run')).text).toMatch(`found    ${WORK.own}: no marker`);
    expect(await namesIn('/place')).toEqual([OWN]);
    expect((await cleaned()).text).toMatch(`removed  ${WORK.own}: no marker`);
    expect(await namesIn('/place')).toEqual([]);
  });

  it('are as old as their marker, whatever changed in them', async () => {
    await prepareNamespace(planFor());
    const nowMs = await timeOf(MARKER);
    await setTime(MARKER, nowMs - 2 * HOUR_MS);
    await root.createEmptyFile(`${WORK.own}/files/new`);
    expect((await cleaned()).text).toMatch(`removed  ${WORK.own}`);
    expect(await namesIn('/place')).toEqual([]);
  });

  it('are none while the marker is renewed, although nothing changes in them', async () => {
    await prepareNamespace(planFor());
    const nowMs = await timeOf(MARKER);
    for (const path of [MARKER, WORK.own, `${WORK.own}/files`]) await setTime(path, nowMs - 2 * HOUR_MS);
    using _renewal = new MarkerRenewal(planFor(), 'alice', 1);
    await waitUntil(async () => (await timeOf(MARKER)) >= nowMs, 'renewal');
    expect((await cleaned()).text).toMatch(`kept     ${WORK.own}`);
    expect(await root.getFileInfo(WORK.own)).toBeDefined();
  });

  it.each([-2, 2])('are as old by a clock that is %d hours off', async (hours) => {
    await prepareNamespace(planFor());
    const now = Date.now;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + hours * HOUR_MS);
    try {
      expect((await cleaned()).text).toMatch(`kept     ${WORK.own}`);
      await setTime(MARKER, (await timeOf(MARKER)) - 2 * HOUR_MS);
      expect((await cleaned()).text).toMatch(`removed  ${WORK.own}`);
    } finally {
      clock.mockRestore();
    }
  });

  it('that cannot be looked at do not keep the others', async () => {
    await prepareNamespace(planFor({ targets: [OTHER, WORK] }));
    const spy = vi.spyOn(HdfsClient.prototype, 'createEmptyFile').mockRejectedValueOnce(new Error('not allowed'));
    const { code, text } = await cleaned('--older-than', '0');
    spy.mockRestore();
    expect(code).toBe(1);
    expect(text).toMatch(`left     ${WORK.own}: not allowed\nremoved  ${OTHER.own}`);
  });

  it('that go in the meantime are nothing', async () => {
    expect(await readMarkerAge({ host: HOST, port }, WORK.own, 'root')).toBeNull();
  });

  it('are looked for where the command line says', async () => {
    await expect(clean(['--fs', `hdfs://${HOST}:${port}`])).rejects.toThrow('give --mounts');
    const nowhere = ['--fs', `hdfs://${HOST}:${port}`, '--mounts', '/none'];
    await expect(clean(nowhere)).rejects.toThrow('/none does not exist');
  });
});

describe('the renewal of markers', () => {
  it('goes on for every target, whatever fails at one of them', async () => {
    await prepareNamespace(planFor({ targets: [WORK, OTHER] }));
    await root.delete(WORK.own, true);
    const other = markerPath(OTHER.own);
    using _renewal = new MarkerRenewal(planFor({ targets: [WORK, OTHER] }), 'alice', 1);
    const first = await timeOf(other);
    await waitUntil(async () => (await timeOf(other)) > first, 'first renewal');
    const second = await timeOf(other);
    await waitUntil(async () => (await timeOf(other)) > second, 'second renewal');
    // What was removed does not come back.
    expect(await namesIn('/place')).toEqual([]);
  });
});
