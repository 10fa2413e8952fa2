/** Part of `npm run check`: the generated pages of the manual are what their tables generate now. */
import { readFileSync } from 'node:fs';
import { COVERAGE_PAGE, renderCoverage } from './make-coverage.ts';
import { KEYS_PAGE, renderKeyManual } from './make-key-manual.ts';

interface GeneratedPage {
  readonly page: URL;
  readonly render: () => string;
  /** What writes the page. */
  readonly command: string;
}

const PAGES: readonly GeneratedPage[] = [
  { page: COVERAGE_PAGE, render: renderCoverage, command: 'node scripts/make-coverage.ts' },
  { page: KEYS_PAGE, render: renderKeyManual, command: 'node scripts/make-key-manual.ts' },
];

let stale = 0;
for (const { page, render, command } of PAGES) {
  const name = page.pathname.slice(page.pathname.indexOf('/src/manual/') + 1);
  if (readPage(page) !== render()) {
    stale++;
    process.stderr.write(`${name} is not what its table generates: run \`${command}\`\n`);
  }
}
process.exitCode = stale === 0 ? 0 : 1;

function readPage(page: URL): string {
  try {
    return readFileSync(page, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return '';
    }
    throw error;
  }
}
