import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Block } from '../../src/wire/block.ts';
import {
  findStateId,
  MAX_STATE_ENTRIES,
  makeNamePart,
  readStateEntry,
  StateEntry,
  stateEntryBytes,
  writeStateEntry,
} from '../../src/wire/federated-state.ts';
import { decodePlain, encode, messageType, type Plain } from '../../src/wire/messages.ts';
import { Wide } from '../../src/wire/varint.ts';
import { damaged, FUZZ, field, message } from './wire-messages.ts';

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const int64 = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(0n, 300n));
const name = fc.oneof(fc.constantFrom('ns0', 'ns1', 'ns10', 'n'), fc.string({ unit: 'grapheme', maxLength: 40 }));

const found = new Wide();

function find(bytes: Buffer, start: number, end: number, nameservice: string): bigint | null {
  if (!findStateId(bytes, start, end, Buffer.from(nameservice), found)) return null;
  return (BigInt(found.high) << 32n) | BigInt(found.low >>> 0);
}

function idsOf(bytes: Buffer): Map<string, bigint> {
  const ids = decodePlain(STATE, bytes)['namespaceStateIds'] as Record<string, number | bigint> | undefined;
  return new Map(Object.entries(ids ?? {}).map(([key, value]) => [key, BigInt(value)]));
}

it('what protobuf encodes is found, and nothing else', () => {
  const states = fc.array(fc.tuple(name, int64), { maxLength: 12 });
  fc.assert(
    fc.property(states, name, fc.nat(8), (entries, other, start) => {
      // Each in a message of its own: names may stand twice, as map entries on the wire may.
      const bytes = Buffer.concat(entries.map(([key, id]) => encode(STATE, { namespaceStateIds: { [key]: id } })));
      const expected = new Map(entries);
      const around = Buffer.concat([Buffer.alloc(start, 0x0a), bytes, Buffer.alloc(3, 0x0a)]);
      for (const key of [...expected.keys(), other]) {
        expect(find(around, start, start + bytes.length, key)).toBe(expected.get(key) ?? null);
      }
    }),
    FUZZ,
  );
});

it('what is written is what protobuf reads', () => {
  const entries = fc.array(fc.tuple(name, fc.maxSafeNat()), { maxLength: 12 });
  fc.assert(
    fc.property(entries, (written) => {
      const bytes = written.reduce((sum, [key, id]) => sum + stateEntryBytes(makeNamePart(Buffer.from(key)), id), 0);
      const out = Buffer.alloc(bytes + 1, 0xee);
      const block = new Block(out);
      let at = 0;
      for (const [key, id] of written) at = writeStateEntry(block, at, makeNamePart(Buffer.from(key)), id);
      expect(at).toBe(bytes);
      expect(out[bytes]).toBe(0xee);
      expect(idsOf(out.subarray(0, bytes))).toEqual(new Map(written.map(([key, id]) => [key, BigInt(id)])));
    }),
    FUZZ,
  );
});

it('bytes that are no state, or nearly one, are read without harm, and what is found protobuf finds too', () => {
  const pair = damaged(
    message(field({ 1: 2, 2: 0 }, fc.constantFrom(...['ns0', 'ns1', ''].map((key) => Buffer.from(key))))),
  );
  const state = damaged(message(field({ 1: 2 }, pair)));
  const entry = new StateEntry();
  let sound = 0;
  let refused = 0;
  fc.assert(
    fc.property(state, (bytes) => {
      // Behind the end stands what a reader that runs over it would take for its own.
      const around = Buffer.concat([bytes, Buffer.alloc(20, 0x01)]);
      let entries = 0;
      let at = 0;
      while (at >= 0 && at < bytes.length) {
        const after = readStateEntry(around, at, bytes.length, entry);
        if (after >= 0) {
          expect(after).toBeGreaterThan(at);
          expect(after).toBeLessThanOrEqual(bytes.length);
          if (entry.isEntry) expect(entry.nameEnd).toBeLessThanOrEqual(after);
          entries++;
        }
        at = after;
      }
      const isRead = at >= 0 && entries <= MAX_STATE_ENTRIES;
      let decoded: Map<string, bigint> | null = null;
      try {
        decoded = idsOf(bytes);
      } catch {
        decoded = null;
      }
      for (const key of ['ns0', 'ns1']) {
        const id = find(around, 0, bytes.length, key);
        if (!isRead) expect(id).toBeNull();
        // Where a field has another wire type than it should, protobufjs reads it all the same, and mostly nonsense.
        else if (decoded !== null && isPlain(bytes)) expect(id).toBe(decoded.get(key) ?? null);
      }
      if (isRead) sound++;
      else refused++;
    }),
    FUZZ,
  );
  expect(sound).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(20);
});

/** Whether protobufjs writes what it has read as the very same bytes: then there was nothing odd in them. */
function isPlain(bytes: Buffer): boolean {
  const plain: Plain = decodePlain(STATE, bytes);
  return encode(STATE, plain).equals(bytes);
}
