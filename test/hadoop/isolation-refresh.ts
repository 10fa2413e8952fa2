import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import type { RouterProcess } from '../support/router-process.ts';
import { waitUntil } from '../support/wait.ts';
import { mountOf, type Nameservice, type Queue, queueOf, startRouter } from './isolation-stage.ts';
import { type CommandResult, type Rig, Shell } from './support.ts';

/** Hadoop's tools make a router read anew what its files say of the call queue, while calls wait. */

const NS: Nameservice = 'ns0';
const WAITING = 3;
const LEVELS = 2;
const END = '</configuration>';

type SiteFile = 'core-site.xml' | 'hdfs-site.xml';

export function defineRefreshTests(rigOf: () => Rig): void {
  describe('-refreshCallQueue', () => {
    const stack = new AsyncDisposableStack();
    let directory: string;
    let router: RouterProcess;
    let shell: Shell;
    let client: RawClient;
    let namenode: string;

    const lock = async (op: 'hang' | 'resume'): Promise<void> =>
      void (await rigOf().ctl({ op, ns: NS, nn: namenode, mode: 'lock' }));
    const ask = (): number => client.send({ method: 'getFileInfo', request: { src: `${mountOf(NS)}/file-0` } });

    beforeAll(async () => {
      const rig = rigOf();
      namenode = (await rig.active(NS)).nn;
      directory = mkdtempSync(join(tmpdir(), 'switchyard-refresh-'));
      stack.defer(() => rmSync(directory, { recursive: true, force: true }));
      cpSync(rig.up.conf, directory, { recursive: true });
      router = stack.use(await startRouter(rig, { configDir: directory }));
      shell = stack.use(await Shell.start(rig));
      client = stack.use(await RawClient.connect(router, { user: 'alice' }));
    });

    afterAll(async () => {
      if (namenode !== undefined) await lock('resume');
      await stack.disposeAsync();
    });

    function add(file: SiteFile, keys: Readonly<Record<string, string>>): void {
      const path = join(directory, file);
      const properties = Object.entries(keys).map(
        ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>\n`,
      );
      writeFileSync(path, readFileSync(path, 'utf8').replace(END, `${properties.join('')}${END}`));
    }

    async function dfsadmin(): Promise<CommandResult> {
      const args = ['-fs', `hdfs://127.0.0.1:${router.adminPort}`, '-refreshCallQueue'];
      return await shell.run(args, { tool: 'dfsadmin' });
    }

    async function dfsrouteradmin(): Promise<CommandResult> {
      const address = `dfs.federation.router.admin-address=127.0.0.1:${router.adminPort}`;
      return await shell.run(['-D', address, '-refreshCallQueue'], { tool: 'dfsrouteradmin' });
    }

    async function becomes(what: string, check: (queue: Queue) => boolean): Promise<Queue> {
      return await waitUntil(async () => {
        const queue = await queueOf(router, NS);
        return check(queue) && queue;
      }, what);
    }

    it('of dfsadmin: another window is in force at once', async () => {
      ask();
      expect((await client.receive()).status).toBe('SUCCESS');
      await becomes('the window is that of the start', ({ window }) => window > 1);
      add('hdfs-site.xml', { 'switchyard.window.floor': '1', 'switchyard.window.ceiling': '1' });
      expect(await dfsadmin()).toMatchObject({ code: 0, err: '' });
      await becomes('the window is the new one', ({ window }) => window === 1);
      await lock('hang');
      for (let i = 0; i <= WAITING; i++) ask();
      await becomes('calls wait', ({ inFlight, waiting }) => inFlight === 1 && waiting === WAITING);
    });

    it('of dfsrouteradmin: calls that wait do so in the new queue', async () => {
      expect((await queueOf(router, NS)).levels).toEqual([{ waiting: WAITING, overflowed: 0 }]);
      add('core-site.xml', {
        'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
        'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
        [`ipc.${router.port}.scheduler.priority.levels`]: String(LEVELS),
      });
      expect(await dfsrouteradmin()).toMatchObject({ code: 0, err: '' });
      const { levels } = await becomes('the queue has levels', (queue) => queue.levels.length === LEVELS);
      expect(levels.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(WAITING);
    });

    it('of a broken file: the tools say what is wrong, and nothing changes', async () => {
      const path = join(directory, 'core-site.xml');
      const whole = readFileSync(path, 'utf8');
      const refused = { code: -1, err: expect.stringContaining('core-site.xml:') };
      writeFileSync(path, whole.slice(0, whole.indexOf(END)));
      expect(await dfsadmin()).toMatchObject(refused);
      // This one keeps the reason for itself.
      expect(await dfsrouteradmin()).toMatchObject({ code: -1, out: expect.stringContaining('unsuccessfully') });
      writeFileSync(path, whole.replace('org.apache.hadoop.ipc.FairCallQueue', 'com.example.Queue'));
      expect(await dfsadmin()).toMatchObject(refused);
      expect(await queueOf(router, NS)).toMatchObject({ window: 1, inFlight: 1, waiting: WAITING });
      expect((await queueOf(router, NS)).levels).toHaveLength(LEVELS);
      await lock('resume');
      for (let i = 0; i <= WAITING; i++) expect((await client.receive()).status).toBe('SUCCESS');
    });
  });
}
