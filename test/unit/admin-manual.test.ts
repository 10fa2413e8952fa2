import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findVerb, VERBS } from '../../src/admin/client/verbs.ts';

const PAGE = readFileSync(new URL('../../src/manual/admin.md', import.meta.url), 'utf8');

describe('the verbs of switchyard admin', () => {
  it.each(VERBS.map(({ name, usage }) => [name, usage]))('%s stands in the manual as it is', (_, usage) => {
    expect(PAGE).toContain(`\`${usage?.replaceAll('|', '\\|')}\``);
  });

  it('have names of their own', () => {
    const names = VERBS.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are those of hdfs dfsrouteradmin too, but for dumpState', () => {
    const java =
      'add addAll update rm ls getDestination setQuota setStorageTypeQuota clrQuota clrStorageTypeQuota safemode nameservice getDisabledNameservices refresh refreshRouterArgs refreshSuperUserGroupsConfiguration refreshCallQueue';
    for (const verb of java.split(' ')) {
      expect(findVerb(verb), verb).not.toBeNull();
      expect(findVerb(`-${verb}`), verb).not.toBeNull();
    }
  });
});
