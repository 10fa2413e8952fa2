import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { RemoteError } from '../../src/control/rpc-client.ts';
import type { Plain } from '../../src/wire/messages.ts';
import type { MethodClient } from '../support/method-cluster.ts';
import { prove } from '../support/prove.ts';
import { createRequest, mkdirsRequest, severalMount } from '../support/several-mounts.ts';

/**
 * The same calls to the router, where `/m` is ns0:/m0 and ns1:/m1, and to a NameNode that has all in one tree: both must say the same of each
 * call, and have the same tree in the end.
 */

const NAMES = ['a', 'b', 'c'];
const MAX_RUN_MS = 3_000;

type Step = readonly [method: string, request: Plain];

const path = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
  .map((names) => `/m/${names.join('/')}`);
const target = fc.oneof({ weight: 9, arbitrary: path }, { weight: 1, arbitrary: fc.constant('/m') });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: path.map((src): Step => ['mkdirs', mkdirsRequest(src)]) },
  { weight: 3, arbitrary: path.map((src): Step => ['create', createRequest(src)]) },
  { weight: 4, arbitrary: fc.tuple(path, target).map(([src, dst]): Step => ['rename', { src, dst }]) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(path, target, fc.boolean())
      .map(([src, dst, overwriteDest]): Step => ['rename2', { src, dst, overwriteDest }]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(path, fc.boolean()).map(([src, recursive]): Step => ['delete', { src, recursive }]),
  },
);

/**
 * Of a path below a file, or below nothing: which of two NameNodes speaks, and of which of the two paths, decides the words, so these count as
 * one with the answer false.
 */
const NO_WAY = /^(?:AccessControl|ParentNotDirectory|FileNotFound|IO)Exception$/;

/** Result or exception class; the status in the answer of create is another in each nameservice. */
async function outcome(client: MethodClient, [method, request]: Step): Promise<string> {
  try {
    const { result } = await client.call(`ClientProtocol.${method}`, request);
    return String(result ?? 'done');
  } catch (error) {
    const name = (error as RemoteError).className.split('.').at(-1) ?? '';
    return NO_WAY.test(name) ? 'false' : name;
  }
}

async function treeOf(client: MethodClient, src: string): Promise<string[]> {
  const request = { src, startAfter: Buffer.alloc(0), needLocation: false };
  const { dirList } = await client.call('ClientProtocol.getListing', request);
  const found: string[] = [];
  for (const { path: name, fileType } of ((dirList as Plain)['partialListing'] ?? []) as Plain[]) {
    const child = `${src}/${String(name)}`;
    found.push(`${child} ${String(fileType)}`);
    if (fileType === 'IS_DIR') found.push(...(await treeOf(client, child)));
  }
  return found;
}

describe.each(['HASH_ALL', 'RANDOM'])('as in one tree with order %s', (order) => {
  const OPTIONS = {
    nameservices: ['ns0', 'ns1', 'whole'],
    mounts: [severalMount(order)],
  };
  prove('ClientProtocol.rename', 'any calls', OPTIONS, async (cluster) => {
    const client = await cluster.connect();
    const whole = await cluster.direct('whole');
    await client.call('ClientProtocol.rename', { src: '/m/none', dst: '/m/other' });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
        for (const [ns, root] of [
          ['ns0', '/m0'],
          ['ns1', '/m1'],
          ['whole', '/m'],
        ] as const) {
          using direct = await cluster.direct(ns);
          await direct.call('ClientProtocol.delete', { src: root, recursive: true });
          await direct.call('ClientProtocol.mkdirs', mkdirsRequest(root));
        }
        for (const each of steps) {
          expect([JSON.stringify(each[1]), await outcome(client, each)]).toEqual([
            JSON.stringify(each[1]),
            await outcome(whole, each),
          ]);
        }
        expect(await treeOf(client, '/m')).toEqual(await treeOf(whole, '/m'));
      }),
      {
        seed: Number(process.env['MOVES_SEED'] ?? 5),
        numRuns: 200,
        interruptAfterTimeLimit: MAX_RUN_MS,
        markInterruptAsFailure: false,
        endOnFailure: false,
      },
    );
  });
});
