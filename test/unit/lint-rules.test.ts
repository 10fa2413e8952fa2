import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/**
 * The rules of biome.json that this project wrote itself are worth something only if they fire. The files under scripts/lint/fixture
 * break them on purpose; each bad line ends with `// expect CATEGORY`. They are linted in a copy of the tree's frame.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = join(root, 'scripts/lint/fixture');

interface Diagnostic {
  readonly category: string;
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

let copy = '';
const expected: string[] = [];
let found: string[] = [];

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'switchyard-lint-'));
  for (const name of ['biome.json', '.gitignore', 'scripts/lint/hot-path.grit', 'scripts/lint/shared-memory.grit']) {
    mkdirSync(dirname(join(copy, name)), { recursive: true });
    cpSync(join(root, name), join(copy, name));
  }
  for (const name of readdirSync(fixtures, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts.txt')) continue;
    const target = name.slice(0, -'.txt'.length);
    mkdirSync(dirname(join(copy, target)), { recursive: true });
    cpSync(join(fixtures, name), join(copy, target));
    const lines = readFileSync(join(fixtures, name), 'utf8').split('\n');
    lines.forEach((line, index) => {
      const category = / \/\/ expect (\S+)$/.exec(line)?.[1];
      if (category !== undefined) expected.push(`${target}:${index + 1} ${category}`);
    });
  }
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'lint', '--reporter=json', '--max-diagnostics=none', 'src'];
  const done = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8' });
  const report = JSON.parse(done.stdout) as { diagnostics: Diagnostic[] };
  found = [...new Set(report.diagnostics.map((d) => `${d.location.path}:${d.location.start.line} ${d.category}`))];
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

describe('lint rules of the project', () => {
  it('report each planted fault, and nothing else', () => {
    expect(expected.length).toBeGreaterThan(15);
    expect(found.sort()).toEqual(expected.sort());
  });

  it('are part of a run that fails', () => {
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
    expect(() => execFileSync(process.execPath, [biome, 'ci', 'src'], { cwd: copy, stdio: 'ignore' })).toThrow();
  });
});
