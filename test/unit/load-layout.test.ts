import { describe, expect, it } from 'vitest';
import { countScratchGroups, groupOfName, SCRATCH_GROUP_NAMES, scratchPath } from '../../src/load/plan/layout.ts';
import { neededFiles, needsNamespace, needsScratch } from '../../src/load/plan/needs.ts';
import type { OperationName } from '../../src/load/plan/operations.ts';
import { loadPlan, TARGET } from '../support/load-thread-run.ts';

const ENTRIES_OF_A_DIRECTORY = 1_048_576;
const LARGEST_NAME = 2 ** 31 - 1;

describe('scratch groups', () => {
  it('take turns, a whole group of names each', () => {
    expect(groupOfName(0, 4)).toBe(0);
    expect(groupOfName(SCRATCH_GROUP_NAMES - 1, 4)).toBe(0);
    expect([1, 2, 3, 4, 5].map((block) => groupOfName(block * SCRATCH_GROUP_NAMES, 4))).toEqual([1, 2, 3, 0, 1]);
  });

  it('are enough for any number of threads and directories, and hold 134 million names', () => {
    for (const [threads, directories] of [
      [1, 1],
      [3, 5],
      [64, 256],
    ] as const) {
      const targets = Array.from({ length: directories }, () => TARGET);
      const groups = countScratchGroups({ threads, targets });
      expect(groups * threads * directories * ENTRIES_OF_A_DIRECTORY).toBeGreaterThan(134e6);
      expect(groupOfName(LARGEST_NAME, groups)).toBeLessThan(groups);
    }
  });

  it('have paths of the same length', () => {
    const length = scratchPath(TARGET, 0, 0, 0).length;
    expect(scratchPath(TARGET, 0, 127, LARGEST_NAME)).toHaveLength(length);
  });
});

it.each<[OperationName[], string[], { files: number; scratch: boolean; any: boolean }]>([
  [['getFileInfo', 'mkdirs'], [], { files: 10, scratch: true, any: true }],
  [['getListing'], [], { files: 10, scratch: false, any: true }],
  [['create', 'delete'], [], { files: 0, scratch: true, any: true }],
  [['getFileInfo'], ['/given'], { files: 0, scratch: false, any: false }],
  [['getFileInfo', 'rename'], ['/given'], { files: 0, scratch: true, any: true }],
  [[], [], { files: 0, scratch: false, any: true }],
])('the mix %j with the paths %j needs %j', (operations, paths, needs) => {
  const plan = loadPlan({ mix: operations.map((operation) => ({ operation, weight: 1 })), paths, filesPerTarget: 10 });
  expect({ files: neededFiles(plan), scratch: needsScratch(plan), any: needsNamespace(plan) }).toEqual(needs);
});
