import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reduceTemporaryName } from '../../src/mount/order/temporary-names.ts';

const UUID = '0123abcD-0000-1111-2222-0123456789aB';
const ATTEMPT = '_temporary/0/_temporary/attempt_1501234567890_0012_m_000003_10/';
/** The expression of Hadoop's own class; right for paths without line breaks. */
const EXPRESSION = new RegExp(
  [
    '(.+)\\.COPYING$',
    '(.+)\\._COPYING_.*$',
    '(.+)\\.tmp$',
    '_temp/(.+)$',
    '_temporary/(.+)\\.[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
    '(.*)_temporary/\\d/_temporary/attempt_\\d+_\\d{4}_._\\d{6}_\\d{2}/(.+)$',
  ].join('|'),
  'su',
);

// Every expectation is what HashResolver of Hadoop 3.4.1 answers.
describe('temporary names', () => {
  it.each([
    // the end of a name
    ['/d/f.COPYING', '/d/f'],
    ['/d/f.COPYING/', '/d/f.COPYING/'],
    ['/d/f.copying', '/d/f.copying'],
    ['.COPYING', '.COPYING'],
    ['/.COPYING', '/'],
    ['/d/f.COPYING.COPYING', '/d/f.COPYING'],
    ['/d/f.tmp', '/d/f'],
    ['/d/f.tmp/g', '/d/f.tmp/g'],
    ['/d/ftmp', '/d/ftmp'],
    ['.tmp', '.tmp'],
    // a mark anywhere; the last one counts
    ['/d/f._COPYING_', '/d/f'],
    ['/d/f._COPYING_.3/g', '/d/f'],
    ['/d/f._COPYING_x._COPYING_y', '/d/f._COPYING_x'],
    ['._COPYING_', '._COPYING_'],
    ['._COPYING_x._COPYING_', '._COPYING_x'],
    // directories, which are lost
    ['/d/_temp/f', 'f'],
    ['/d/_temp/', '/d/_temp/'],
    ['/d/x_temp/f/_temp/g', 'f/_temp/g'],
    [`/d/_temporary/part-0.${UUID}`, 'part-0'],
    [`/d/_temporary/_temporary/e/part-0.${UUID}`, '_temporary/e/part-0'],
    [`/d/_temporary/.${UUID}`, `/d/_temporary/.${UUID}`],
    [`/d/_temporary/part-0.${UUID}x`, `/d/_temporary/part-0.${UUID}x`],
    [`/d/_temporary/part-0.${UUID.replace('D', 'g')}`, `/d/_temporary/part-0.${UUID.replace('D', 'g')}`],
    [`/d/part-0.${UUID}`, `/d/part-0.${UUID}`],
    // attempts, cut out of the path
    [`/d/${ATTEMPT}f`, '/d/f'],
    [`/d/${ATTEMPT}e/f`, '/d/e/f'],
    [`${ATTEMPT}f`, 'f'],
    [`/d/${ATTEMPT}`, `/d/${ATTEMPT}`],
    [`/d/${ATTEMPT}x/${ATTEMPT}f`, `/d/${ATTEMPT}x/f`],
    [`/d/${ATTEMPT}x/${ATTEMPT}`, `/d/x/${ATTEMPT}`],
    [`/d/${ATTEMPT.replace('_m_', '_😀_')}f`, '/d/f'],
    [`/d/${ATTEMPT.replace('_m_', '_mm_')}f`, `/d/${ATTEMPT.replace('_m_', '_mm_')}f`],
    [`/d/${ATTEMPT.replace('/0/', '/10/')}f`, `/d/${ATTEMPT.replace('/0/', '/10/')}f`],
    [`/d/${ATTEMPT.replace('_0012_', '_12_')}f`, `/d/${ATTEMPT.replace('_0012_', '_12_')}f`],
    // several of them: leftmost, then in this order
    ['/d/f.tmp.COPYING', '/d/f.tmp'],
    ['/d/f._COPYING_.tmp', '/d/f'],
    ['/d/f._COPYING_.COPYING', '/d/f._COPYING_'],
    ['/d/_temp/f.tmp', '/d/_temp/f'],
    [`/d/_temp/${ATTEMPT}f`, '/d/_temp/f'],
    [`_temp/${ATTEMPT}f`, `${ATTEMPT}f`],
    [`/d/_temp/_temporary/f.${UUID}`, `_temporary/f.${UUID}`],
    [`/d/_temporary/_temp/f.${UUID}`, '_temp/f'],
    [`${ATTEMPT}f.${UUID}`, `${ATTEMPT.slice('_temporary/'.length)}f`],
    [`/${ATTEMPT}f.${UUID}`, `/f.${UUID}`],
    [`/d/_temporary/.${UUID}/_temp/f`, 'f'],
    // line breaks
    ['/d/f.tmp\n', '/d/f'],
    ['/d/f.tmp\r\n', '/d/f'],
    ['/d/f.tmp\n\r', '/d/f.tmp\n\r'],
    ['/d\n/f.tmp', '/f'],
    ['/d\u2028/f.tmp\u0085', '/f'],
    ['/d._COPYING_\n/f', '/d._COPYING_\n/f'],
    [`/d/${ATTEMPT.replace('_m_', '_\n_')}f`, `/d/${ATTEMPT.replace('_m_', '_\n_')}f`],
    // none
    ['', ''],
    ['\n', '\n'],
    ['/', '/'],
    ['/d/_temporary/0/part-0', '/d/_temporary/0/part-0'],
  ])('%j is %j', (path, reduced) => {
    expect(reduceTemporaryName(path)).toBe(reduced);
  });

  it('are those of the expression', () => {
    const piece = fc.constantFrom(
      ...[
        '/',
        'a',
        '.',
        '_',
        'é',
        '😀',
        '_temp/',
        '_temporary/',
        '.tmp',
        '.COPYING',
        '._COPYING_',
        `.${UUID}`,
        ATTEMPT,
      ],
      ...['_temporary/7', '/_temporary/attempt_1_0001_', 'm_000001_00/', '_temporary/1/_temporary/'],
    );
    const path = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    const byExpression = (text: string): string => {
      const kept = (EXPRESSION.exec(text) ?? []).slice(1).join('');
      return kept === '' ? text : kept;
    };
    fc.assert(
      fc.property(path, (text) => {
        expect(reduceTemporaryName(text)).toBe(byExpression(text));
      }),
      { seed: 20_240_611, numRuns: 20_000, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });

  it('are found in paths that an expression never gets through', () => {
    const long = `/_temp${'a'.repeat(2_000_000)}`;
    expect(reduceTemporaryName(long)).toBe(long);
    expect(reduceTemporaryName(`${long}.tmp`)).toBe(long);
    const attempts = '_temporary/0/_temporary/attempt_1_0001_m_000001_0/'.repeat(20_000);
    expect(reduceTemporaryName(`${attempts}f`)).toBe(`${attempts}f`);
  });
});
