import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { escapeKey, membershipKey, unescapeKey, unusableNameReason } from '../../src/state-store/record-names.ts';
import { decodeMembership } from '../../src/state-store/records.ts';

const { samples } = JSON.parse(readFileSync(new URL('./state-store-samples/index.json', import.meta.url), 'utf8')) as {
  samples: { record: string; primaryKey: string; file: string; protobufHex: string }[];
};

describe('names of records', () => {
  it('are those of the files that Hadoop wrote', () => {
    for (const { primaryKey, file } of samples) expect(file.endsWith(`/${escapeKey(primaryKey)}`)).toBe(true);
    const memberships = samples.filter(({ record }) => record === 'MembershipState');
    expect(
      memberships.map(({ protobufHex }) => membershipKey(decodeMembership(Buffer.from(protobufHex, 'hex')).record)),
    ).toEqual(memberships.map(({ primaryKey }) => primaryKey));
    expect(memberships.length).toBe(7);
  });

  it.each([
    ['/', '0SLASH0', '/'],
    ['/a/b', '0SLASH0a0SLASH0b', '/a/b'],
    ['router1:8888', 'router1_8888', 'router1:8888'],
    ['/r_8', '0SLASH0r_8', '/r:8'],
    ['/é %41', '0SLASH0é %41', '/é %41'],
  ])('%s is stored as %s and reported as %s', (key, name, reported) => {
    expect([escapeKey(key), unescapeKey(name)]).toEqual([name, reported]);
  });

  it('that no store can hold are told', () => {
    const unusable = ['', '.', '..', 'a/b', 'a\0', '\ud800'];
    expect(unusable.map(unusableNameReason)).not.toContain(null);
    expect(['a', '...', '😀', 'a b'].map(unusableNameReason)).toEqual([null, null, null, null]);
  });
});
