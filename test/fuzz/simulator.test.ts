import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METHODS, PROTOCOLS } from '../../src/call/methods.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { nextEvent } from '../support/wait.ts';

const LIMIT_MS = 2_000;
const PREAMBLE = Buffer.from('68727063090000', 'hex');
const CLIENT_ID = Buffer.alloc(16, 9);

let simulator: Simulator;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ nameservices: ['ns0'], superuser: 'hdfs', observers: 1 });
  port = simulator.nameservices[0]!.namenodes[0]!.port;
});

afterAll(async () => {
  await simulator.close();
});

function frame(...parts: Buffer[]): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

function header(callId: number): Buffer {
  return encodeDelimited(messageType('hadoop.common.RpcRequestHeaderProto'), {
    rpcKind: 'RPC_PROTOCOL_BUFFER',
    rpcOp: 'RPC_FINAL_PACKET',
    callId,
    clientId: CLIENT_ID,
    retryCount: 0,
  });
}

const CONTEXT = frame(
  header(-3),
  encodeDelimited(messageType('hadoop.common.IpcConnectionContextProto'), {
    userInfo: { effectiveUser: 'hdfs' },
    protocol: PROTOCOLS[0]!.name,
  }),
);

/** A call whose request holds the given bytes for a path in field 1, and whatever else comes. */
function call(methodNumber: number, body: Uint8Array): Buffer {
  const method = METHODS[methodNumber % METHODS.length]!;
  const request = {
    methodName: method.name,
    declaringClassProtocolName: PROTOCOLS[method.protocol]!.name,
    clientProtocolVersion: 1,
  };
  return frame(
    header(methodNumber),
    encodeDelimited(messageType('hadoop.common.RequestHeaderProto'), request),
    Buffer.from([body.length]),
    Buffer.from(body),
  );
}

/** Protobuf-like bytes: fields with small numbers, varints of any size, short strings that look like paths. */
const field = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 11 }), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map(([number, value]) => {
    const bytes = [number << 3];
    let rest = value;
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    return [...bytes, Number(rest)];
  }),
  fc
    .tuple(
      fc.integer({ min: 1, max: 11 }),
      fc.constantFrom('/', '/a', '/a/b', '/f', 'x', '\u0000', '/.reserved/.inodes/16386'),
    )
    .map(([number, text]) => [(number << 3) | 2, text.length, ...Buffer.from(text, 'latin1')]),
);
const body = fc.array(field, { maxLength: 8 }).map((fields) => Uint8Array.from(fields.flat().slice(0, 127)));

async function send(bytes: Buffer): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  socket.resume();
  socket.end(bytes);
  await nextEvent(socket, 'close', 'the end of the connection');
}

describe('the simulator lives on', () => {
  it('after calls with any request', async () => {
    const calls = fc.array(fc.tuple(fc.nat(METHODS.length - 1), body), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        await send(Buffer.concat([PREAMBLE, CONTEXT, ...list.map(([method, bytes]) => call(method, bytes))]));
      }),
      { seed: 1, numRuns: 100_000, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: false },
    );
    const log = await simulator.control({ op: 'calls' });
    expect(log.some((one) => one.executed && one.exception === '')).toBe(true);
    // Followers come to the same tree whatever was asked.
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn1' });
    await simulator.control({ op: 'failover', nameservice: 'ns0', to: 'nn0' });
    const [first, second, third] = await simulator.control({ op: 'status' });
    expect([second!.appliedTxId, third!.appliedTxId]).toEqual([first!.appliedTxId, first!.appliedTxId]);
    expect([second!.inodes, third!.inodes]).toEqual([first!.inodes, first!.inodes]);
  });

  it('after bytes that are damaged anywhere', async () => {
    const good = Buffer.concat([
      PREAMBLE,
      CONTEXT,
      call(1, Uint8Array.of(10, 2, 47, 97)),
      call(30, Uint8Array.of(10, 1, 47)),
    ]);
    const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(damage, async (changes) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        await send(bytes);
      }),
      { seed: 2, numRuns: 100_000, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: false },
    );
    expect(await simulator.control({ op: 'status' })).toHaveLength(3);
  });
});
