/**
 * Builds the package: src/ as JavaScript with declarations in dist/. `proto/` stays where it is, beside dist/ as it was beside src/.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');
const target = join(root, 'dist');

function run(args: readonly string[], what: string): void {
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`build: ${what} failed${error === undefined ? '' : `: ${error.message}`}`);
    process.exit(1);
  }
}

function compile(): void {
  run([join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'scripts/tsconfig.build.json')], 'the compiler');
}

/** What the program reads at run time and no compiler writes: manual pages, data, files of the user interface. */
function copyOtherFiles(): number {
  let copied = 0;
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('.ts') || entry.name === 'README.md') continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(target, from.slice(source.length));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to);
    copied++;
  }
  return copied;
}

rmSync(target, { recursive: true, force: true });
compile();
const copied = copyOtherFiles();
const main = join(target, 'main.js');
chmodSync(main, 0o755);
run([main, 'version'], 'node dist/main.js version');
console.log(`build: dist/ is complete (${copied} files beside the compiled ones)`);
