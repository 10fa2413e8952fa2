/** Writes the manual's page on method coverage from the table of methods: `node scripts/make-coverage.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Method, Strategy } from '../src/call/method.ts';
import { METHODS, PROTOCOLS } from '../src/call/methods.ts';
import { type Proofs, readProofs } from './proofs.ts';

const ROOT = new URL('../', import.meta.url);
export const COVERAGE_PAGE = new URL('../src/manual/method-coverage.md', import.meta.url);

/** What the page leaves away of the names of test files. */
const TESTS = 'test/methods/';
const SUFFIX = '.test.ts';

/** How the page puts the strategies. */
const ANSWERED: Readonly<Record<Strategy, string>> = {
  'one-path': 'nameservice of the path',
  'two-paths': 'nameservice of all its paths',
  'block-pool': 'nameservice of the block pool',
  'named-nameservices': 'nameservices named in the call',
  'any-nameservice': 'default nameservice, else another',
  'mount-view': 'nameservices at and below the path, and mount points',
  'every-nameservice': 'all nameservices, merged',
  local: 'the router itself',
  refused: 'refused',
};

const INTRODUCTION = `# Method coverage

Every method of the protocols on the client port, who answers it, and the tests that prove it. This page is generated from
\`src/call/methods.ts\` and the tests below \`test/methods\` by \`node scripts/make-coverage.ts\`.

* **answered by**: where the call goes. *refused* is answered with \`java.lang.UnsupportedOperationException\`.
* **category**: WRITE is what safe mode of the router stops; READ and UNCHECKED pass. *w* marks a method that changes something although
  the category does not say so; read-only mounts stop it too.
* **retry**: *Idempotent* calls may be sent again at any time, *AtMostOnce* calls where the retry cache of the NameNode recognises them.
* **observer**: *aligned* reads may be answered by an observer that has caught up with the caller, *any* by an observer as it stands,
  *active* only by the active NameNode.
* **mount points**: the method is refused for a path that is a mount point or has mount points below it.
* **proved by**: files of \`test/methods\`, without \`.test.ts\`. Random sequences of the calls that make and read the tree are compared with one plain tree in
  \`test/methods/model.test.ts\`.
`;

/** What the tests prove now. */
export function readMethodProofs(): Proofs {
  const names = new Set(METHODS.map(titleOf));
  return readProofs(ROOT, (name) => names.has(name));
}

/** For each method that no test proves: which, and what is to be done. */
export function findUnproved({ files }: Proofs): string[] {
  return METHODS.map(titleOf)
    .filter((name) => !files.has(name))
    .map(
      (name) => `${name} has no test: write one with prove('${name}', …) below test/methods (test/support/prove.ts)`,
    );
}

/** The page as Markdown. */
export function renderCoverage(proofs: Proofs = readMethodProofs()): string {
  const parts = [INTRODUCTION, renderCounts(proofs)];
  PROTOCOLS.forEach((protocol, index) => {
    const rows = METHODS.filter((method) => method.protocol === index).sort(byName);
    parts.push(
      `## ${protocol.simpleName}\n\n\`${protocol.name}\`, version ${protocol.version}\n\n${renderTable(rows, proofs)}`,
    );
  });
  parts.push(renderRefused());
  return parts.join('\n');
}

function renderCounts({ files }: Proofs): string {
  const lines = ['| answered by | methods | proved |', '|---|---|---|'];
  const count = (name: string, methods: readonly Method[]): string =>
    `| ${name} | ${methods.length} | ${methods.filter((method) => files.has(titleOf(method))).length} |`;
  for (const strategy of Object.keys(ANSWERED) as Strategy[]) {
    lines.push(
      count(
        ANSWERED[strategy],
        METHODS.filter((method) => method.strategy === strategy),
      ),
    );
  }
  lines.push(count('all', METHODS));
  return `${lines.join('\n')}\n`;
}

function renderTable(rows: readonly Method[], { files }: Proofs): string {
  const lines = [
    '| method | answered by | category | retry | observer | mount points | note | proved by |',
    '|---|---|---|---|---|---|---|---|',
  ];
  for (const row of rows) {
    const category = row.effect === 'write' && row.category !== 'WRITE' ? `${row.category}, w` : row.category;
    const tests = (files.get(titleOf(row)) ?? []).map((file) => file.slice(TESTS.length, -SUFFIX.length)).join(', ');
    const cells = [
      row.name,
      ANSWERED[row.strategy],
      category,
      row.retry,
      observer(row),
      mountPoints(row),
      noteOf(row),
      tests,
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return `${lines.join('\n')}\n`;
}

function observer(row: Method): string {
  if (row.activeOnly) {
    return 'active';
  }
  if (row.coordinated) {
    return 'aligned';
  }
  return row.observerReadable ? 'any' : '';
}

function mountPoints(row: Method): string {
  if (!row.mountCheck) {
    return '';
  }
  return row.path2Field !== 0 && !row.mountCheck2 ? 'refused (first path)' : 'refused';
}

function noteOf(row: Method): string {
  return [row.refusedBecause, row.note].filter((note) => note !== '').join('; ');
}

function renderRefused(): string {
  const lines = METHODS.filter((method) => method.strategy === 'refused').map(
    (method) => `* ${titleOf(method)}: ${method.refusedBecause}`,
  );
  return `## Refused\n\nNo router can answer them:\n\n${lines.sort().join('\n')}\n`;
}

function titleOf(method: Method): string {
  return `${PROTOCOLS[method.protocol]!.simpleName}.${method.name}`;
}

function byName(a: Method, b: Method): number {
  return a.name < b.name ? -1 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(COVERAGE_PAGE, renderCoverage());
}
