import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../../src/commands/load.ts';
import type { LoadResult } from '../../src/load/result/result.ts';
import { waitUntil } from '../support/wait.ts';
import type { Endpoint } from './support.ts';
import { ENDPOINT, Rig, Shell, startEndpoint } from './support.ts';

/** The load tool before real NameNodes, and a replay of their own audit log. */

const MOUNTS = ['/load0=ns0:/load0', '/load1=ns1:/load1'];
const DIRECTORIES = ['/load0', '/load1'];
const LOAD_USER = 'loader';

let rig: Rig;
let endpoint: Endpoint;
let shell: Shell;
let local = '';

beforeAll(async () => {
  local = mkdtempSync(join(tmpdir(), 'switchyard-load-'));
  rig = await Rig.start({ mounts: MOUNTS });
  await rig.makeTargets(['ns0:/load0', 'ns1:/load1']);
  endpoint = await startEndpoint(rig);
  shell = await Shell.start(rig, endpoint.uri);
  if (ENDPOINT === 'namenode') await shell.ok(['-mkdir', '-p', ...DIRECTORIES]);
  await shell.ok(['-chmod', '777', ...DIRECTORIES]);
  await shell.ok(['-mkdir', '-p', '/load0/data/sub', '/load1/data']);
  await shell.ok(['-touchz', '/load0/data/sub/file', '/load1/data/file']);
});

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
  await rig?.[Symbol.asyncDispose]();
  rmSync(local, { recursive: true, force: true });
});

/** What `load` with these arguments found; it must succeed. */
async function load(name: string, ...args: string[]): Promise<LoadResult> {
  const file = join(local, `${name}.json`);
  const written = (['stdout', 'stderr'] as const).map((to) =>
    vi.spyOn(process[to], 'write').mockImplementation(() => true),
  );
  let code = -1;
  try {
    code = await run([...args, '--fs', endpoint.uri, '--mounts', DIRECTORIES.join(), '--json', file]);
  } finally {
    for (const write of written) write.mockRestore();
  }
  const result = JSON.parse(readFileSync(file, 'utf8')) as LoadResult;
  expect(result.errorClasses).toEqual([]);
  expect(code).toBe(0);
  return result;
}

/** Everything below the given directories with owners, modes and times. */
async function listAll(): Promise<string> {
  return await shell.ok(['-ls', '-R', ...DIRECTORIES]);
}

interface Audited {
  readonly user: string;
  readonly command: string;
  readonly paths: string;
}

/** Allowed calls of users in a part of the audit log. */
function readAudited(text: string, users: readonly string[]): Audited[] {
  return text.split('\n').flatMap((line) => {
    const [, user = '', command = '', source = '', destination = ''] =
      /allowed=true\tugi=(\S+).*\tcmd=([^\t]*)\tsrc=([^\t]*)\tdst=([^\t]*)/.exec(line) ?? [];
    return users.includes(user) ? [{ user, command, paths: `${source} ${destination}` }] : [];
  });
}

function auditSince(bytes: number): string {
  return readFileSync(rig.up.auditLog).subarray(bytes).toString('utf8');
}

describe('load', () => {
  it('makes every call of its mix in every mount, and leaves nothing behind', async () => {
    const before = await listAll();
    const asked = ['--rate', '400', '--duration', '3s', '--warmup', '1s', '--files', '200', '--connections', '8'];
    const result = await load('load', ...asked, '--user', LOAD_USER, '--users', '2');
    expect(result.plan.loop.kind).toBe('open');
    expect(result.calls).toBeGreaterThan(0);
    expect(result.operations.map(({ name }) => name).sort()).toEqual([
      'delete',
      'getBlockLocations',
      'getFileInfo',
      'getListing',
      'mkdirs',
      'rename',
    ]);
    expect(result.targets.map(({ name }) => name)).toEqual(DIRECTORIES);
    for (const { calls } of result.targets) expect(calls).toBeGreaterThan(0);
    expect(await listAll()).toBe(before);
    const outside = readAudited(auditSince(0), [`${LOAD_USER}-0`, `${LOAD_USER}-1`]).filter(
      ({ command, paths }) => command !== 'getfileinfo' && !/^\/load[01]\/switchyard-load-[0-9a-f]{8}[/ ]/.test(paths),
    );
    expect(outside).toEqual([]);
  });
});

describe('replay', () => {
  it('makes the calls of a real audit log once more, by their users', async () => {
    const users = ['alice', 'bob'];
    const start = statSync(rig.up.auditLog).size;
    const hello = join(local, 'hello');
    writeFileSync(hello, 'hello\n');
    await shell.ok(['-mkdir', '-p', '/load0/alice/in'], 'alice');
    await shell.ok(['-put', hello, '/load0/alice/in/hello'], 'alice');
    await shell.ok(['-mkdir', '/load1/bob'], 'bob');
    await shell.ok(['-cp', '/load0/alice/in/hello', '/load1/bob/copy'], 'bob');
    await shell.ok(['-cat', '/load0/data/sub/file', '/load0/alice/in/hello'], 'bob');
    await shell.ok(['-mv', '/load0/alice/in/hello', '/load0/alice/moved'], 'alice');
    await shell.ok(['-chmod', '640', '/load0/alice/moved'], 'alice');
    await shell.ok(['-touch', '/load1/bob/copy'], 'bob');
    await shell.ok(['-du', '-s', '/load0/alice', '/load1/bob'], 'bob');
    await shell.ok(['-ls', '-R', '/load0/data'], 'alice');
    await shell.fails(['-rm', '-r', '-skipTrash', '/load0/data'], 'bob');
    await shell.ok(['-rm', '-r', '-skipTrash', '/load0/alice'], 'alice');
    await shell.ok(['-rm', '-r', '-skipTrash', '/load1/bob'], 'bob');
    await waitUntil(() => /cmd=delete\tsrc=\/load1\/bob\t/.test(auditSince(start)), 'last line of the audit log');
    const recorded = auditSince(start);
    const log = join(local, 'audit.log');
    writeFileSync(log, recorded);
    const expected = readAudited(recorded, users);
    for (const command of ['open', 'create', 'mkdirs', 'rename', 'delete', 'setPermission', 'contentSummary']) {
      expect(expected.map((one) => one.command.split(' ')[0])).toContain(command);
    }

    const before = await listAll();
    const replayStart = statSync(rig.up.auditLog).size;
    const result = await load('replay', 'replay', log, '--user', LOAD_USER, '--speed', '10x');
    expect(result.plan.loop).toEqual({ kind: 'replay', speed: 10 });
    expect([...result.plan.users].sort()).toContain('alice');
    expect(await listAll()).toBe(before);

    const own = /(\/load[01])\/switchyard-load-[0-9a-f]{8}\/replay/g;
    await waitUntil(
      () => readAudited(auditSince(replayStart), users).length >= expected.length,
      'calls in the audit log',
    );
    const replayed = readAudited(auditSince(replayStart), users);
    expect(replayed.map((one) => ({ ...one, paths: one.paths.replace(own, '') })).sort(byText)).toEqual(
      expected.sort(byText),
    );
    for (const { paths } of replayed) expect(paths).toMatch(own);
  });
});

function byText(left: Audited, right: Audited): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;
}
