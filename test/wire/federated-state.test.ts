import { describe, expect, it } from 'vitest';
import { Block } from '../../src/wire/block.ts';
import {
  findStateId,
  MAX_STATE_BYTES,
  MAX_STATE_ENTRIES,
  makeNamePart,
  readStateEntry,
  StateEntry,
  stateEntryBytes,
  stateFieldBytes,
  writeStateEntry,
  writeStateFieldStart,
} from '../../src/wire/federated-state.ts';
import { decodePlain, encode, messageType } from '../../src/wire/messages.ts';
import { Wide } from '../../src/wire/varint.ts';

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const RESPONSE_HEADER = messageType('hadoop.common.RpcResponseHeaderProto');

type Entries = Readonly<Record<string, number | bigint>>;

function stateOf(namespaceStateIds: Entries): Buffer {
  return encode(STATE, { namespaceStateIds });
}

const found = new Wide();

/** The state id of a nameservice, null for none. */
function find(bytes: Buffer, nameservice: string, start = 0, end = bytes.length): bigint | null {
  if (!findStateId(bytes, start, end, Buffer.from(nameservice), found)) return null;
  return (BigInt(found.high) << 32n) | BigInt(found.low >>> 0);
}

/** One entry as other encoders may write it: its parts in hex. */
function entry(...parts: string[]): Buffer {
  const inner = Buffer.from(parts.join('').replaceAll(' ', ''), 'hex');
  return Buffer.concat([Buffer.of(0x0a, inner.length), inner]);
}
/** nameservice "ns0". */
const NS0 = '0a 03 6e7330';

describe('the state id of a nameservice', () => {
  it('is found among others, anywhere in a buffer', () => {
    const bytes = stateOf({ ns0: 5, ns1: 300, 'a-nameservice-with-a-longer-name': 2 ** 40 + 7, ns10: 0 });
    const shifted = Buffer.concat([Buffer.alloc(11, 0x0a), bytes, Buffer.alloc(11, 0x0a)]);
    const end = 11 + bytes.length;
    expect(find(shifted, 'ns0', 11, end)).toBe(5n);
    expect(find(shifted, 'ns1', 11, end)).toBe(300n);
    expect(find(shifted, 'a-nameservice-with-a-longer-name', 11, end)).toBe(BigInt(2 ** 40 + 7));
    expect(find(shifted, 'ns10', 11, end)).toBe(0n);
    for (const other of ['ns', 'ns2', 'ns00', 'NS0', '']) expect(find(shifted, other, 11, end)).toBeNull();
  });

  it.each([-1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 63n - 1n, -(2n ** 63n)])('is any int64: %s', (stateId) => {
    expect(find(stateOf({ ns0: stateId }), 'ns0')).toBe(stateId);
  });

  it('is none in what is empty', () => {
    expect(find(Buffer.alloc(0), 'ns0')).toBeNull();
  });

  it('is the last one when its name stands twice', () => {
    const twice = Buffer.concat([stateOf({ ns0: 9, ns1: 1 }), stateOf({ ns0: 4 })]);
    expect(decodePlain(STATE, twice)).toEqual({ namespaceStateIds: { ns0: 4, ns1: 1 } });
    expect(find(twice, 'ns0')).toBe(4n);
    expect(find(twice, 'ns1')).toBe(1n);
  });

  it.each([
    ['its number before its name', entry('10 07', NS0), 7n],
    ['no number, which is 0', entry(NS0), 0n],
    ['its name twice', entry('0a 01 78', NS0, '10 07'), 7n],
    ['its number twice', entry(NS0, '10 09', '10 07'), 7n],
    ['numbers longer than they need to be', entry(NS0, '10 87 80 80 00'), 7n],
    ['tags longer than they need to be', entry('8a 80 00 03 6e7330', '90 00 07'), 7n],
    ['fields that nobody knows', entry('1a 01 61', NS0, '20 05', '10 07', '2d 01020304', '31 0102030405060708'), 7n],
    ['fields with large numbers', entry('8a 01 02 6162', NS0, '10 07', 'f8 ff ff ff 0f 01'), 7n],
    ['a group', entry(NS0, '1b 0a 02 6162 1c', '10 07'), 7n],
  ])('is read with %s', (_name, bytes, stateId) => {
    expect(find(bytes, 'ns0')).toBe(stateId);
  });

  it('is read beside fields of the state that nobody knows', () => {
    const unknown = ['12 03 6e7330', '18 01', 'a2 06 01 61', '23 08 01 24'].map((hex) =>
      Buffer.from(hex.replaceAll(' ', ''), 'hex'),
    );
    const bytes = Buffer.concat([unknown[0]!, stateOf({ ns0: 7 }), ...unknown.slice(1)]);
    expect(find(bytes, 'ns0')).toBe(7n);
  });

  it('is not one of another wire type', () => {
    expect(find(entry(NS0, '11 0700000000000000'), 'ns0')).toBe(0n);
    expect(find(Buffer.from('0807', 'hex'), 'ns0')).toBeNull();
  });

  it.each([
    ['an entry that is cut off', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('0a05', 'hex')])],
    ['a name longer than its entry', entry('0a 09 6e7330', '10 07')],
    ['a number without an end', entry(NS0, '10 87')],
    ['a number of eleven bytes', entry(NS0, '10 80808080808080808080 01')],
    ['field number 0', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('0000', 'hex')])],
    ['a group without an end', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('1b', 'hex')])],
    ['the end of a group', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('1c', 'hex')])],
    ['wire type 7', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('1f', 'hex')])],
    ['a tag without an end', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('ff', 'hex')])],
    ['a negative length', Buffer.concat([stateOf({ ns0: 7 }), Buffer.from('0affffffff0f', 'hex')])],
  ])('is none in a state with %s', (_name, bytes) => {
    expect(find(bytes, 'ns0')).toBeNull();
  });

  it('is none in any state that is cut off within an entry', () => {
    const bytes = stateOf({ ns0: 300, ns1: 2 ** 40 });
    const first = stateOf({ ns0: 300 }).length;
    for (let end = 0; end < bytes.length; end++) {
      expect(find(bytes, 'ns0', 0, end)).toBe(end === first ? 300n : null);
      expect(find(bytes, 'ns1', 0, end)).toBeNull();
    }
  });
});

describe('a state with much in it', () => {
  const many = (entries: number): Entries =>
    Object.fromEntries(Array.from({ length: entries }, (_, i) => [`ns${i}`, i]));

  it('is read up to so many entries', () => {
    const last = `ns${MAX_STATE_ENTRIES - 1}`;
    expect(find(stateOf(many(MAX_STATE_ENTRIES)), last)).toBe(BigInt(MAX_STATE_ENTRIES - 1));
    expect(find(stateOf(many(MAX_STATE_ENTRIES + 1)), last)).toBeNull();
    expect(find(stateOf(many(MAX_STATE_ENTRIES + 1)), 'ns0')).toBeNull();
  });

  it('counts what is no entry, too', () => {
    const unknown = Buffer.alloc(2 * (MAX_STATE_ENTRIES - 1), Buffer.from('1801', 'hex'));
    expect(find(Buffer.concat([unknown, stateOf({ ns0: 7 })]), 'ns0')).toBe(7n);
    expect(find(Buffer.concat([unknown, unknown, stateOf({ ns0: 7 })]), 'ns0')).toBeNull();
  });

  it('is read up to so many bytes', () => {
    const ofBytes = (bytes: number): Buffer => {
      const own = stateOf({ ns0: 7 });
      const other = stateOf({ [`x`.repeat(bytes - own.length - 40)]: 1 });
      const state = Buffer.concat([own, other]);
      // What is missing is one field that nobody knows.
      return Buffer.concat([state, Buffer.of(0x1a, bytes - state.length - 2), Buffer.alloc(bytes - state.length - 2)]);
    };
    expect(ofBytes(MAX_STATE_BYTES).length).toBe(MAX_STATE_BYTES);
    expect(find(ofBytes(MAX_STATE_BYTES), 'ns0')).toBe(7n);
    expect(find(ofBytes(MAX_STATE_BYTES + 1), 'ns0')).toBeNull();
  });
});

describe('an entry', () => {
  const NAMES = ['', 'n', 'ns0', 'x'.repeat(127), 'x'.repeat(128), 'namé'];
  const IDS = [
    0,
    1,
    127,
    128,
    2 ** 28,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 35,
    2 ** 48 - 2,
    Number.MAX_SAFE_INTEGER,
  ];

  it.each(NAMES.map((name) => [Buffer.byteLength(name), name] as const))(
    'is written as protobuf has it and takes as many bytes as it says: name of %s bytes',
    (_bytes, name) => {
      for (const stateId of IDS) {
        const namePart = makeNamePart(Buffer.from(name));
        const bytes = stateEntryBytes(namePart, stateId);
        const out = Buffer.alloc(bytes + 4, 0xee);
        expect(writeStateEntry(new Block(out), 2, namePart, stateId)).toBe(bytes + 2);
        expect(out[1]).toBe(0xee);
        expect(out[bytes + 2]).toBe(0xee);
        expect(decodePlain(STATE, out, 2, bytes + 2)).toEqual({ namespaceStateIds: { [name]: stateId } });
      }
    },
  );

  it('is read as it was written', () => {
    const read = new StateEntry();
    const out = Buffer.alloc(100);
    const end = writeStateEntry(new Block(out), 0, makeNamePart(Buffer.from('ns7')), 2 ** 40 + 3);
    expect(readStateEntry(out, 0, end, read)).toBe(end);
    expect(out.toString('latin1', read.nameStart, read.nameEnd)).toBe('ns7');
    expect([read.isEntry, read.high, read.low]).toEqual([true, 2 ** 8, 3]);
  });
});

describe('the field of an answer’s header', () => {
  it.each([0, 1, 127, 128, 20_000])('is as long as it says around %s bytes', (entriesBytes) => {
    const bytes = stateFieldBytes(entriesBytes);
    const out = Buffer.alloc(bytes, 0x11);
    expect(writeStateFieldStart(out, 0, entriesBytes)).toBe(bytes - entriesBytes);
    const header = encode(RESPONSE_HEADER, { callId: 1, status: 'SUCCESS' });
    const { routerFederatedState } = decodePlain(RESPONSE_HEADER, Buffer.concat([header, out]));
    expect(routerFederatedState).toEqual(Buffer.alloc(entriesBytes, 0x11));
  });
});
