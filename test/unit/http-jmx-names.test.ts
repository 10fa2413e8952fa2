import { describe, expect, it } from 'vitest';
import { MAX_NAME_CHARACTERS, matcherOf, ObjectNameError } from '../../src/http/jmx/object-name.ts';

const NAMES = [
  'Hadoop:service=Router,name=Router',
  'Hadoop:service=Router,name=RouterActivity',
  'Hadoop:service=Router,name=MetricsSystem,sub=Stats',
  'Hadoop:service=NameNode,name=FSNamesystem',
  'Hadoop:service=NameNode,name=FSNamesystemState',
  'Hadoop:service=ipc.8888,name=FairCallQueue',
  'java.lang:type=Memory',
];

const found = (pattern: string): string[] => NAMES.filter(matcherOf(pattern));

describe('patterns for names of beans', () => {
  it.each<[pattern: string, positions: number[]]>([
    ['*:*', [0, 1, 2, 3, 4, 5, 6]],
    ['', [0, 1, 2, 3, 4, 5, 6]],
    ['Hadoop:service=Router,name=Router', [0]],
    ['Hadoop:name=Router,service=Router', [0]],
    ['Hadoop:service=Router,*', [0, 1, 2]],
    ['Hadoop:*,service=Router,name=Router', [0]],
    ['Hadoop:service=Router,name=MetricsSystem', []],
    ['Hadoop:service=Router,name=MetricsSystem,*', [2]],
    ['Hadoop:service=NameNode,name=FSNamesystem*', [3, 4]],
    ['Hadoop:service=NameNode,name=FSNamesystem?tate', [4]],
    ['Hadoop:service=*,name=FairCallQueue', [5]],
    ['java.*:type=*', [6]],
    ['j*a.l?ng:*', [6]],
    ['hadoop:*', []],
    ['*:type=Memory,extra=1', []],
  ])('%s', (pattern, positions) => {
    expect(found(pattern)).toEqual(positions.map((at) => NAMES[at]));
  });

  it.each([
    ['foo', 'no colon'],
    ['Hadoop:', ''],
    ['Hadoop:service', ''],
    ['Hadoop:=Router', ''],
    ['Hadoop:service=Router,', ''],
    ['Hadoop:a=1,a=2', 'stands twice'],
    ['Hadoop:a=b=c', 'quotes'],
    ['Hadoop:a="b', 'does not end'],
    ['Hadoop:*,*', ''],
    ['Hadoop:service=Router,name=\n', ''],
    [`Hadoop:a=${'b'.repeat(MAX_NAME_CHARACTERS)}`, 'longer than'],
  ])('%s is none', (pattern, why) => {
    expect(() => matcherOf(pattern)).toThrow(ObjectNameError);
    expect(() => matcherOf(pattern)).toThrow(why);
  });

  it('a quoted value may hold commas, equals signs and quotes', () => {
    const name = 'Hadoop:name="a,b=\\"c",service=x';
    expect(matcherOf('Hadoop:*,service=x')(name)).toBe(true);
    expect(matcherOf('Hadoop:service=x,name="a,*"')(name)).toBe(true);
  });

  it('takes no long time for patterns that are made for it', () => {
    const stars = `*:a=${'*a'.repeat(400)}b`;
    const matches = matcherOf(stars);
    const name = `d:a=${'a'.repeat(900)}`;
    expect(matches(name)).toBe(false);
  }, 2_000);
});
