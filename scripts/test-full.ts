/**
 * Everything that `npm test`, `npm run test:browser`, `npm run test:zookeeper` and `npm run test:hadoop` run, then what takes longer: ten minutes of shell traffic
 * with dying NameNodes.
 * Last line: the sum of all tests; exits 1 when anything failed.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));

/** What a suite leaves out when it runs for every change, it runs here. */
const ENVIRONMENT: NodeJS.ProcessEnv = { ...process.env, SWITCHYARD_TEST_FULL: '1' };

const STEPS: readonly [name: string, args: readonly string[]][] = [
  ['tests', [vitest, 'run', '--config', 'test/vitest.config.ts']],
  ['tests in a browser', [vitest, 'run', '--config', 'test/browser/vitest.config.ts']],
  ['tests with a real ZooKeeper', [vitest, 'run', '--config', 'test/zookeeper/vitest.config.ts']],
  ['tests with a real Hadoop', [vitest, 'run', '--config', 'test/hadoop/vitest.config.ts']],
  ['ten minutes with dying NameNodes', ['scripts/chaos-shell.ts']],
];

const TALLY = /^tests: (\d+) passed, (\d+) failed, (\d+) skipped$/gm;

/** Exit code and output of one step; the output is shown while it comes. */
function run(args: readonly string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: ENVIRONMENT });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      process.stdout.write(text);
    });
    child.once('close', (code) => resolve({ code: code ?? 1, out }));
  });
}

let passed = 0;
let failed = 0;
let skipped = 0;
let broken = false;
for (const [name, args] of STEPS) {
  console.log(`\n--- ${name}`);
  const { code, out } = await run(args);
  const tallies = [...out.matchAll(TALLY)].map((match) => match.slice(1).map(Number));
  if (tallies.length === 0) tallies.push(code === 0 ? [1, 0, 0] : [0, 1, 0]);
  for (const [p = 0, f = 0, s = 0] of tallies) {
    passed += p;
    failed += f;
    skipped += s;
  }
  if (code !== 0) broken = true;
}
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 && !broken ? 0 : 1;
