import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { startFromOptions } from '../../src/commands/start.ts';
import { readRouterUser } from '../../src/config/settings.ts';
import type { RunningRouter } from '../../src/control/router-types.ts';
import { RouterThread } from '../../src/control/thread-pool.ts';
import type { AdmissionSettings } from '../../src/shared/settings.ts';
import { runAdmin } from '../support/admin-command.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient } from '../support/raw-client.ts';
import { recordLog } from '../support/store-routers.ts';
import { nextEvent, waitUntil } from '../support/wait.ts';

/** A whole router in this process with configuration files that change, and what its threads are told of them. */

const HANDLERS = 'dfs.federation.router.handler.count';
const POLICY = 'dfs.federation.router.fairness.policy.controller.class';
const PACKAGE = 'org.apache.hadoop.hdfs.server.federation.fairness';
const STATIC = `${PACKAGE}.StaticRouterRpcFairnessPolicyController`;
const WORKERS = 2;

let directory: string;
let namenode: EchoNameNode;
let router: RunningRouter;
let threads: Worker[];
let tell: MockInstance<RouterThread['tell']>;
let lines: { readonly msg: string }[];

const onWorker = (worker: Worker): void => void threads.push(worker);

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'switchyard-refresh-'));
  namenode = await EchoNameNode.start('ns0');
  write('hdfs-site.xml', {
    'dfs.nameservices': 'ns0',
    'dfs.namenode.rpc-address.ns0': `127.0.0.1:${namenode.port}`,
  });
  write('hdfs-rbf-site.xml', {});
  threads = [];
  process.on('worker', onWorker);
  tell = vi.spyOn(RouterThread.prototype, 'tell');
  const recorded = recordLog();
  lines = recorded.lines;
  const set = ['admin-address=127.0.0.1:0', 'http-address=127.0.0.1:0', 'monitor.localnamenode.enable=false'];
  router = await startFromOptions({
    configDir: directory,
    mounts: ['/=ns0:/'],
    rpc: '127.0.0.1:0',
    acceptors: 1,
    workers: WORKERS,
    set: set.map((pair) => `dfs.federation.router.${pair}`),
    log: recorded.log,
  });
});

afterEach(async () => {
  await router.drain();
  tell.mockRestore();
  process.off('worker', onWorker);
  await namenode[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function write(file: string, keys: Readonly<Record<string, string>>): void {
  const properties = Object.entries(keys).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>`,
  );
  writeFileSync(join(directory, file), `<configuration>\n${properties.join('\n')}\n</configuration>\n`);
}

/** What threads were told, by thread, in order. */
function told(): { thread: string; admission: AdmissionSettings }[] {
  return tell.mock.calls.flatMap(([message], i) => {
    const thread = tell.mock.contexts[i] as RouterThread;
    return message.kind === 'admission'
      ? [{ thread: `${thread.kind} ${thread.index}`, admission: message.admission }]
      : [];
  });
}

/** How many calls ns0 may have in flight, as the router's HTTP API tells. */
async function windowSize(): Promise<number> {
  const answer = await fetch(`http://${router.http}/api/v1/queues`);
  return ((await answer.json()) as { nameservices: { window: number }[] }).nameservices[0]?.window ?? 0;
}

/** Output of the tool; of a refusal what it prints as an error. */
async function admin(...words: string[]): Promise<string> {
  const { stdout, stderr, error } = await runAdmin(['--admin', router.admin, '--user', readRouterUser(), ...words]);
  if (error !== null) throw error;
  return stdout + stderr;
}

describe('refreshing the call queue', () => {
  it('gives every worker what the files say now, also one that takes the place of a dead one', async () => {
    expect(told()).toEqual([]);
    write('hdfs-rbf-site.xml', {
      [HANDLERS]: '20',
      'ipc.0.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
      'ipc.0.scheduler.priority.levels': '2',
    });
    expect(await admin('-refreshCallQueue')).toContain('has refreshed its call queue');
    expect(told().map(({ thread }) => thread)).toEqual(['worker 0', 'worker 1']);
    for (const { admission } of told()) {
      expect(admission).toMatchObject({ capacity: 2_000, levels: 2, multiplexerWeights: [2, 1] });
    }
    expect(lines.map(({ msg }) => msg)).toContain('call queue and fairness: read from the configuration again');

    // The acceptor's thread was the first.
    const worker = threads[WORKERS] as Worker;
    const exit = nextEvent(worker, 'exit', 'the thread has ended');
    await worker.terminate();
    await exit;
    const { admission } = await waitUntil(() => told()[WORKERS], 'the new thread is told');
    expect(admission.capacity).toBe(2_000);
  });

  it('changes nothing when a file is wrong, or gone', async () => {
    const path = join(directory, 'hdfs-rbf-site.xml');
    write('hdfs-rbf-site.xml', { 'ipc.0.callqueue.impl': 'com.example.Queue' });
    expect(await admin('-refreshCallQueue')).toContain(
      `hdfs-rbf-site.xml:2: ipc.0.callqueue.impl = "com.example.Queue": a class that has no counterpart in this router`,
    );
    writeFileSync(path, '<configuration><property>');
    expect(await admin('-refreshCallQueue')).toContain('hdfs-rbf-site.xml');
    rmSync(path);
    expect(await admin('-refreshCallQueue')).toContain(`hdfs-rbf-site.xml: gone, and was read before; put it back`);
    rmSync(directory, { recursive: true });
    expect(await admin('-refreshCallQueue')).toContain(`${directory}: not a directory`);
    expect(told()).toEqual([]);
  });
});

describe('refreshing the fairness policy', () => {
  const refresh = (): Promise<string> => admin('-refreshRouterArgs', router.admin, 'RefreshFairnessPolicyController');

  it('answers with the class of the policy that holds now', async () => {
    expect(await refresh()).toContain(`${PACKAGE}.NoRouterRpcFairnessPolicyController (exit 0)`);
    const server = { host: '127.0.0.1', port: Number(router.rpc.split(':')[1]) };
    using client = await RawClient.connect(server, { user: 'alice' });
    expect(await client.call({ method: 'getFileInfo', request: { src: '/x' } })).toMatchObject({ status: 'SUCCESS' });
    await waitUntil(async () => (await windowSize()) > 12, 'the window is that of the start');
    write('hdfs-rbf-site.xml', { [POLICY]: STATIC, [HANDLERS]: '12' });
    expect(await refresh()).toContain(`RefreshFairnessPolicyControllerHandler: ${STATIC} (exit 0)`);
    expect(told().at(-1)?.admission).toMatchObject({ timeLimitMs: 1_000, windows: [{ floor: 12, ceiling: 12 }] });
    // Of two workers without anything to do each has half of the window, also the one that has seen no call.
    await waitUntil(async () => (await windowSize()) === 12, 'the window is that of the policy');
  });

  it('answers with what is wrong, and changes nothing', async () => {
    write('hdfs-rbf-site.xml', { [POLICY]: STATIC, [HANDLERS]: '1' });
    expect(await refresh()).toMatch(/less than the minimum required handlers 2; .* \(exit -1\)/);
    expect(told()).toEqual([]);
  });
});
