import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { show } from './model/compare.ts';
import { type Plan, plans } from './model/plan.ts';
import { Divergence, Sequence } from './model/f3-sequence.ts';
import { World } from './model/world.ts';

/**
 * Random sequences of operations under random mount tables: what clients of the router see is what one plain tree of a NameNode shows.
 * `MODEL_SECONDS` runs for so long, with another seed each time; `MODEL_SEED` and `MODEL_SEQUENCES` say which and how many.
 */

const SECONDS = Number(process.env['MODEL_SECONDS'] ?? (process.env['SWITCHYARD_TEST_FULL'] === '1' ? 300 : 0));
const SEQUENCES = Number(process.env['MODEL_SEQUENCES'] ?? (SECONDS > 0 ? 1_000_000 : 400));
const SEED = Number(process.env['MODEL_SEED'] ?? (SECONDS > 0 ? Date.now() % 0x7fff_ffff : 1));
const MAX_OPERATIONS = 40;
/** Shrinking a failure takes longest. */
const TIMEOUT_MS = (SECONDS + 240) * 1_000;

const worlds = new Map<string, World>();

async function worldOf({ pageSize, defaultNameservice }: Plan): Promise<World> {
  const key = `${pageSize} ${defaultNameservice}`;
  const world = worlds.get(key) ?? (await World.start(pageSize, defaultNameservice));
  worlds.set(key, world);
  return world;
}

describe('one namespace', () => {
  beforeEach(() => {
    vi.spyOn(Math, 'random');
  });

  afterEach(() => {
    vi.restoreAllMocks();
  });

  afterAll(async () => {
    for (const world of worlds.values()) await world[Symbol.asyncDispose]();
  });

  it(
    'is what one plain tree is',
    async () => {
      let sequences = 0;
      let operations = 0;
      let calls = 0;
      const result = await fc.check(
        fc.asyncProperty(plans(MAX_OPERATIONS), async (plan) => {
          const sequence = new Sequence(await worldOf(plan), plan);
          vi.mocked(Math.random).mockImplementation(seededRandom(plan.seed));
          try {
            await (await worldOf(plan)).begin(plan);
            await sequence.run(plan.operations);
          } catch (error) {
            if (error instanceof Divergence) throw new Error(describePlan(plan, sequence, error.message));
            throw error;
          }
          sequences++;
          operations += plan.operations.length;
          calls += sequence.calls;
        }),
        {
          numRuns: SEQUENCES,
          seed: SEED,
          ...(SECONDS > 0 ? { interruptAfterTimeLimit: SECONDS * 1_000, markInterruptAsFailure: false } : {}),
        },
      );
      console.log(
        `model: seed ${SEED}, ${sequences} sequences, ${operations} operations, ${calls} changes and reads compared`,
      );
      if (result.failed) {
        expect.fail(
          `seed ${result.seed}, path ${result.counterexamplePath}, ${result.numShrinks} times shrunk\n${result.errorInstance}`,
        );
      }
      expect(sequences).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

function describePlan(plan: Plan, { log }: Sequence, what: string): string {
  const lines = [
    `pages of ${plan.pageSize}, default nameservice ${plan.defaultNameservice || 'none'}, seed ${plan.seed}`,
    ...plan.mounts.map((mount) => `mount ${show(mount)}`),
    ...plan.directories.map(({ nameservice, path }) => `there before: ${nameservice}:${path}/`),
    ...plan.files.map(({ nameservice, path }) => `there before: ${nameservice}:${path}`),
    ...log,
    what,
  ];
  return lines.join('\n');
}

/** Mulberry32: numbers from 0 to below 1. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
