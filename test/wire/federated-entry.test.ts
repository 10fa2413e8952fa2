import { describe, expect, it } from 'vitest';
import { findStateId, readStateEntry, StateEntry } from '../../src/wire/federated-state.ts';
import { decode, encode, messageType } from '../../src/wire/messages.ts';
import { Wide } from '../../src/wire/varint.ts';

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
/** The frame lies in a larger buffer, so that reading beyond its end shows. */
const SHIFT = 5;

function read(hex: string) {
  const state = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  const buffer = Buffer.concat([Buffer.alloc(SHIFT, 0x0a), state, Buffer.alloc(16, 0x0a)]);
  const entry = new StateEntry();
  // What the entry before has left.
  Object.assign(entry, { isEntry: true, nameStart: 1, nameEnd: 2, high: 3, low: 4 });
  const after = readStateEntry(buffer, SHIFT, SHIFT + state.length, entry);
  const { isEntry, high, low } = entry;
  const name = buffer.toString('latin1', entry.nameStart, entry.nameEnd);
  return after < 0 ? 'unreadable' : { bytes: after - SHIFT, isEntry, ...(isEntry ? { name, high, low } : {}) };
}

describe('one field of a federated state', () => {
  const long = Buffer.alloc(0x80, 'n').toString('hex');
  it.each([
    ['as encoders write it', '0a0a 0a036e7330 10959aef3a', { bytes: 12, name: 'ns0', high: 0, low: 123_456_789 }],
    [
      'with a state id of 64 bits',
      '0a10 0a036e7330 10808080808080808080 01',
      { bytes: 18, high: -0x8000_0000, low: 0 },
    ],
    ['with the state id 0', '0a07 0a036e7330 1000', { bytes: 9, name: 'ns0', high: 0, low: 0 }],
    ['with an empty name', '0a04 0a00 1007', { bytes: 6, name: '', low: 7 }],
    ['without a state id', '0a05 0a036e7330', { bytes: 7, name: 'ns0', high: 0, low: 0 }],
    ['without a name', '0a02 1007', { bytes: 4, name: '', low: 7 }],
    ['with nothing', '0a00', { bytes: 2, name: '', high: 0, low: 0 }],
    ['with the state id first', '0a07 1007 0a036e7330', { bytes: 9, name: 'ns0', low: 7 }],
    ['with a second state id', '0a09 0a036e7330 1007 1008', { bytes: 11, name: 'ns0', low: 8 }],
    ['with a second name', '0a0b 0a036e7330 1007 0a026e73', { bytes: 13, name: 'ns', low: 7 }],
    ['with an unknown field', '0a09 0a036e7330 1007 1800', { bytes: 11, name: 'ns0', low: 7 }],
    ['with a length longer than needed', '0a8700 0a036e7330 1007', { bytes: 10, name: 'ns0', low: 7 }],
    ['with a length of two bytes', `0a8501 0a8001${long} 1007`, { bytes: 136, low: 7 }],
    ['followed by more', '0a07 0a036e7330 1007 0a00', { bytes: 9, name: 'ns0', low: 7 }],
  ])('%s', (_, hex, expected) => {
    expect(read(hex)).toMatchObject({ isEntry: true, ...expected });
  });

  it.each([
    ['another field', '1005', 2],
    ['another field of bytes', '12030a0100', 5],
  ])('%s is no entry', (_, hex, bytes) => {
    expect(read(hex)).toEqual({ bytes, isEntry: false });
  });

  it.each([
    ['without a length', '0a'],
    ['that runs out of the state', '0a08 0a036e7330 1007'],
    ['whose name runs out of it', '0a07 0a066e7330 1007'],
    ['whose state id runs out of it', '0a07 0a036e7330 1087'],
    ['whose state id is not there', '0a06 0a036e7330 10'],
    ['whose state id has 11 bytes', '0a11 0a036e7330 10ffffffffffffffffffff01'],
  ])('an entry %s cannot be read', (_, hex) => {
    expect(read(hex)).toBe('unreadable');
  });
});

it('finds what an encoder wrote, whichever nameservice it is of', () => {
  const stateIds = { ns0: 123_456_789, [`${'n'.repeat(130)}`]: 2 ** 40 + 5, 'ns-with-a-name': 0, ns1: 127, ns2: 128 };
  const bytes = encode(STATE, { namespaceStateIds: stateIds });
  const into = new Wide();
  for (const [name, stateId] of Object.entries(stateIds)) {
    expect(findStateId(bytes, 0, bytes.length, Buffer.from(name), into)).toBe(true);
    expect(into.high * 2 ** 32 + (into.low >>> 0)).toBe(stateId);
  }
  expect(findStateId(bytes, 0, bytes.length, Buffer.from('ns'), into)).toBe(false);
  expect(decode(STATE, bytes, 0, bytes.length)).toBeDefined();
});
