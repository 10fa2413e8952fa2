/**
 * Traffic of real `hdfs dfs` clients through the router while NameNodes are killed: how many commands fail, and how long is the longest
 * pause? Needs a JDK and Maven.
 *
 *   node scripts/chaos-shell.ts [--minutes 10] [--clients 8] [--kill-every-seconds 60] [--away-seconds 5]
 *
 * Every period the active of each nameservice in turn is stopped without a word, some seconds later the other becomes active and the
 * stopped one starts again as a standby. Each client loops over make, put, rename, read, list and delete; half of them work on each
 * nameservice. Prints every kill, every failed command and a summary; exits 1 when a command failed.
 */
import { parseArgs } from 'node:util';
import type { Endpoint } from '../test/hadoop/support.ts';
import { Rig, Shell, startEndpoint } from '../test/hadoop/support.ts';

const COMMAND_WITHIN_MS = 180_000;
const MOUNTS = [
  { mount: '/data0', target: 'ns0:/target' },
  { mount: '/data1', target: 'ns1:/data1' },
];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    clients: { type: 'string', default: '8' },
    'kill-every-seconds': { type: 'string', default: '60' },
    'away-seconds': { type: 'string', default: '5' },
  },
});

function positive(name: keyof typeof values): number {
  const value = Number(values[name]);
  if (!(value > 0)) {
    console.error(`--${name} takes a number above 0, not ${values[name]}`);
    process.exit(2);
  }
  return value;
}

const durationMs = positive('minutes') * 60_000;
const clients = positive('clients');
const periodMs = positive('kill-every-seconds') * 1_000;
const awayMs = positive('away-seconds') * 1_000;

interface Tally {
  commands: number;
  failed: number;
  longestMs: number;
  longest: string;
  kills: number;
}

const tally: Tally = { commands: 0, failed: 0, longestMs: 0, longest: '', kills: 0 };
const started = performance.now();

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(7)} s  ${text}`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What must be printed by a command for it to count as right; null where only the exit code counts. */
function commandsOf(dir: string, file: string): [args: string[], expected: RegExp | null][] {
  return [
    [['-mkdir', '-p', `${dir}/in`], null],
    [['-put', file, `${dir}/in/a`], null],
    [['-mv', `${dir}/in/a`, `${dir}/b`], null],
    [['-cat', `${dir}/b`], /"control"/],
    [['-ls', dir], /Found 2 items/],
    [['-rm', '-r', '-skipTrash', dir], /Deleted/],
  ];
}

async function runClient(rig: Rig, endpoint: Endpoint, index: number, until: number): Promise<void> {
  const mount = MOUNTS[index % MOUNTS.length]?.mount ?? '';
  await using shell = await Shell.start(rig, endpoint.uri);
  for (let round = 0; performance.now() < until; round++) {
    for (const [args, expected] of commandsOf(`${mount}/client-${index}/${round}`, `${rig.home}/rig.json`)) {
      const { code, out, err, ms } = await shell.run(args, { limitMs: COMMAND_WITHIN_MS });
      tally.commands++;
      if (ms > tally.longestMs) {
        tally.longestMs = ms;
        tally.longest = args.join(' ');
      }
      if (code !== 0 || (expected !== null && !expected.test(out))) {
        tally.failed++;
        say(`FAILED (exit ${code}, ${ms} ms) ${args.join(' ')}: ${err.trimEnd().split('\n')[0]}`);
      }
    }
  }
}

async function killActives(rig: Rig, until: number): Promise<void> {
  for (let kill = 0; ; kill++) {
    const at = started + (kill + 0.5) * periodMs;
    if (at + awayMs + 15_000 > until) return;
    await sleep(Math.max(0, at - performance.now()));
    for (const ns of ['ns0', 'ns1']) {
      const active = await rig.active(ns);
      const other = active.nn === 'nn0' ? 'nn1' : 'nn0';
      await rig.ctl({ op: 'stop', ns, nn: active.nn });
      tally.kills++;
      say(`${ns}.${active.nn} (active) is stopped; ${tally.commands} commands so far, ${tally.failed} failed`);
      await sleep(awayMs);
      await rig.ctl({ op: 'transition', ns, nn: other, to: 'active' });
      await rig.ctl({ op: 'start', ns, nn: active.nn });
      say(`${ns}.${other} is active, ${active.nn} is back as standby`);
    }
  }
}

await using rig = await Rig.start({ mounts: MOUNTS.map(({ mount, target }) => `${mount}=${target}`) });
await rig.makeTargets(MOUNTS.map(({ target }) => target));
await using endpoint = await startEndpoint(rig);
say(`${clients} clients for ${values.minutes} minutes against ${endpoint.uri}`);
const until = performance.now() + durationMs;
const killing = killActives(rig, until);
const work = Array.from({ length: clients }, (_, index) => runClient(rig, endpoint, index, until));
await Promise.all([killing, ...work]);
say(`${tally.commands} commands, ${tally.kills} kills`);
console.log(`failed commands: ${tally.failed}`);
console.log(`longest pause: ${(tally.longestMs / 1000).toFixed(1)} s (${tally.longest})`);
if (tally.failed > 0) {
  console.error(endpoint.log);
  process.exitCode = 1;
}
