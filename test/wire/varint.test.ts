import { describe, expect, it } from 'vitest';
import { NameIndex } from '../../src/wire/name-index.ts';
import {
  copyBytes,
  readInt32,
  readVarint32,
  readVarint64,
  skipValue,
  skipValueLoosely,
  skipVarint,
  unzigzag32,
  VALUE_IS_GROUP,
  VARINT_MALFORMED,
  VARINT_NOT_SHORTEST,
  VARINT_TRUNCATED,
  varint32Size,
  Wide,
  writeInt32,
  writeVarint32,
  writeVarint64,
  zigzag32,
} from '../../src/wire/varint.ts';

const hex = (text: string) => Buffer.from(text, 'hex');

describe('varint32', () => {
  it.each([
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [16383, 'ff7f'],
    [16384, '808001'],
    [2097151, 'ffff7f'],
    [2097152, '80808001'],
    [268435455, 'ffffff7f'],
    [268435456, '8080808001'],
    [2147483648, '8080808008'],
    [4294967295, 'ffffffff0f'],
  ])('%i is %s', (value, text) => {
    const bytes = hex(text);
    expect(readVarint32(Buffer.concat([bytes, hex('ff')]), 0, bytes.length + 1)).toBe(value);
    expect(varint32Size(value)).toBe(bytes.length);
    const out = Buffer.alloc(8, 0xee);
    expect(writeVarint32(out, 1, value)).toBe(1 + bytes.length);
    expect(out.toString('hex', 1, 1 + bytes.length)).toBe(text);
    for (let end = 0; end < bytes.length; end++) expect(readVarint32(bytes, 0, end)).toBe(VARINT_TRUNCATED);
    const wide = new Wide();
    expect(readVarint64(bytes, 0, bytes.length, wide)).toBe(bytes.length);
    expect(wide).toMatchObject({ high: 0, low: value | 0 });
    expect(skipVarint(bytes, 0, bytes.length)).toBe(bytes.length);
  });

  it('writes negative numbers as their unsigned 32 bits', () => {
    const out = Buffer.alloc(5);
    expect(writeVarint32(out, 0, -33)).toBe(5);
    expect(out.toString('hex')).toBe('dfffffff0f');
    expect(varint32Size(-33)).toBe(5);
  });

  it.each([
    ['8000', VARINT_NOT_SHORTEST],
    ['808000', VARINT_NOT_SHORTEST],
    ['8080808000', VARINT_NOT_SHORTEST],
    ['8080808010', VARINT_NOT_SHORTEST],
    ['ffffffffffffffffff01', VARINT_NOT_SHORTEST],
    ['ffffffffffffffffff', VARINT_TRUNCATED],
    ['ffffffffffffffffffff01', VARINT_MALFORMED],
  ])('%s is refused with %i', (text, code) => {
    expect(readVarint32(hex(text), 0, text.length / 2)).toBe(code);
  });
});

describe('varint64', () => {
  it.each([
    [0, 0, '00'],
    [0, -1, 'ffffffff0f'],
    [1, 0, '8080808010'],
    [7, -1, 'ffffffff7f'],
    [8, 0, '808080808001'],
    [-1, -1, 'ffffffffffffffffff01'],
    [-0x8000_0000, 0, '80808080808080808001'],
    [0x7fff_ffff, -1, 'ffffffffffffffff7f'],
    [0x0123_4567, -0x7654_3211, 'ef9bafcdf8acd19101'],
  ])('%i, %i is %s', (high, low, text) => {
    const bytes = hex(text);
    const out = Buffer.alloc(10);
    expect(out.toString('hex', 0, writeVarint64(out, 0, high, low))).toBe(text);
    const wide = new Wide();
    expect(readVarint64(bytes, 0, bytes.length, wide)).toBe(bytes.length);
    expect(wide).toMatchObject({ high, low });
    expect(readVarint64(bytes, 0, bytes.length - 1, wide)).toBe(VARINT_TRUNCATED);
  });

  it('takes long forms, refuses 11 bytes', () => {
    const wide = new Wide();
    expect(readVarint64(hex('81808000'), 0, 4, wide)).toBe(4);
    expect(wide).toMatchObject({ high: 0, low: 1 });
    expect(readVarint64(hex('8080808080808080808001'), 0, 11, wide)).toBe(VARINT_MALFORMED);
    expect(skipVarint(hex('8080808080808080808001'), 0, 11)).toBe(VARINT_MALFORMED);
  });
});

describe('skipping', () => {
  it.each([
    ['a varint', 0, 'ff01', 2],
    ['eight bytes', 1, '0102030405060708', 8],
    ['seven of eight bytes', 1, '01020304050607', VARINT_TRUNCATED],
    ['four bytes', 5, '01020304', 4],
    ['three of four bytes', 5, '010203', VARINT_TRUNCATED],
    ['bytes', 2, '02aabb', 3],
    ['no bytes', 2, '00', 1],
    ['cut bytes', 2, '03aabb', VARINT_TRUNCATED],
    ['a huge length', 2, 'ffffffff0f', VARINT_MALFORMED],
    ['a group', 3, '0801', VALUE_IS_GROUP],
    ['the end of a group', 4, '', VALUE_IS_GROUP],
    ['wire type 6', 6, '00', VARINT_MALFORMED],
    ['wire type 7', 7, '00', VARINT_MALFORMED],
  ])('%s', (_, wireType, text, expected) => {
    expect(skipValue(hex(text), 0, text.length / 2, wireType)).toBe(expected);
  });

  it.each([
    ['a group', '0b', '08011200 0c', 5],
    ['groups in a group', '0b', '1314 0c', 3],
    ['the wrong end', '0b', '14', VARINT_MALFORMED],
    ['no end', '0b', '0801', VARINT_TRUNCATED],
    ['field 0 inside', '0b', '00000c', VARINT_MALFORMED],
    ['field 0', '00', '00', VARINT_MALFORMED],
    ['an end', '0c', '', VARINT_MALFORMED],
    ['a long length', '0a', '8100aa', 3],
  ])('loosely: %s', (_, tag, text, expected) => {
    const bytes = hex(text.replaceAll(' ', ''));
    expect(skipValueLoosely(bytes, 0, bytes.length, Number.parseInt(tag, 16))).toBe(expected);
  });

  it('stops at a depth', () => {
    const nested = (depth: number) => Buffer.concat([Buffer.alloc(depth, 0x0b), Buffer.alloc(depth + 1, 0x0c)]);
    expect(skipValueLoosely(nested(99), 0, 199, 0x0b)).toBe(199);
    expect(skipValueLoosely(nested(100), 0, 201, 0x0b)).toBe(VARINT_MALFORMED);
  });
});

it('zigzag', () => {
  const pairs = [0, 0, -1, 1, 1, 2, -33, 65, 0x7fff_ffff, 0xffff_fffe, -0x8000_0000, 0xffff_ffff];
  for (let i = 0; i < pairs.length; i += 2) {
    expect(zigzag32(pairs[i]!)).toBe(pairs[i + 1]);
    expect(unzigzag32(pairs[i + 1]!)).toBe(pairs[i]);
  }
});

it('int32 and copies', () => {
  const out = Buffer.alloc(100, 0xee);
  for (const value of [0, 1, -1, 0x7fff_ffff, -0x8000_0000, 0x01020304]) {
    expect(writeInt32(out, 3, value)).toBe(7);
    expect(out.readInt32BE(3)).toBe(value);
    expect(readInt32(out, 3)).toBe(value);
  }
  const from = Buffer.from(Array.from({ length: 100 }, (_, i) => i));
  for (const bytes of [0, 1, 39, 40, 41, 90]) {
    out.fill(0xee);
    expect(copyBytes(out, 5, from, 7, 7 + bytes)).toBe(5 + bytes);
    expect(out.subarray(5, 5 + bytes)).toEqual(from.subarray(7, 7 + bytes));
    expect([out[4], out[5 + bytes]]).toEqual([0xee, 0xee]);
  }
});

describe('NameIndex', () => {
  const names = ['getFileInfo', 'getListing', 'delete', 'create', 'concat', 'é', 'x'];

  it('finds each name at its position and nothing else', () => {
    const index = new NameIndex(names);
    const find = (text: string) => {
      const buffer = Buffer.from(`__${text}__`);
      return index.find(buffer, 2, buffer.length - 2);
    };
    expect(names.map(find)).toEqual(names.map((_, i) => i));
    for (const other of ['', 'y', 'getFileInf', 'getFileInfo2', 'getFileInfO', 'Delete', 'creatf'])
      expect(find(other)).toBe(-1);
    expect(new NameIndex([]).find(Buffer.from('x'), 0, 1)).toBe(-1);
  });

  it('finds names that differ in one byte only', () => {
    const many = Array.from({ length: 300 }, (_, i) => `same-length-${String(i).padStart(3, '0')}-and-tail`);
    const index = new NameIndex(many);
    many.forEach((name, i) => {
      const buffer = Buffer.from(name);
      expect(index.find(buffer, 0, buffer.length)).toBe(i);
    });
  });

  it('refuses a list with a name twice or an empty one', () => {
    expect(() => new NameIndex(['a', 'b', 'a'])).toThrow('a stands twice');
    expect(() => new NameIndex(['a', ''])).toThrow('name 1 is empty');
  });
});
