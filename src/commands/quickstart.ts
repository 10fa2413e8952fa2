import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HdfsClient } from '../control/hdfs-client.ts';
import { createLog } from '../control/log.ts';
import type { RunningRouter } from '../control/router-types.ts';
import { writeConfigFiles } from '../simulator/config-files.ts';
import { completeOptions } from '../simulator/options.ts';
import { type SimulatedNameservice, type Simulator, startSimulator } from '../simulator/simulator.ts';
import { startFromOptions } from './start.ts';
import { SignalWait } from './until-signal.ts';
import { ExitCode, parseFlags, printLine } from './usage.ts';

/** Mount points of the demonstration. */
const MOUNTS = ['/data=ns0:/warehouse', '/logs=ns1:/logs', '/home=ns1:/user'] as const;

/** What the demonstration does, in this order; paths are the client's. */
const STEPS: readonly { readonly title: string; run(client: HdfsClient): Promise<unknown> }[] = [
  { title: 'mkdir   /data/sales', run: (client) => client.mkdirs('/data/sales') },
  { title: 'create  /data/sales/january', run: (client) => client.createEmptyFile('/data/sales/january') },
  { title: 'mkdir   /logs/web', run: (client) => client.mkdirs('/logs/web') },
  { title: 'create  /logs/web/today', run: (client) => client.createEmptyFile('/logs/web/today') },
  { title: 'rename  /logs/web/today to yesterday', run: renameLog },
  { title: 'mkdir   /home/alice', run: (client) => client.mkdirs('/home/alice') },
];

const TITLE_WIDTH = Math.max(...STEPS.map(({ title }) => title.length));

async function renameLog(client: HdfsClient): Promise<void> {
  if (!(await client.rename('/logs/web/today', '/logs/web/yesterday'))) {
    throw new Error('the router did not rename /logs/web/today');
  }
}

/** Where the demonstration looks afterwards: the target of each mount, straight at its nameservice. */
const TARGETS = MOUNTS.map((mount) => {
  const [source = '', target = ''] = mount.split('=', 2);
  const colon = target.indexOf(':');
  return { source, nameservice: target.slice(0, colon), path: target.slice(colon + 1) };
});

/** `switchyard quickstart`: two simulated nameservices, a router in front, a demonstration; stays up until a signal. */
export async function run(args: string[]): Promise<number> {
  const { once } = parseFlags(args, { once: { type: 'boolean' } });
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-quickstart-'));
  try {
    using signals = new SignalWait();
    const options = completeOptions({ nameservices: ['ns0', 'ns1'], namenodes: 2, observers: 1 });
    await using simulator = await startSimulator(options);
    writeConfigFiles(directory, simulator.nameservices, options);
    await makeTargets(simulator.nameservices, options.superuser);
    const router = await startFromOptions({
      configDir: directory,
      mounts: MOUNTS,
      rpc: '127.0.0.1:0',
      // Only the mount points are to be seen.
      set: [
        'dfs.federation.router.default.nameservice.enable=false',
        // Simulated NameNodes have no web server.
        'dfs.federation.router.namenode.heartbeat.jmx.interval=-1',
        'dfs.federation.router.http-address=127.0.0.1:0',
      ],
      log: await createLog('warn'),
    });
    try {
      await printNameNodes(simulator);
      await demonstrate(simulator, router.rpc, options.superuser);
      await printTrees(simulator.nameservices, options.superuser);
      if (once === true) return ExitCode.OK;
      printHints(router, options.superuser);
      const ended = await Promise.race([signals.signalled, router.closed]);
      return typeof ended === 'number' ? ended : ExitCode.OK;
    } finally {
      await router.drain();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Mounts lead to directories that exist. */
async function makeTargets(nameservices: readonly SimulatedNameservice[], user: string): Promise<void> {
  for (const { nameservice, path } of TARGETS) {
    using client = await connectActive(nameservices, nameservice, user);
    await client.mkdirs(path);
  }
}

/** Does the steps through the router; what it shows on the right comes from the NameNodes' own log of calls. */
async function demonstrate(simulator: Simulator, rpc: string, user: string): Promise<void> {
  printLine('');
  printLine(`A client at the router, hdfs://${rpc}, and what reached a NameNode`);
  const { host, port } = splitAddress(rpc);
  using client = await HdfsClient.connect({ host, port, user });
  for (const { title, run: step } of STEPS) {
    await simulator.control({ op: 'clear' });
    await step(client);
    const [call] = (await simulator.control({ op: 'calls' })).filter((one) => one.executed && one.exception === '');
    const arrived =
      call === undefined ? 'nowhere' : `${call.nameservice} ${call.namenode}  ${call.path} ${call.path2}`.trimEnd();
    printLine(`  ${title.padEnd(TITLE_WIDTH)}  ->  ${arrived}`);
  }
  const names = (await client.list('/'))?.map((entry) => entry.path.toString('utf8')) ?? [];
  printLine(`  ${'list    /'.padEnd(TITLE_WIDTH)}  ->  ${names.join('  ')}`);
}

async function printNameNodes(simulator: Simulator): Promise<void> {
  printLine('Simulated NameNodes');
  const states = await simulator.control({ op: 'status' });
  for (const { id, namenodes } of simulator.nameservices) {
    const list = namenodes.map((namenode) => {
      const state = states.find((one) => one.nameservice === id && one.namenode === namenode.id)?.state ?? '';
      return `${namenode.id} ${namenode.host}:${namenode.port} ${state}`.padEnd(30);
    });
    printLine(`  ${id}  ${list.join(' ').trimEnd()}`);
  }
  printLine('');
  printLine('Mount points');
  for (const { source, nameservice, path } of TARGETS) {
    printLine(`  ${source.padEnd(6)} ->  ${nameservice} ${path}`);
  }
}

/** Shows what the nameservices hold now, asked without the router. */
async function printTrees(nameservices: readonly SimulatedNameservice[], user: string): Promise<void> {
  printLine('');
  printLine('The nameservices, asked directly');
  for (const { id } of nameservices) {
    using client = await connectActive(nameservices, id, user);
    const paths: string[] = [];
    for (const { path } of TARGETS.filter((target) => target.nameservice === id)) {
      await collectPaths(client, path, paths);
    }
    for (const path of paths) {
      printLine(`  ${id}  ${path}`);
    }
  }
}

async function collectPaths(client: HdfsClient, directory: string, paths: string[]): Promise<void> {
  for (const entry of (await client.list(directory)) ?? []) {
    const path = `${directory}/${entry.path.toString('utf8')}`;
    paths.push(entry.fileType === 'IS_DIR' ? `${path}/` : path);
    if (entry.fileType === 'IS_DIR') {
      await collectPaths(client, path, paths);
    }
  }
}

function printHints({ rpc, http }: RunningRouter, user: string): void {
  printLine('');
  printLine(`The router serves hdfs://${rpc}; ${user} is the superuser. Try, with HDFS's own client:`);
  printLine(`  hdfs dfs -ls hdfs://${rpc}/`);
  printLine(`  hdfs dfs -touchz hdfs://${rpc}/data/sales/february`);
  printLine(`  hdfs dfs -count hdfs://${rpc}/logs`);
  printLine('over HTTP:');
  printLine(`  curl http://${http}/api/v1/nameservices`);
  printLine(`  curl 'http://${http}/api/v1/resolve?path=/data/sales'`);
  printLine('and from here:');
  printLine('  npm run -s switchyard -- help');
  printLine('  npm run -s switchyard -- simulate --observers 1');
  printLine('');
  printLine('Ctrl-C ends it.');
}

/** A client of the active NameNode: nn0, since nobody has failed over. */
async function connectActive(
  nameservices: readonly SimulatedNameservice[],
  id: string,
  user: string,
): Promise<HdfsClient> {
  const namenode = nameservices.find((one) => one.id === id)?.namenodes[0];
  if (namenode === undefined) throw new Error(`no NameNode of ${id}`);
  return await HdfsClient.connect({ host: namenode.host, port: namenode.port, user });
}

function splitAddress(rpc: string): { host: string; port: number } {
  const colon = rpc.lastIndexOf(':');
  return { host: rpc.slice(0, colon), port: Number(rpc.slice(colon + 1)) };
}
