import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import {
  ByteClient,
  callFrame,
  contextFrame,
  controlFrame,
  frameOf,
  headerOf,
  PREAMBLE,
  prefixOf,
  readReply,
  SASL_PREAMBLE,
  saslFrame,
} from '../support/client-bytes.ts';
import { EchoNameNode } from '../support/echo-namenode.ts';
import { RawClient } from '../support/raw-client.ts';
import { residentKib } from '../support/resident.ts';
import { RouterProcess } from '../support/router-process.ts';

/** Garbage that knows the structure, against the client port of a router process. */

const FUZZ_MS = 4_000;
const SEED = 20_240_229;
const MAX_GROWTH_KIB = 96 * 1024;

let namenode: EchoNameNode;
let router: RouterProcess;

beforeAll(async () => {
  namenode = await EchoNameNode.start();
  router = await RouterProcess.start({
    nameservices: { ns0: [{ port: namenode.port }] },
    mounts: ['/a=ns0:/a'],
    // Hundreds of connections end with a warning.
    args: ['--set', 'switchyard.log.level=error'],
  });
});

afterAll(async () => {
  await router[Symbol.asyncDispose]();
  await namenode[Symbol.asyncDispose]();
});

const byte = fc.integer({ min: 0, max: 255 });
const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const callId = fc.oneof(fc.nat(50), fc.constantFrom(-1, -2, -3, -4, -33, -77, 0x7fff_ffff, -0x8000_0000));
const text = fc.string({ unit: 'binary', maxLength: 40 });

/** A delimited message of any fields, mostly short strings that may be paths. */
const requestBody = fc
  .array(
    fc.record({ field: fc.integer({ min: 1, max: 6 }), text: fc.oneof(fc.constantFrom('/a/x', '/a', '/', ''), text) }),
    {
      maxLength: 5,
    },
  )
  .map((fields) => {
    const parts = fields.map(({ field, text: value }) => {
      const bytes = Buffer.from(value).subarray(0, 100);
      return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
    });
    const message = Buffer.concat(parts).subarray(0, 0x7f);
    return Buffer.concat([Buffer.from([message.length]), message]);
  });

const header = fc.record(
  {
    rpcKind: fc.constantFrom('RPC_BUILTIN', 'RPC_WRITABLE', 'RPC_PROTOCOL_BUFFER', undefined),
    rpcOp: fc.constantFrom('RPC_FINAL_PACKET', 'RPC_CONTINUATION_PACKET', 'RPC_CLOSE_CONNECTION', undefined),
    callId,
    clientId: anyBytes,
    retryCount: fc.integer({ min: -2, max: 9 }),
    callerContext: fc.record({ context: text, signature: fc.option(anyBytes, { nil: undefined }) }),
    stateId: fc.constantFrom(-1, 0, 4711, Number.MIN_SAFE_INTEGER),
    routerFederatedState: anyBytes,
    traceInfo: fc.record({ traceId: fc.nat(), spanContext: anyBytes }),
  },
  { requiredKeys: [] },
);

/** What a client might send, whole and well formed. */
const goodFrame = fc.oneof(
  {
    arbitrary: fc
      .record({ callId: fc.nat(50), path: fc.constantFrom('/a/x', '/a', '/', '', 'rel', '/b') })
      .map(callFrame),
    weight: 4,
  },
  fc.record({ header, path: text }).map(callFrame),
  fc
    .record({ method: fc.constantFrom(...METHODS), body: requestBody })
    .map(({ method: { name, protocol }, body }) =>
      callFrame({ method: name, protocol: PROTOCOLS[protocol]?.name ?? '', body }),
    ),
  fc.record({ protocol: text, version: fc.nat(3) }).map(callFrame),
  fc.record({ user: text, realUser: text, protocol: text }, { requiredKeys: [] }).map(contextFrame),
  fc.constantFrom(contextFrame({ user: 'alice' }), controlFrame(-4), saslFrame({ state: 'NEGOTIATE' })),
  fc.constantFrom('SUCCESS', 'INITIATE', 'CHALLENGE', 'RESPONSE', 'WRAP').map((state) => saslFrame({ state })),
  callId.map((id) => controlFrame(id)),
  header.map((fields) => frameOf(headerOf(fields))),
);

/** The same with something wrong: bytes changed, cut off, added; the length may be right for that or not. */
const badFrame = fc
  .record({
    frame: goodFrame,
    changes: fc.array(fc.record({ at: fc.nat(400), to: byte }), { maxLength: 6 }),
    cut: fc.option(fc.nat(300), { nil: undefined }),
    more: fc.option(anyBytes, { nil: Buffer.alloc(0) }),
    fixLength: fc.boolean(),
  })
  .map(({ frame, changes, cut, more, fixLength }) => {
    const bytes = Buffer.concat([frame.subarray(0, cut ?? frame.length), more]);
    for (const { at, to } of changes) if (at >= 4 && at < bytes.length) bytes[at] = to;
    if (fixLength && bytes.length >= 4) bytes.writeInt32BE(bytes.length - 4, 0);
    return bytes;
  });

const anyFrame = fc.oneof(
  { arbitrary: goodFrame, weight: 3 },
  { arbitrary: badFrame, weight: 4 },
  anyBytes.map((bytes) => frameOf(bytes)),
  anyBytes,
  fc.oneof(fc.integer(), fc.nat(70_000)).map(prefixOf),
);

const preamble = fc.oneof(
  { arbitrary: fc.constant(PREAMBLE), weight: 6 },
  { arbitrary: fc.constant(SASL_PREAMBLE), weight: 2 },
  anyBytes,
);

const conversation = fc.record({
  preamble,
  context: fc.boolean(),
  frames: fc.array(anyFrame, { maxLength: 12 }),
  /** Sizes of the writes, over and over. */
  writes: fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 }),
  end: fc.constantFrom('reset', 'close', 'half-close'),
});

/** A whole conversation. How it ends is the router's or the client's choice; that it ends, ours. */
async function converse({ preamble: first, context, frames, writes, end }: Conversation): Promise<void> {
  using client = await ByteClient.connect(router);
  const bytes = Buffer.concat([first, ...(context ? [contextFrame({ user: 'mallory' })] : []), ...frames]);
  for (let at = 0, i = 0; at < bytes.length && client.ended === ''; i++) {
    const size = writes[i % writes.length] as number;
    client.socket.write(bytes.subarray(at, at + size));
    at += size;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (end === 'reset') client.socket.resetAndDestroy();
  else if (end === 'half-close' && client.ended === '') {
    client.socket.end();
    await client.whole();
  }
  // Whatever came back are frames, unless it is an answer to a preamble of another age.
  if (first !== PREAMBLE || client.received.length === 0) return;
  for (let at = 0; at + 4 <= client.received.length; ) {
    const frameEnd = at + 4 + client.received.readInt32BE(at);
    if (frameEnd > client.received.length) break;
    expect(['SUCCESS', 'ERROR', 'FATAL']).toContain(readReply(client.received.subarray(at, frameEnd)).header['status']);
    at = frameEnd;
  }
}
type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never;

it('never ends a thread, keeps memory flat and serves the honest', async () => {
  using honest = await RawClient.connect(router, { user: 'honest' });
  const call = { method: 'getFileInfo', request: { src: '/a/honest' } };
  await honest.pipeline(2_000, 32, () => call);
  const before = residentKib(router.pid);
  let conversations = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(conversation, { minLength: 4, maxLength: 4 }), async (batch) => {
      await Promise.all(batch.map(converse));
      conversations += batch.length;
      // On a connection that was there before the first of them.
      expect(await honest.result(call)).toMatchObject({ fs: { owner: '/a/honest' } });
    }),
    {
      seed: SEED,
      numRuns: 100_000,
      interruptAfterTimeLimit: FUZZ_MS,
      markInterruptAsFailure: false,
      endOnFailure: true,
    },
  );
  expect(conversations).toBeGreaterThan(100);
  await honest.pipeline(2_000, 32, () => call);
  expect(residentKib(router.pid) - before).toBeLessThan(MAX_GROWTH_KIB);
  expect(router.log).toBe('');
  expect(await router.stop()).toBe(0);
}, 60_000);
