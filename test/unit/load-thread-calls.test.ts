import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { METHODS } from '../../src/call/methods.ts';
import { filePath, isInside, MAX_PATH_BYTES, SCRATCH_GROUP_NAMES, scratchPath } from '../../src/load/plan/layout.ts';
import { isChanging, OPERATION_NAMES, type OperationName, REQUEST_NAMES } from '../../src/load/plan/operations.ts';
import type { LoadPlan, Target } from '../../src/load/plan/plan.ts';
import { CallFrames, COMPLETE, FIRST_CALL_ID } from '../../src/load/thread/call-frames.ts';
import type { CallSource } from '../../src/load/thread/call-source.ts';
import { MixCalls } from '../../src/load/thread/mix-calls.ts';
import { limitPools, MAX_POOL_NAMES, NamePool } from '../../src/load/thread/name-pool.ts';
import { PathTable } from '../../src/load/thread/path-table.ts';
import { AliasTable, Random, zipfWeights } from '../../src/load/thread/random.ts';
import { ReplayCalls } from '../../src/load/thread/replay-calls.ts';
import { messageType, type Plain, readDelimited } from '../../src/wire/messages.ts';
import { loadPlan, TARGET } from '../support/load-thread-run.ts';

const OTHER: Target = { name: 'logs', directory: '/logs', own: '/logs/switchyard-load-00c0ffee' };
const CLIENT_ID = Buffer.from('0123456789abcdef');

interface Decoded {
  readonly header: Plain;
  readonly method: string;
  readonly request: Plain;
}

/** Calls as the server reads them. */
class Wire {
  readonly calls: CallSource;
  readonly frames: CallFrames;
  readonly #out = Buffer.alloc(64 * 1024);

  constructor(plan: LoadPlan, calls?: (paths: PathTable) => CallSource) {
    const paths = new PathTable();
    this.calls = calls === undefined ? new MixCalls(plan, 3, paths) : calls(paths);
    this.frames = new CallFrames(plan.targets, 3, paths, 'holder');
  }

  choose(call = 0, user = 0): Decoded {
    this.calls.choose(call, user);
    return this.write(this.calls.operation);
  }

  /** What was chosen last, as this request. */
  write(request: number): Decoded {
    const { source, group, number, destination } = this.calls;
    const callId = FIRST_CALL_ID + 12345;
    const at = 7;
    const end = this.frames.write(this.#out, at, request, callId, CLIENT_ID, source, group, number, destination);
    expect(end - at).toBeLessThanOrEqual(this.frames.frameBound);
    expect(this.#out.readInt32BE(at)).toBe(end - at - 4);
    const { message: header, next } = readDelimited(
      messageType('hadoop.common.RpcRequestHeaderProto'),
      this.#out,
      at + 4,
      end,
    );
    const names = readDelimited(messageType('hadoop.common.RequestHeaderProto'), this.#out, next, end);
    const method = names.message['methodName'] as string;
    const { request: type } = METHODS.find(({ name }) => name === method) as { request: string };
    const body = readDelimited(messageType(type), this.#out, names.next, end);
    expect(body.next).toBe(end);
    expect(names.message['clientProtocolVersion']).toBe(1);
    expect(header).toMatchObject({ callId, retryCount: 0, rpcKind: 'RPC_PROTOCOL_BUFFER', clientId: CLIENT_ID });
    return { header, method, request: body.message };
  }

  succeed(user = 0): void {
    const { operation, source, group, number, destination } = this.calls;
    this.calls.settleSuccess(operation, user, source, group, number, destination);
  }
}

function mixOf(...operations: OperationName[]): LoadPlan['mix'] {
  return operations.map((operation) => ({ operation, weight: 1 }));
}

function pathOf({ request }: Decoded): string {
  return (request['src'] ?? request['path']) as string;
}

describe('random choices', () => {
  test('the same seed and thread give the same numbers, others give others', () => {
    const draw = (seed: number, stream: number): number[] => {
      const random = new Random(seed, stream);
      return Array.from({ length: 20 }, () => random.nextBits());
    };
    expect(draw(7, 0)).toEqual(draw(7, 0));
    expect(draw(7, 0)).not.toEqual(draw(7, 1));
    expect(draw(7, 0)).not.toEqual(draw(8, 0));
    expect(draw(2 ** 40 + 7, 0)).not.toEqual(draw(7, 0));
  });

  test('numbers below a bound are evenly spread', () => {
    const random = new Random(1, 0);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i++) {
      const at = random.nextBelow(10);
      counts[at] = (counts[at] as number) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  test('an alias table picks by weight', () => {
    const weights = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        weights.filter((each) => each.some((weight) => weight > 0)),
        (each) => {
          const table = new AliasTable(each);
          const random = new Random(5, 0);
          const sum = each.reduce((left, right) => left + right);
          const counts = each.map(() => 0);
          const draws = 20_000;
          for (let i = 0; i < draws; i++) {
            const at = table.pick(random);
            counts[at] = (counts[at] as number) + 1;
          }
          for (const [i, weight] of each.entries()) {
            if (weight === 0) expect(counts[i]).toBe(0);
            expect(Math.abs((counts[i] as number) / draws - weight / sum)).toBeLessThan(0.025);
          }
        },
      ),
      { numRuns: 30 },
    );
    expect(() => new AliasTable([0, 0])).toThrow('greater than 0');
  });

  test('zipf: the second is chosen half as often as the first, the tenth a tenth as often', () => {
    const table = new AliasTable(zipfWeights(1000, 1));
    const random = new Random(11, 0);
    const counts = new Array<number>(1000).fill(0);
    for (let i = 0; i < 200_000; i++) {
      const at = table.pick(random);
      counts[at] = (counts[at] as number) + 1;
    }
    const first = counts[0] as number;
    expect((counts[1] as number) / first).toBeCloseTo(0.5, 1);
    expect((counts[9] as number) / first).toBeCloseTo(0.1, 1);
    expect(counts.slice(500).reduce((left, right) => left + right)).toBeLessThan(200_000 * 0.12);
  });
});

describe('the calls of a mix', () => {
  test('operations have their shares', () => {
    const plan = loadPlan({
      mix: [
        { operation: 'getFileInfo', weight: 70 },
        { operation: 'getListing', weight: 20 },
        { operation: 'mkdirs', weight: 10 },
      ],
    });
    const { calls } = new Wire(plan);
    const counts = new Map<string, number>();
    for (let i = 0; i < 20_000; i++) {
      calls.choose(i, 0);
      const name = OPERATION_NAMES[calls.operation] as string;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect((counts.get('getFileInfo') as number) / 20_000).toBeCloseTo(0.7, 1);
    expect((counts.get('getListing') as number) / 20_000).toBeCloseTo(0.2, 1);
    expect((counts.get('mkdirs') as number) / 20_000).toBeCloseTo(0.1, 1);
  });

  test('reads name files of all targets and their directories', () => {
    const wire = new Wire(loadPlan({ targets: [TARGET, OTHER], filesPerTarget: 150, mix: mixOf('getFileInfo') }));
    const paths = new Set<string>();
    for (let i = 0; i < 3000; i++) {
      const path = pathOf(wire.choose());
      expect(path).toBe(filePath(wire.calls.target === 0 ? TARGET : OTHER, Number(path.slice(-6))));
      paths.add(path);
    }
    expect(paths.size).toBe(300);

    const lists = new Wire(loadPlan({ targets: [TARGET, OTHER], filesPerTarget: 150, mix: mixOf('getListing') }));
    const directories = new Set<string>();
    for (let i = 0; i < 200; i++) directories.add(pathOf(lists.choose()));
    expect([...directories].toSorted()).toEqual(
      [TARGET, OTHER].flatMap(({ own }) => [`${own}/files/d00`, `${own}/files/d01`]),
    );
  });

  test('given paths are read in place of own files, of no target; names may be in any script', () => {
    const paths = ['/warehouse/a.orc', '/', '/täglich/ß', `/${'日'.repeat(200)}`];
    const wire = new Wire(loadPlan({ paths, targets: [], mix: mixOf('getFileInfo', 'getListing') }));
    const seen = new Set<string>();
    for (let i = 0; i < 200; i++) {
      seen.add(pathOf(wire.choose()));
      expect(wire.calls.target).toBe(-1);
    }
    expect(seen).toEqual(new Set([...paths, '/warehouse', '/täglich']));
  });

  test('rename, delete and the like work on what succeeded before, each on a name of its own; else mkdirs takes their place', () => {
    const wire = new Wire(loadPlan({ mix: mixOf('rename') }));
    const first = wire.choose();
    expect([first.method, wire.calls.substituted]).toEqual(['mkdirs', true]);
    expect(pathOf(first)).toBe(scratchPath(TARGET, 3, 0, 0));
    wire.succeed();
    const second = wire.choose();
    expect([second.method, wire.calls.substituted]).toEqual(['rename', false]);
    expect(second.request).toEqual({ src: scratchPath(TARGET, 3, 0, 0), dst: scratchPath(TARGET, 3, 0, 1) });
    // While that has no answer there is nothing to rename.
    const { operation, source, group, number, destination } = wire.calls;
    expect(wire.choose().method).toBe('mkdirs');
    wire.calls.settleSuccess(operation, 0, source, group, number, destination);
    expect(wire.choose().request).toMatchObject({ src: scratchPath(TARGET, 3, 0, 1) });
  });

  test('the same seed reads the same in the same places, whatever is answered', () => {
    const plan = loadPlan({ mix: mixOf('getFileInfo', 'getListing', 'mkdirs', 'rename', 'delete') });
    const [lucky, unlucky] = [new Wire(plan), new Wire(plan)];
    const readOf = ({ method, request }: Decoded) => (method.startsWith('get') ? `${method} ${request['src']}` : '');
    let renames = 0;
    for (let i = 0; i < 500; i++) {
      const one = lucky.choose(i);
      lucky.succeed();
      if (one.method === 'rename') renames++;
      expect(readOf(one)).toBe(readOf(unlucky.choose(i)));
    }
    expect(renames).toBeGreaterThan(10);
  });

  test('what a user has made is changed by that user only', () => {
    const wire = new Wire(loadPlan({ users: ['alice', 'bob'], mix: mixOf('setPermission') }));
    wire.choose(0, 1);
    wire.succeed(1);
    expect(wire.choose(1, 0).method).toBe('mkdirs');
    expect(wire.choose(2, 1).method).toBe('setPermission');
  });

  test('a call that changed nothing gives its name back', () => {
    const wire = new Wire(loadPlan({ mix: mixOf('delete') }));
    wire.choose();
    wire.succeed();
    const { request } = wire.choose();
    expect(request).toEqual({ src: scratchPath(TARGET, 3, 0, 0), recursive: true });
    const { operation, source, group, number } = wire.calls;
    wire.calls.settleUnchanged(operation, 0, source, group, number);
    expect(wire.choose().request).toEqual(request);
    wire.succeed();
    expect(wire.choose().method).toBe('mkdirs');
  });

  test('a plan that has nothing to read or to work in is refused with the remedy', () => {
    expect(() => new Wire(loadPlan({ targets: [], mix: mixOf('mkdirs') }))).toThrow('mkdirs changes the namespace');
    expect(() => new Wire(loadPlan({ targets: [], mix: mixOf('getFileInfo') }))).toThrow('--paths');
    expect(() => new Wire(loadPlan({ filesPerTarget: 0, mix: mixOf('getFileInfo') }))).toThrow('--files');
    expect(() => new Wire(loadPlan({ paths: [`/${'x'.repeat(MAX_PATH_BYTES)}`] }))).toThrow('HDFS takes up to');
  });
});

describe('own directories', () => {
  test('whatever the mix and the answers, no changing call names a path outside of them', () => {
    const operation = fc.constantFrom(...OPERATION_NAMES);
    const share = fc.record({ operation, weight: fc.integer({ min: 1, max: 9 }) });
    const answers = fc.array(fc.constantFrom('success', 'unchanged', 'lost'), { minLength: 50, maxLength: 200 });
    fc.assert(
      fc.property(fc.array(share, { minLength: 1, maxLength: 8 }), answers, fc.nat(), fc.boolean(), (...given) => {
        const [mix, outcomes, seed, isZipf] = given;
        const distribution = isZipf ? ({ kind: 'zipf', exponent: 1.1 } as const) : ({ kind: 'uniform' } as const);
        const paths = seed % 2 === 0 ? ['/etc/passwd', '/data'] : [];
        const wire = new Wire(loadPlan({ mix, seed, distribution, paths, targets: [TARGET, OTHER] }));
        for (const [i, outcome] of outcomes.entries()) {
          const decoded = wire.choose(i);
          const name = decoded.method as OperationName;
          if (isChanging(name)) {
            assertInside(pathOf(decoded));
            if (name === 'rename') assertInside(decoded.request['dst'] as string);
            if (name === 'create') assertInside(pathOf(wire.write(COMPLETE)));
          }
          if (outcome === 'success') wire.succeed();
          const { operation: chosen, source, group, number } = wire.calls;
          if (outcome === 'unchanged') wire.calls.settleUnchanged(chosen, 0, source, group, number);
        }
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['/data/other', ''],
    [`${TARGET.own}/../x`, ''],
    [TARGET.own, ''],
    [`${TARGET.own}x/a`, ''],
    [`${TARGET.own}//a`, ''],
    [`${TARGET.own}/a/./b`, ''],
  ])('a replay that would delete %s is refused', (source) => {
    const call = { atMs: 0, operation: 'delete', user: 'alice', source, destination: '' } as const;
    expect(() => new ReplayCalls(loadPlan(), [call], new PathTable())).toThrow('outside');
  });

  test('a replay that would rename to the outside is refused; what it only reads may lie anywhere', () => {
    const inside = `${TARGET.own}/replay/a`;
    const rename = { atMs: 0, operation: 'rename', user: 'alice', source: inside, destination: '/data/b' } as const;
    expect(() => new ReplayCalls(loadPlan(), [rename], new PathTable())).toThrow('/data/b');
    const read = { atMs: 0, operation: 'getListing', user: 'alice', source: '/data', destination: '' } as const;
    const within = { ...rename, destination: `${TARGET.own}/replay/b` };
    const wire = new Wire(loadPlan(), (paths) => new ReplayCalls(loadPlan(), [read, within], paths));
    expect(wire.choose(0)).toMatchObject({ method: 'getListing', request: { src: '/data', needLocation: false } });
    expect(wire.choose(1).request).toEqual({ src: inside, dst: `${TARGET.own}/replay/b` });
  });

  function assertInside(path: string): void {
    expect(isInside(TARGET, path) || isInside(OTHER, path), path).toBe(true);
    expect(path.split('/')).not.toContain('..');
  }
});

describe('frames', () => {
  test('every request is one that its message type takes, with its path', () => {
    for (const name of OPERATION_NAMES) {
      const wire = new Wire(loadPlan({ mix: mixOf(name) }));
      wire.choose();
      wire.succeed();
      const decoded = wire.choose();
      expect(decoded.method).toBe(name);
      expect(pathOf(decoded).startsWith(`${TARGET.own}/`)).toBe(true);
    }
    expect(REQUEST_NAMES[COMPLETE]).toBe('complete');
    const created = new Wire(loadPlan({ mix: mixOf('create') }));
    const { request } = created.choose();
    expect(request).toMatchObject({ clientName: 'holder', createFlag: 3, createParent: false });
    expect(created.write(COMPLETE).request).toMatchObject({ src: request['src'], clientName: 'holder' });
  });

  test('names beyond a group go into the next one; every digit is written', () => {
    const wire = new Wire(loadPlan({ mix: mixOf('mkdirs') }));
    wire.choose();
    const at = (group: number, number: number): string => {
      wire.calls.group = group;
      wire.calls.number = number;
      return pathOf(wire.write(OPERATION_NAMES.indexOf('mkdirs')));
    };
    expect(at(12_345, 1_234_567_890)).toBe(scratchPath(TARGET, 3, 12_345, 1_234_567_890));
    for (let i = 0; i < 5; i++) wire.calls.choose(0, 0);
    expect(wire.calls.number).toBe(5);
    expect(wire.calls.group).toBe(Math.floor(5 / SCRATCH_GROUP_NAMES));
  });

  test('a federated state of any length is a field of the header, and can go again', () => {
    const wire = new Wire(loadPlan());
    wire.choose();
    wire.frames.setZeroState();
    expect(Number(wire.write(0).header['stateId'])).toBe(0);
    expect(wire.write(0).header).toHaveProperty('stateId');
    for (const bytes of [1, 60, 100, 200, 16_200, 17_000]) {
      const state = Buffer.alloc(bytes, 7);
      wire.frames.setFederatedState(state);
      expect(wire.write(0).header['routerFederatedState']).toEqual(state);
      expect(wire.write(0).header).not.toHaveProperty('stateId');
    }
    wire.frames.setFederatedState(Buffer.alloc(0));
    expect(wire.write(0).header).not.toHaveProperty('routerFederatedState');
  });
});

test('a pool holds up to its limit and gives each name once', () => {
  const random = new Random(1, 0);
  const pool = new NamePool(limitPools(1));
  for (let i = 0; i < MAX_POOL_NAMES + 10; i++) pool.put(i % 3, i);
  expect(pool.count).toBe(MAX_POOL_NAMES);
  const seen = new Set<number>();
  while (pool.take(random)) {
    expect(pool.takenGroup).toBe(pool.takenNumber % 3);
    seen.add(pool.takenNumber);
  }
  expect(seen.size).toBe(MAX_POOL_NAMES);
  expect(limitPools(64 * 100_000)).toBeGreaterThan(0);
});
