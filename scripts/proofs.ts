import { readdirSync, readFileSync } from 'node:fs';

/**
 * Calls of `prove` (test/support/prove.ts) by a literal or a constant of the file. A variable proves nothing by itself: a test that goes
 * through several methods names one in a call of its own.
 */
const PROVE = /\bprove\(\s*(?:'([^']*)'|([A-Z][A-Z0-9_]*)\s*,|(?=[^a-z]))/g;
const TESTS = 'test/methods';

/** What the tests of methods say of themselves. */
export interface Proofs {
  /** Files that prove a method, by `PROTOCOL.METHOD`, in order of their names. */
  readonly files: ReadonlyMap<string, readonly string[]>;
  /** Names that cannot be read or are those of no method: place and remedy. */
  readonly faults: readonly string[];
}

/** Names of the methods that the text of a test file proves, each once. Those that cannot be read are null. */
export function findProved(source: string): (string | null)[] {
  const names = new Set<string | null>();
  for (const [, literal, constant] of source.matchAll(PROVE)) {
    names.add(literal ?? (constant === undefined ? null : readConstant(source, constant)));
  }
  return [...names];
}

/** The proofs in all files below `test/methods` of the tree at `root`. `isMethod` knows the names that there are. */
export function readProofs(root: URL, isMethod: (name: string) => boolean): Proofs {
  const files = new Map<string, string[]>();
  const faults: string[] = [];
  const directory = new URL(`${TESTS}/`, root);
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  for (const name of names.sort()) {
    const file = `${TESTS}/${name}`;
    for (const method of findProved(readFileSync(new URL(name, directory), 'utf8'))) {
      if (method === null) {
        faults.push(
          `${file} has a prove() whose method cannot be read: write 'PROTOCOL.METHOD', or a constant of the file`,
        );
      } else if (isMethod(method)) {
        files.set(method, [...(files.get(method) ?? []), file]);
      } else {
        faults.push(`${file} proves ${method}, which src/call/methods.ts does not have: correct its name`);
      }
    }
  }
  return { files, faults };
}

function readConstant(source: string, constant: string): string | null {
  return new RegExp(`\\bconst ${constant} = '([^']*)'`).exec(source)?.[1] ?? null;
}
