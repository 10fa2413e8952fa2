import { expect, it } from 'vitest';
import { findMissingCitations } from '../../scripts/citations.ts';

it('finds cited files that are not there, each once', () => {
  const page = [
    '| a | b | `test/unit/here.test.ts` |',
    '| c | `src/gone.ts` and `src/gone.ts` | `test/fault/gone.test.ts` |',
    '`not a file`, `dfs.nameservices`, test/unit/unmarked.test.ts',
  ].join('\n');
  expect(findMissingCitations(page, (file) => file === 'test/unit/here.test.ts')).toEqual([
    'src/gone.ts',
    'test/fault/gone.test.ts',
  ]);
});
