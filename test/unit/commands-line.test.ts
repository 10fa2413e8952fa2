import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { refuseOldNode } from '../../src/commands/node-version.ts';
import { COMMANDS } from '../../src/commands/table.ts';
import { nearestWord, parseFlags, UsageError } from '../../src/commands/usage.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const COMPILED = fileURLToPath(new URL('../../.cache/node', import.meta.url));
/** One nameservice, enough for `start` to get past the topology. */
const NS0 = ['--set', 'dfs.nameservices=ns0', '--set', 'dfs.namenode.rpc-address.ns0=nn.example.com:8020'];
const TIMEOUT_MS = 30_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function switchyard(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const { HADOOP_CONF_DIR: _conf, HADOOP_HOME: _home, ...inherited } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { NODE_COMPILE_CACHE: COMPILED, ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

let conf: string;

beforeEach(() => {
  conf = mkdtempSync(join(tmpdir(), 'switchyard-commands-'));
});

afterEach(() => rmSync(conf, { recursive: true, force: true }));

function write(file: string, settings: Readonly<Record<string, string>>): void {
  const lines = Object.entries(settings).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>`,
  );
  writeFileSync(join(conf, file), `<configuration>\n${lines.join('\n')}\n</configuration>\n`);
}

describe('command line', { timeout: TIMEOUT_MS }, () => {
  it.each<[string[], string]>([
    [[], 'switchyard: no command; switchyard help lists the commands\n'],
    [['strat'], "switchyard: unknown command 'strat'; did you mean 'start'?\n"],
    [['frobnicate'], "switchyard: unknown command 'frobnicate'; switchyard help lists the commands\n"],
    [['toString'], "switchyard: unknown command 'toString'; switchyard help lists the commands\n"],
    [['version', 'x'], "switchyard version: unexpected argument 'x'\n"],
    [
      ['help', 'strat'],
      "switchyard help: no command and no page of the manual is called 'strat'; did you mean start?\n",
    ],
    [['help', 'start', 'x'], "switchyard help: unexpected argument 'x'\n"],
    [['start', '--mont', '/a=b:/c'], 'switchyard start: unknown flag --mont; did you mean --mount?\n'],
    [['start', '-x'], 'switchyard start: unknown flag -x\n'],
    [['start', 'ns0'], "switchyard start: unexpected argument 'ns0'\n"],
    [['start', '--rpc'], 'switchyard start: --rpc needs a value\n'],
    [['start', '--rpc', '--workers', '2'], 'switchyard start: --rpc needs a value\n'],
    [['start', '--rpc', 'a:1', '--rpc', 'b:1'], 'switchyard start: --rpc is given twice\n'],
    [['start', '--set', 'a'], 'switchyard start: --set a: write KEY=VALUE\n'],
    [
      ['start', '--set', 'dfs.federation.router.rpc-adress=h:1'],
      'switchyard start: --set dfs.federation.router.rpc-adress=h:1: there is no key dfs.federation.router.rpc-adress; did you mean dfs.federation.router.rpc-address?\n',
    ],
    [
      ['start', ...NS0, '--workers', '0'],
      'switchyard start: --workers: switchyard.workers = "0": out of range; allowed: 1 to 64\n',
    ],
    [
      ['start', ...NS0, '--workers', '-1'],
      'switchyard start: --workers: switchyard.workers = "-1": out of range; allowed: 1 to 64\n',
    ],
    [
      ['start', ...NS0, '--rpc', '127.0.0.1:'],
      'switchyard start: --rpc 127.0.0.1:: not an address, the port is missing; write HOST:PORT, with port 0 for any free one\n',
    ],
    [
      ['start', ...NS0, '--acceptors', 'two'],
      'switchyard start: --acceptors: switchyard.acceptors = "two": not a whole number; allowed: a whole number of 32 bits, e.g. 100\n',
    ],
    [
      ['start', ...NS0, '--handoff', 'pipe'],
      'switchyard start: --handoff: switchyard.handoff = "pipe": not one of the possible values; allowed: ring, inline\n',
    ],
    [
      ['start', ...NS0, '--rpc', 'h:x'],
      'switchyard start: --rpc: dfs.federation.router.rpc-address = "h:x": not an address; allowed: host:port, e.g. router1.example.com:8888 or [::1]:8888\n',
    ],
    [
      ['start', ...NS0, '--mount', '/a=ns1:/a'],
      "switchyard start: mount '/a': no nameservice behind this router is called ns1; there are ns0\n",
    ],
    [['check-config', '--jsn'], 'switchyard check-config: unknown flag --jsn; did you mean --json?\n'],
    [['check-config', '--json=1'], 'switchyard check-config: --json takes no value\n'],
    [
      ['check-config', '--config-dir', '/nowhere'],
      'switchyard check-config: /nowhere: not a directory; name the directory that holds core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml (--config-dir or HADOOP_CONF_DIR)\n',
    ],
    [
      ['start', '--config-dir', '/nowhere'],
      'switchyard start: /nowhere: not a directory; name the directory that holds core-site.xml, hdfs-site.xml and hdfs-rbf-site.xml (--config-dir or HADOOP_CONF_DIR)\n',
    ],
  ])('%j ends with 2', async (args, message) => {
    expect(await switchyard(args)).toEqual({ code: 2, stdout: '', stderr: message });
  });

  it('ends with 2 for a mount that is not understood, naming the flag', async () => {
    const { code, stderr } = await switchyard(['start', ...NS0, '--mount', 'x']);
    expect(code).toBe(2);
    expect(stderr).toContain('--mount x');
  });

  it('ends with 2 for an --insecure key that protects nothing', async () => {
    const { code, stderr } = await switchyard(['start', '--insecure', 'dfs.nameservices']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--insecure dfs\.nameservices: not one of .*hadoop\.security\.authentication/);
  });

  it('prints the version and the help', async () => {
    const version = await switchyard(['version']);
    expect(version).toMatchObject({ code: 0, stderr: '' });
    expect(version.stdout).toMatch(
      new RegExp(`^switchyard ${packageJson.version} \\(node ${process.versions.node}, .*\\)\n$`),
    );
    expect(await switchyard(['--version'])).toEqual(version);
    const help = await switchyard(['help']);
    expect(help.code).toBe(0);
    for (const { name, summary } of COMMANDS) expect(help.stdout).toMatch(new RegExp(`^  ${name} +${summary}$`, 'm'));
    expect(help.stdout).toContain('help configuration');
    expect(await switchyard(['--help'])).toEqual(help);
  });

  it('explains commands and shows pages of the manual', async () => {
    const start = await switchyard(['help', 'start']);
    expect(start.code).toBe(0);
    for (const flag of ['config-dir', 'mount', 'mounts', 'rpc', 'acceptors', 'workers', 'handoff', 'set', 'insecure']) {
      expect(start.stdout).toContain(`--${flag} `);
    }
    expect(await switchyard(['start', '--rpc', 'x', '--help'])).toEqual(start);
    expect((await switchyard(['help', 'configuration'])).stdout).toMatch(/^# Configuration\n/);
  });

  it('names key, file and remedy of a promise of protection it cannot keep, and starts nothing', async () => {
    write('core-site.xml', { 'hadoop.security.authentication': 'kerberos', 'hadoop.rpc.protection': 'privacy' });
    const { code, stdout, stderr } = await switchyard(['start', '--config-dir', conf, ...NS0]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.split('\n')).toEqual([
      'switchyard start: core-site.xml:2: hadoop.security.authentication = "kerberos": asks for protection that this release does not give; Kerberos is not built yet: set it to simple; or start without that protection: --insecure hadoop.security.authentication',
      'switchyard start: core-site.xml:3: hadoop.rpc.protection = "privacy": asks for protection that this release does not give; integrity and privacy of RPC are not built yet: set it to authentication; or start without that protection: --insecure hadoop.rpc.protection',
      '',
    ]);
    const one = await switchyard([
      'start',
      '--config-dir',
      conf,
      ...NS0,
      '--insecure',
      'hadoop.security.authentication',
    ]);
    expect(one.code).toBe(2);
    expect(one.stderr).not.toContain('kerberos');
  });

  it('names file, line and column of XML that is none', async () => {
    writeFileSync(join(conf, 'hdfs-site.xml'), '<configuration>\n<property></configuration>');
    const { code, stderr } = await switchyard(['start'], { HADOOP_CONF_DIR: conf });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^switchyard start: .*hdfs-site\.xml:2:\d+: .*; correct the XML\n$/);
  });
});

describe('check-config', { timeout: TIMEOUT_MS }, () => {
  const sound = {
    'dfs.nameservices': 'ns0',
    'dfs.namenode.rpc-address.ns0': 'nn.example.com:8020',
    'dfs.federation.router.default.nameserviceId': 'ns0',
  };

  it('ends with 0 when nothing looks wrong', async () => {
    write('hdfs-site.xml', sound);
    write('hdfs-rbf-site.xml', { 'dfs.federation.router.client.reject.overload': 'true' });
    const { code, stdout, stderr } = await switchyard(['check-config', '--config-dir', conf, '--rpc', 'h:1']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Configuration directory: ${conf}\n`);
    expect(stdout).toMatch(/^ {2}dfs\.nameservices += ns0 {2}\[hdfs-site\.xml:2\]$/m);
    expect(stdout).toMatch(/^ {2}dfs\.federation\.router\.rpc-address += h:1 {2}\[--rpc\]$/m);
    expect(stdout).toMatch(/^ {2}dfs\.federation\.router\.cache\.ttl += 1m {2}\[default\]$/m);
    const [, unsupported] = stdout.split('Not supported yet');
    expect(unsupported).toMatch(/dfs\.federation\.router\.client\.reject\.overload += true/);
    expect(stdout).toMatch(/\n\nNo problems\.\n$/);
  });

  it('ends with 1 and says what looks wrong, as text and as JSON', async () => {
    write('hdfs-site.xml', {
      ...sound,
      'dfs.federation.router.rcp-address': 'h:1',
      'hadoop.security.authorization': 'true',
    });
    const text = await switchyard(['check-config'], { HADOOP_CONF_DIR: conf });
    expect(text.code).toBe(1);
    expect(text.stdout).toContain('hdfs-site.xml:6: hadoop.security.authorization = true: service-level authorization');
    expect(text.stdout).toContain(
      '  warning  hdfs-site.xml:5: dfs.federation.router.rcp-address: no router knows this key',
    );
    expect(text.stdout).toMatch(/\n2 problems\.\n$/);
    const json = await switchyard(['check-config', '--json'], { HADOOP_CONF_DIR: conf });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      directory: conf,
      problems: 2,
      unprotected: [{ key: 'hadoop.security.authorization' }],
      findings: [{ severity: 'warning', place: 'hdfs-site.xml:5', key: 'dfs.federation.router.rcp-address' }],
    });
  });

  it('reports a router that no path leads through', async () => {
    const { code, stdout } = await switchyard(['check-config', ...NS0]);
    expect(code).toBe(1);
    expect(stdout).toContain('dfs.federation.router.default.nameserviceId: without mount points');
    expect(stdout).toMatch(/\n1 problem\.\n$/);
  });

  it('reports a file that cannot be read at all', async () => {
    writeFileSync(join(conf, 'core-site.xml'), '<configuration>');
    const { code, stdout } = await switchyard(['check-config', '--config-dir', conf]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/error {4}.*core-site\.xml:1:\d+: .*; correct the XML/);
  });

  it('reports a router address that cannot be read', async () => {
    const { code, stdout } = await switchyard(['check-config', ...NS0, '--rpc', ':1']);
    expect(code).toBe(1);
    expect(stdout).toContain('error    --rpc: dfs.federation.router.rpc-address: ":1" is not an address');
  });
});

describe('parts of the command line', () => {
  it('refuses a Node that is too old', () => {
    expect(refuseOldNode('20.20.2')).toContain('this is 20.20.2');
    expect(refuseOldNode('24.17.9')).toContain('needs Node 24.18 or newer');
    expect(refuseOldNode('24.18.0')).toBeNull();
    expect(refuseOldNode('26.0.0')).toBeNull();
    expect(packageJson.engines.node).toBe('>=24.18');
  });

  it('parses flags', () => {
    const options = {
      name: { type: 'string' },
      all: { type: 'boolean' },
      set: { type: 'string', multiple: true },
    } as const;
    expect(parseFlags(['--name=x', '--all', '--set', 'a=b', '--set=c'], options)).toEqual({
      name: 'x',
      all: true,
      set: ['a=b', 'c'],
    });
    expect(parseFlags(['--name=--x'], options)).toEqual({ name: '--x' });
    expect(parseFlags(['--name='], options)).toEqual({ name: '' });
    expect(parseFlags(['--name', '-1', '--set', '-2', '--set=-3'], options)).toEqual({ name: '-1', set: ['-2', '-3'] });
    expect(() => parseFlags(['--all', '--all'], options)).toThrow('--all is given twice');
    expect(() => parseFlags(['--constructor', 'x'], options)).toThrow(UsageError);
    expect(() => parseFlags(['--', 'x'], options)).toThrow("unexpected argument 'x'");
  });

  it('guesses what was meant', () => {
    expect(nearestWord('strat', ['help', 'start'])).toBe('start');
    expect(nearestWord('conf', ['config-dir'])).toBe('config-dir');
    expect(nearestWord('xyz', ['config-dir', 'set'])).toBeNull();
    expect(nearestWord('', ['set'])).toBeNull();
  });
});
