import { encode, messageType } from '../../../src/wire/messages.ts';
import { RawClient } from '../raw-client.ts';
import { ACTIVE, OBSERVER, type Scene, STANDBY } from './scene.ts';

/** How long routers wait for an observer in scenes where it must not answer. */
export const SHORT_PATIENCE = { 'switchyard.observer.patience': '100ms' };
/** Where it is to answer: a busy machine must not make it lose its turn. */
export const LONG_PATIENCE = { 'switchyard.observer.patience': '1s' };
const REFRESH_MS = 50;
export const SHORT_REFRESH = {
  'dfs.federation.router.observer.state.id.refresh.period': `${REFRESH_MS}ms`,
  ...LONG_PATIENCE,
};
/** For bursts that may take a while on a busy machine. */
const SLOW_REFRESH_MS = 1000;
export const SLOW_REFRESH = { 'dfs.federation.router.observer.state.id.refresh.period': `${SLOW_REFRESH_MS}ms` };
/**
 * Between what is written and the call before the one that must see it: twice the period, as an answer tells what was known one period ago, and
 * what a busy machine takes for a turn.
 */
export const FRESH_MS: number = 2 * REFRESH_MS + 250;
const STUCK_MS = 1000;
/** A read that nobody may answer now is watched for so long. */
const WATCH_MS = 300;

/** The observer lags behind what the client itself has written. */
export async function writeAndRead(scene: Scene): Promise<void> {
  const client = scene.connect('federated');
  const other = scene.connect('federated');
  await other.read(0, 0);
  await client.read(0, 0);
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await client.write(0, 0);
  // One that has seen less, between the two.
  await other.read(1, 0);
  await client.read(0, 0);
  await client.read(0, 1);
}

/** As `writeAndRead` for what others wrote: seen at the active, then asked for where it is not yet. */
export async function readTwice(scene: Scene): Promise<void> {
  const reader = scene.connect('federated');
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.connect('federated').write(0, 0);
  await reader.read(0, 0);
  await reader.read(0, 0);
  await reader.read(0, 1);
}

export async function readPlain(scene: Scene): Promise<void> {
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.connect('federated').write(0, 0);
  await scene.connect('none').read(0, 0);
}

export async function msyncAndRead(scene: Scene): Promise<void> {
  const reader = scene.connect('federated');
  await reader.read(0, 0);
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.connect('federated').write(0, 1);
  await reader.msync(0);
  await reader.read(0, 0);
}

/** Clients of another router write, the observer is stuck, and a reader comes back again and again. */
export async function readOnAndOn(scene: Scene): Promise<void> {
  const reader = scene.connect('federated');
  await reader.read(0, 0);
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.connect('federated').write(0, 1);
  const end = performance.now() + STUCK_MS;
  while (performance.now() < end) await reader.read(0, 0);
}

export async function observerWithoutStateIds(scene: Scene): Promise<void> {
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.control({ op: 'settings', settings: { stateIds: false }, of: OBSERVER });
  const client = scene.connect('federated');
  await client.write(0, 0);
  await client.read(0, 0);
}

/** The router knew a state of the active, which does not tell it any more. */
export async function activeWithoutStateIds(scene: Scene): Promise<void> {
  const client = scene.connect('federated');
  await client.read(0, 0);
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.control({ op: 'settings', settings: { stateIds: false }, of: ACTIVE });
  await client.write(0, 0);
  await client.read(0, 0);
}

/** While there is no active, every NameNode is asked, observers too. */
export async function nobodyActive(scene: Scene): Promise<void> {
  await scene.control({ op: 'lag', ...OBSERVER, paused: true });
  await scene.connect('federated').write(0, 0);
  await scene.control({ op: 'settings', settings: { stateIds: false }, of: OBSERVER });
  await scene.control({ op: 'stop', ...ACTIVE });
  const read = scene.connect('none').read(0, 0);
  await Promise.race([read, pause(WATCH_MS)]);
  await scene.control({ op: 'failover', nameservice: 'ns0', to: STANDBY.namenode });
  await read;
}

/** Router 1 takes the fenced NameNode for the active, router 0 does not. */
export async function fencedActive(scene: Scene): Promise<void> {
  const client = scene.connect('federated');
  await client.read(0, 1);
  const end = scene.history.beginDoubt(0, false);
  await scene.control({ op: 'failover', nameservice: 'ns0', to: STANDBY.namenode, fence: { unsynced: 0 } });
  scene.deployment.inline(0).block.setActive(0, 1);
  await client.write(0, 0);
  const read = client.read(0, 1);
  await Promise.race([read, pause(WATCH_MS)]);
  await scene.control({ op: 'transition', to: 'standby', ...ACTIVE });
  end();
  await read;
}

// --- scenes whose harm is not in the history: each gives the number that shows it

/** Reads that came to the active after a client's own write, though the observer has it. */
export async function readsAtActive(scene: Scene): Promise<number> {
  const client = scene.connect('federated');
  await client.write(0, 0);
  const before = await scene.readsAt(ACTIVE);
  await client.read(0, 0);
  return (await scene.readsAt(ACTIVE)) - before;
}

/** Calls that the observer had to put back, when a client claims to have seen what nobody has. */
export async function waitsForMadeUpState(scene: Scene): Promise<number> {
  const type = messageType('hadoop.hdfs.RouterFederatedStateProto');
  const routerFederatedState = encode(type, { namespaceStateIds: { ns0: 100_000 } });
  using client = await RawClient.connect(scene.deployment.serverOf(0), { user: 'hdfs' });
  const request = { src: '/ns0/history/f0' };
  await client.result({ method: 'getFileInfo', request, header: { routerFederatedState } });
  return await requeuedAt(scene, OBSERVER.namenode);
}

/** The same after a fenced active has counted transactions that were never written. */
export async function waitsForUnwritten(scene: Scene): Promise<number> {
  const client = scene.connect('federated');
  await client.read(0, 0);
  await scene.control({ op: 'fence', unsynced: 1000, ...ACTIVE });
  await client.msync(0);
  await scene.control({ op: 'failover', nameservice: 'ns0', to: STANDBY.namenode });
  await scene.control({ op: 'transition', to: 'standby', ...ACTIVE });
  await scene.connect('federated').write(0, 0);
  await client.read(0, 0);
  return await requeuedAt(scene, OBSERVER.namenode);
}

/** Calls that a standby had to put back: it never answers them as long as it lags. */
export async function waitsAtStandby(scene: Scene): Promise<number> {
  await scene.control({ op: 'lag', ...STANDBY, paused: true });
  const client = scene.connect('federated');
  await client.write(0, 0);
  await scene.control({ op: 'stop', ...ACTIVE });
  scene.deployment.inline(0).block.setActive(0, 1);
  await scene.control({ op: 'stop', ...OBSERVER });
  const read = client.read(0, 0);
  await Promise.race([read, pause(WATCH_MS)]);
  const waits = await requeuedAt(scene, STANDBY.namenode);
  await scene.control({ op: 'lag', ...STANDBY });
  await scene.control({ op: 'transition', to: 'active', ...STANDBY });
  await read;
  return waits;
}

/** msyncs that a burst of reads brings after the refresh period. */
export async function msyncsOfBurst(scene: Scene): Promise<number> {
  const reader = scene.connect('federated');
  await reader.read(0, 0);
  await pause(SLOW_REFRESH_MS + 100);
  await Promise.all(Array.from({ length: 50 }, () => reader.read(0, 0)));
  const counts = await scene.control({ op: 'counts' });
  return counts['ns0 nn0 msync'] ?? 0;
}

async function requeuedAt(scene: Scene, id: string): Promise<number> {
  const status = await scene.control({ op: 'status' });
  return status.find(({ namenode }) => namenode === id)!.requeued;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
