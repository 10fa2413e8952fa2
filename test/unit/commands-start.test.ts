import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { serve, startFromOptions } from '../../src/commands/start.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { createLog, type Log } from '../../src/control/log.ts';
import type { RouterOptions, RunningRouter } from '../../src/control/router-types.ts';

const NS0 = [
  'dfs.nameservices=ns0,ns1',
  'dfs.namenode.rpc-address.ns0=h0:8020',
  'dfs.namenode.rpc-address.ns1=h1:8020',
];

const started: RouterOptions[] = [];
const running: RunningRouter = {
  rpc: '127.0.0.1:8888',
  admin: '',
  http: '',
  drain: () => Promise.resolve({ cut: 0 }),
  closed: new Promise(() => {}),
};
vi.mock('../../src/control/router.ts', () => ({
  startRouter: (options: RouterOptions) => {
    started.push(options);
    return Promise.resolve(running);
  },
}));

/** A log that keeps what is written: level and message. */
function recordingLog(): { log: Log; lines: { level: number; msg: string }[] } {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'switchyard-start-'));
  started.length = 0;
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('startFromOptions', () => {
  it('hands settings, topology and mounts to the router', async () => {
    const { log } = recordingLog();
    const options = {
      configDir: null,
      set: NS0,
      rpc: '127.0.0.1:0',
      acceptors: 2,
      workers: '3',
      handoff: 'inline',
      mounts: ['/a=ns0:/b'],
      log,
    };
    expect(await startFromOptions(options)).toBe(running);
    const [given] = started;
    expect(given?.settings).toMatchObject({
      rpcHost: '127.0.0.1',
      rpcPort: 0,
      acceptors: 2,
      workers: 3,
      handoff: 'inline',
    });
    expect(given?.topology.nameservices.map(({ id }) => id)).toEqual(['ns0', 'ns1']);
    expect(given?.entries).toMatchObject([{ sourcePath: '/a', destinations: [{ nameservice: 'ns0', path: '/b' }] }]);
    expect(given?.configuration.origin('switchyard.workers')).toBe('--workers');
    expect(given?.log).toBe(log);
  });

  it('lets --rpc take the place of a bind host', async () => {
    const { log } = recordingLog();
    await startFromOptions({
      configDir: null,
      set: [...NS0, 'dfs.federation.router.rpc-bind-host=10.9.9.9'],
      rpc: '127.0.0.1:7',
      log,
    });
    expect(started[0]?.settings).toMatchObject({ rpcHost: '127.0.0.1', rpcPort: 7 });
  });

  it.each([
    ['the file driver', 'StateStoreFileImpl', 'FileDriver'],
    ['ZooKeeper', 'StateStoreZooKeeperImpl', 'ZooKeeperDriver'],
  ])('opens the State Store of %s, and keeps the mounts of the command line apart', async (_, driver, name) => {
    const store = [
      `dfs.federation.router.store.driver.class=org.apache.hadoop.hdfs.server.federation.store.driver.impl.${driver}`,
      `dfs.federation.router.store.driver.file.directory=${root}`,
      'hadoop.zk.address=localhost:1',
    ];
    await startFromOptions({ configDir: null, set: [...NS0, ...store], mounts: ['/a=ns1:/elsewhere'] });
    expect(started[0]?.driver?.constructor.name).toBe(name);
    expect(started[0]?.entries.map(({ sourcePath }) => sourcePath)).toEqual(['/a']);
    await started[0]?.driver?.close();
  });

  it('refuses a free port together with a State Store: every router on the host would have the same name there', async () => {
    const store = [
      'dfs.federation.router.store.driver.class=org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl',
      `dfs.federation.router.store.driver.file.directory=${root}`,
    ];
    const free = startFromOptions({ configDir: null, set: [...NS0, ...store], rpc: '127.0.0.1:0' });
    await expect(free).rejects.toThrow(/--rpc.*port 0.*State Store.*a port of its own/);
    expect(started).toHaveLength(0);
  });

  it('says what is let pass and what looks wrong', async () => {
    const { log, lines } = recordingLog();
    await startFromOptions({
      configDir: null,
      set: [
        ...NS0,
        'hadoop.security.authentication=kerberos',
        'dfs.federation.router.observer.read.default=true',
        'dfs.federation.router.metrics.enable=maybe',
      ],
      insecure: ['hadoop.security.authentication'],
      mounts: ['/a=ns0:/a'],
      log,
    });
    const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toEqual([
      'running without this protection: Kerberos is not built yet: set it to simple',
      expect.stringContaining('dfs.federation.router.metrics.enable: "maybe" is neither true nor false'),
    ]);
    expect(lines.map(({ msg }) => msg)).toContain('keys without effect in this release, see check-config');
  });

  function warnings(lines: readonly { level: number; msg: string }[]): string[] {
    return lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
  }

  it('warns when no path leads anywhere', async () => {
    const { log, lines } = recordingLog();
    await startFromOptions({ configDir: null, set: NS0, log });
    expect(warnings(lines)).toEqual([
      expect.stringMatching(/every path is refused; give it a default nameservice .*--mount/),
    ]);
    lines.length = 0;
    await startFromOptions({ configDir: null, set: NS0, mounts: ['/a=ns0,ns1:/a', '/b=ns0:/b'], log });
    expect(warnings(lines)).toEqual([]);
    lines.length = 0;
    const set = [...NS0, 'dfs.federation.router.default.nameserviceId=ns0'];
    await startFromOptions({ configDir: null, set, log });
    expect(warnings(lines)).toEqual([]);
  });

  it('refuses a State Store that it does not read, and warns of it when mounts are given', async () => {
    const { log, lines } = recordingLog();
    const key = 'dfs.federation.router.store.driver.class';
    const set = [...NS0, `${key}=org.example.MyStore`, 'dfs.federation.router.default.nameserviceId=ns0'];
    await expect(startFromOptions({ configDir: null, set, log })).rejects.toMatchObject({
      name: 'ConfigError',
      key,
      message: expect.stringContaining('names a State Store that this release does not read'),
    });
    expect(started).toEqual([]);
    await startFromOptions({ configDir: null, set, mounts: ['/a=ns0:/a'], log });
    expect(warnings(lines)).toEqual([expect.stringContaining(`${key}: names a State Store`)]);
  });

  it('refuses an address of another machine', async () => {
    await expect(startFromOptions({ configDir: null, set: NS0, rpc: '192.0.2.1:0' })).rejects.toThrow(
      '--rpc: dfs.federation.router.rpc-address = "192.0.2.1:0": 192.0.2.1 is no address of this machine',
    );
    expect(started).toEqual([]);
  });

  it('refuses a wrong configuration before anything starts', async () => {
    await expect(startFromOptions({ configDir: null })).rejects.toThrow(ConfigError);
    await expect(
      startFromOptions({ configDir: null, set: [...NS0, 'hadoop.security.authorization=true'] }),
    ).rejects.toThrow('--insecure');
    await expect(startFromOptions({ configDir: null, set: NS0, mounts: ['/a=ns9:/'] })).rejects.toThrow(
      'called ns9; there are ns0, ns1',
    );
    await expect(startFromOptions({ configDir: null, set: NS0, mountsFile: join(root, 'none.json') })).rejects.toThrow(
      'none.json',
    );
    expect(started).toEqual([]);
  });
});

describe('serve', () => {
  function router(parts: Partial<RunningRouter>): RunningRouter {
    return { ...running, ...parts };
  }

  it.each([
    [0, 0],
    [3, 1],
  ])('drains at the first signal: %i calls cut end with %i', async (cut, code) => {
    const signals = new EventEmitter();
    const { log, lines } = recordingLog();
    const ended = serve(router({ drain: () => Promise.resolve({ cut }) }), log, signals);
    signals.emit('SIGTERM', 'SIGTERM');
    expect(await ended).toBe(code);
    if (cut > 0) expect(lines.at(-1)).toMatchObject({ cut, level: 40 });
    expect(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT')).toBe(0);
  });

  it('ends at once at the second signal, but not when the first is delivered twice', async () => {
    const signals = new EventEmitter();
    let nowMs = 0;
    let drains = 0;
    let ended: number | null = null;
    const drain = (): Promise<{ cut: number }> => {
      drains++;
      return new Promise(() => {});
    };
    const end = serve(router({ drain }), recordingLog().log, signals, () => nowMs).then((code) => {
      ended = code;
    });
    signals.emit('SIGINT', 'SIGINT');
    nowMs = 999;
    signals.emit('SIGINT', 'SIGINT');
    await new Promise((resolve) => setImmediate(resolve));
    expect([drains, ended]).toEqual([1, null]);
    nowMs = 1_000;
    signals.emit('SIGTERM', 'SIGTERM');
    await end;
    expect([drains, ended]).toEqual([1, 1]);
  });

  it('waits for the count of calls cut although the router has closed', async () => {
    const signals = new EventEmitter();
    const closed = Promise.withResolvers<number>();
    const drained = Promise.withResolvers<{ cut: number }>();
    const end = serve(router({ drain: () => drained.promise, closed: closed.promise }), recordingLog().log, signals);
    signals.emit('SIGTERM', 'SIGTERM');
    await new Promise((resolve) => setImmediate(resolve));
    closed.resolve(0);
    drained.resolve({ cut: 2 });
    expect(await end).toBe(1);
  });

  it("ends with the router's own code when it ends by itself", async () => {
    const signals = new EventEmitter();
    expect(await serve(router({ closed: Promise.resolve(7) }), recordingLog().log, signals)).toBe(7);
    expect(signals.listenerCount('SIGTERM')).toBe(0);
  });

  it('fails when draining fails', async () => {
    const signals = new EventEmitter();
    const end = serve(router({ drain: () => Promise.reject(new Error('stuck')) }), recordingLog().log, signals);
    signals.emit('SIGTERM', 'SIGTERM');
    await expect(end).rejects.toThrow('stuck');
  });
});

describe('log', () => {
  it('keeps to its level, plain and for a terminal', async () => {
    for (const pretty of [false, true]) {
      const log = await createLog('warn', pretty);
      expect([log.isLevelEnabled('info'), log.isLevelEnabled('warn')]).toEqual([false, true]);
    }
  });
});
