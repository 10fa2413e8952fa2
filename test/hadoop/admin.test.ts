import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../support/wait.ts';
import { startSwitchyard } from './mixed-deployment.ts';
import { type CommandResult, Rig, Shell } from './support.ts';

/** Groups of the test's users, for both routers. */
const GROUPS = 'alice=staff;bob=users';
const NOTHING: CommandResult = { code: 0, out: '', err: '' };
/** A file to be written with all commands and what they print. */
const TRANSCRIPT = process.env['SWITCHYARD_TEST_TRANSCRIPT'];
const CONF = {
  'dfs.federation.router.mount-table.cache.update': 'true',
  'dfs.federation.router.cache.ttl': '1s',
  'dfs.federation.router.safemode.extension': '1ms',
  'dfs.federation.router.quota.enable': 'false',
  'hadoop.user.group.static.mapping.overrides': GROUPS,
};

/** A mount table of its own in the same ZooKeeper: both routers begin with none. */
const OTHER_TABLE = { 'dfs.federation.router.store.driver.zk.parent-path': '/other-deployment' };

/** One command: what is typed, who types it (left out: the superuser), and what the output must show before it is compared (it is asked again). */
interface Line {
  readonly line: string;
  readonly user?: string;
  readonly until?: RegExp;
}

/** In this order: each works on what those before have left. `ADMIN` stands for the address of the admin port. */
const LINES: readonly Line[] = [
  { line: '-ls' },
  { line: '-add /plain ns0 /target' },
  { line: '-add /plain ns0 /target' },
  { line: '-add /plain ns1 /target -order HASH_ALL' },
  { line: '-add /many ns0,ns1 /m -order RANDOM -faulttolerant -readonly -owner alice -group staff -mode 750' },
  { line: '-add /odd///path/ ns0 //x/' },
  { line: '-add /bad ns0 /x -faulttolerant' },
  { line: '-add relative ns0 /x' },
  { line: '-add /bad ns0 relative' },
  { line: '-add /bad ns0' },
  { line: '-add /bad ns0 /x -order NONSENSE' },
  { line: '-add /far ns9 /x' },
  { line: '-addAll /b1 ns0 /b1 , /b2 ns0,ns1 /b2 -order SPACE , /b3 ns1 /b3 -readonly' },
  { line: '-addAll /b1 ns0 /b1 , /b4 ns0 /b4' },
  // A Java Router shows what it has stored of those only now.
  { line: '-refresh' },
  { line: '-addAll /b5 ns0 /b5 , /b5 ns1 /b5' },
  { line: '-ls' },
  { line: '-ls -d' },
  { line: '-ls -d /many' },
  { line: '-ls /odd' },
  { line: '-ls /none' },
  { line: '-update /plain ns1 /elsewhere -owner bob' },
  { line: '-update /plain -readonly true' },
  { line: '-update /many -order HASH_ALL -faulttolerant false' },
  { line: '-update /none ns0 /x' },
  { line: '-update /plain' },
  { line: '-update /plain -readonly false -faulttolerant false' },
  { line: '-update /plain -readonly true -readonly maybe' },
  { line: '-update /plain -faulttolerant true' },
  { line: '-update /plain -mode 999' },
  { line: '-update /plain -owner' },
  { line: '-ls -d /plain' },
  { line: '-ls -d /many' },
  { line: '-setQuota /plain -nsQuota 100 -ssQuota 10k' },
  { line: '-ls /plain' },
  { line: '-setQuota /plain -nsQuota 0' },
  { line: '-setQuota /none -nsQuota 5' },
  // Only -setQuota knows units.
  { line: '-setStorageTypeQuota /plain -storageType SSD 5m' },
  { line: '-setStorageTypeQuota /plain -storageType SSD 5000000' },
  { line: '-ls /plain' },
  { line: '-clrStorageTypeQuota /plain' },
  { line: '-clrQuota /plain' },
  { line: '-ls /plain' },
  { line: '-getDestination /plain' },
  { line: '-getDestination /plain/file' },
  { line: '-getDestination /nowhere' },
  // By hash, however the path is written.
  { line: '-add /hash ns0,ns1 /h' },
  ...['/hash/a', '/hash//b/', '/hash/c/../d/e', '/hash/.', '/hash/a;b', '/user/root/.Trash/Current/hash/a'].map(
    (path) => ({ line: `-getDestination ${path}` }),
  ),
  { line: '-rm /hash' },
  { line: '-add / ns0 /' },
  { line: '-ls /' },
  { line: '-rm /' },
  { line: '-rm /plain/' },
  // Top-level entries are the superuser's here, so what others may do is looked at below one.
  { line: '-add /home ns0 /home -owner alice -group staff -mode 750' },
  { line: '-add /home/alice ns0 /home/alice', user: 'alice' },
  { line: '-add /home/bob ns0 /home/bob', user: 'bob' },
  { line: '-update /home -readonly true', user: 'bob' },
  { line: '-rm /home', user: 'bob' },
  { line: '-ls /home', user: 'bob' },
  { line: '-rm /home/alice', user: 'alice' },
  { line: '-rm /b1 /b2 /nothing /b3' },
  { line: '-rm' },
  { line: '-safemode get' },
  { line: '-safemode enter', user: 'bob' },
  { line: '-safemode enter' },
  { line: '-safemode get' },
  { line: '-safemode leave' },
  { line: '-safemode get' },
  { line: '-safemode nonsense' },
  { line: '-getDisabledNameservices' },
  { line: '-nameservice disable ns1', user: 'bob' },
  { line: '-nameservice disable ns9' },
  { line: '-nameservice enable ns1' },
  { line: '-nameservice disable ns1' },
  { line: '-getDisabledNameservices', until: /ns1/ },
  { line: '-nameservice disable ns1' },
  { line: '-getDestination /plain' },
  { line: '-update /plain -readonly false' },
  { line: '-nameservice enable ns1' },
  { line: '-getDisabledNameservices', until: /:\n*$/ },
  { line: '-nameservice nonsense ns1' },
  { line: '-refresh' },
  { line: '-refreshRouterArgs ADMIN RefreshFairnessPolicyController' },
  { line: '-refreshRouterArgs ADMIN Nonsense' },
  { line: '-refreshSuperUserGroupsConfiguration' },
  { line: '-refreshCallQueue' },
  { line: '-nonsense' },
  { line: '' },
  { line: '-ls' },
];

describe('hdfs dfsrouteradmin prints before Switchyard what it prints before the Java Router', () => {
  const ended = new AsyncDisposableStack();
  const java: CommandResult[] = [];
  const own: CommandResult[] = [];

  beforeAll(async () => {
    const rig = ended.use(await Rig.start({ nameservices: 2, javaRouters: 1, zookeeper: true, conf: CONF }));
    await rig.makeTargets(['ns0:/target', 'ns1:/elsewhere']);
    const router = ended.use(await startSwitchyard(rig, OTHER_TABLE));
    const shell = ended.use(await Shell.start(rig));
    const javaAdmin = rig.up.routers[0]?.admin;
    if (javaAdmin === undefined || javaAdmin === null) throw new Error('the Java Router of the rig has no admin port');
    for (const line of LINES) java.push(await run(shell, javaAdmin, line));
    for (const line of LINES) own.push(await run(shell, `127.0.0.1:${router.adminPort}`, line));
    if (TRANSCRIPT !== undefined) writeFileSync(TRANSCRIPT, transcribe(java, own));
  }, 600_000);

  afterAll(async () => await ended.disposeAsync());

  for (const [index, { line, user = 'the superuser' }] of LINES.entries()) {
    it(`${index + 1}: ${line} (${user})`, () => {
      expect(own[index]).toEqual(java[index]);
    });
  }
});

/** Each command with what it printed: once where both routers made it print the same, else twice. */
function transcribe(java: readonly CommandResult[], own: readonly CommandResult[]): string {
  const show = ({ code, out, err }: CommandResult | undefined = NOTHING): string =>
    [out, err, `exit ${code}`].filter((part) => part !== '').join('\n');
  const sections = LINES.map(({ line, user }, i) => {
    const [before, ours] = [show(java[i]), show(own[i])];
    const command = `${user ?? 'superuser'}$ hdfs dfsrouteradmin ${line}`;
    return [command, before === ours ? before : `--- Java Router\n${before}\n+++ Switchyard\n${ours}`].join('\n');
  });
  const different = LINES.filter((_, i) => show(java[i]) !== show(own[i])).length;
  return `${sections.join('\n\n')}\n\n${LINES.length} commands, ${different} with a difference\n`;
}

async function run(shell: Shell, admin: string, { line, user, until = /(?:)/ }: Line): Promise<CommandResult> {
  const args = line === '' ? [] : line.replace('ADMIN', admin).split(' ');
  const options = ['-D', `dfs.federation.router.admin-address=${admin}`];
  const ask = async (): Promise<CommandResult | null> => {
    const { code, out, err } = await shell.run([...options, ...args], {
      tool: 'dfsrouteradmin',
      ...(user === undefined ? {} : { user }),
    });
    return until.test(out) ? { code, out: comparable(out), err: comparable(err) } : null;
  };
  return await waitUntil(ask, `${line} to show ${until}`);
}

/** Without addresses, and without what only Java prints: stack lines with the blank line behind them, and identity hashes. */
function comparable(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\tat |^\s*\.\.\. \d+ more|^Caused by/.test(line))
    .join('\n')
    .trimEnd()
    .replace(/@[0-9a-f]+:/g, ':')
    .replace(/[\w.-]*(?:\/[\d.]+)?:\d{4,5}\b/g, 'ADDRESS');
}
