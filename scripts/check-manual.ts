/**
 * Part of `npm run check`: the generated pages of the manual are what their tables generate now, files that pages cite exist, and every method
 * has a test that proves it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { renderSizingManual, SIZING_PAGE } from '../native-free-bench/scale/sizing-page.ts';
import { findMissingCitations } from './citations.ts';
import { COVERAGE_PAGE, findUnproved, readMethodProofs, renderCoverage } from './make-coverage.ts';
import { KEYS_PAGE, renderKeyManual } from './make-key-manual.ts';

interface GeneratedPage {
  readonly page: URL;
  readonly render: () => string;
  /** What writes the page. */
  readonly command: string;
}

const proofs = readMethodProofs();

const PAGES: readonly GeneratedPage[] = [
  { page: COVERAGE_PAGE, render: () => renderCoverage(proofs), command: 'node scripts/make-coverage.ts' },
  { page: KEYS_PAGE, render: renderKeyManual, command: 'node scripts/make-key-manual.ts' },
  { page: SIZING_PAGE, render: renderSizingManual, command: 'node native-free-bench/scale/sizing.ts --write' },
];

const ROOT = new URL('../', import.meta.url);
const MANUAL = new URL('src/manual/', ROOT);

let wrong = 0;
for (const { page, render, command } of PAGES) {
  const name = page.pathname.slice(page.pathname.indexOf('/src/manual/') + 1);
  if (readPage(page) !== render()) {
    wrong++;
    process.stderr.write(`${name} is not what its table generates: run \`${command}\`\n`);
  }
}
for (const name of readdirSync(MANUAL)) {
  const page = readPage(new URL(name, MANUAL));
  for (const file of findMissingCitations(page, (cited) => existsSync(new URL(cited, ROOT)))) {
    wrong++;
    process.stderr.write(`src/manual/${name} cites ${file}, which is not there: cite the file that shows it now\n`);
  }
}
for (const fault of [...proofs.faults, ...findUnproved(proofs)]) {
  wrong++;
  process.stderr.write(`${fault}\n`);
}
process.exitCode = wrong === 0 ? 0 : 1;

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
