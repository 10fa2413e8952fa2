/** Files of this tree that a page names in backticks, e.g. `test/unit/resolve.test.ts`. */
const CITATION = /`((?:test|src|scripts|proto)\/[\w./-]+\.\w+)`/g;

/** Cited files that are not there, each once. */
export function findMissingCitations(page: string, isThere: (file: string) => boolean): string[] {
  const cited = [...page.matchAll(CITATION)].map(([, file = '']) => file);
  return [...new Set(cited)].filter((file) => !isThere(file));
}
