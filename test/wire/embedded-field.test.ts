import { describe, expect, it } from 'vitest';
import { EmbeddedField } from '../../src/wire/embedded-field.ts';
import { encode, messageType } from '../../src/wire/messages.ts';

const ADD_BLOCK = messageType('hadoop.hdfs.AddBlockRequestProto');
const BLOCK = messageType('hadoop.hdfs.ExtendedBlockProto');
const PREVIOUS = 3;
const POOL_ID = 1;

const field = new EmbeddedField();

function poolIn(bytes: Buffer, start = 0, end = bytes.length): string | null {
  return field.find(bytes, start, end, PREVIOUS, POOL_ID) ? bytes.toString('utf8', field.start, field.end) : null;
}

const block = (poolId: string): object => ({ poolId, blockId: 1, generationStamp: 2, numBytes: 300 });

describe('a field of an embedded message', () => {
  it('is found between others, anywhere in a buffer', () => {
    const bytes = encode(ADD_BLOCK, {
      src: '/a',
      clientName: 'c',
      previous: block('BP-1'),
      excludeNodes: [],
      fileId: 5,
      favoredNodes: ['n'],
    });
    const shifted = Buffer.concat([Buffer.alloc(9, 0xff), bytes, Buffer.alloc(9, 0xff)]);
    expect(poolIn(shifted, 9, 9 + bytes.length)).toBe('BP-1');
    expect(field.equals(shifted, Buffer.from('BP-1'))).toBe(true);
    expect(field.equals(shifted, Buffer.from('BP-2'))).toBe(false);
    expect(field.equals(shifted, Buffer.from('BP-'))).toBe(false);
  });

  it('is missing when the message is', () => {
    expect(poolIn(encode(ADD_BLOCK, { src: '/a', clientName: 'c' }))).toBeNull();
    expect(poolIn(Buffer.alloc(0))).toBeNull();
  });

  it('is the last of several, as for a decoder', () => {
    const first = encode(ADD_BLOCK, { src: '/a', clientName: 'c', previous: block('BP-1') });
    const inner = encode(BLOCK, block('BP-22'));
    const twice = Buffer.concat([first, Buffer.from([(PREVIOUS << 3) | 2, inner.length]), inner]);
    expect(poolIn(twice)).toBe('BP-22');
    const without = Buffer.concat([twice, Buffer.from([(PREVIOUS << 3) | 2, 2, 0x10, 9])]);
    expect(poolIn(without)).toBe('BP-22');
  });

  it('is not read out of what is cut off', () => {
    const bytes = encode(ADD_BLOCK, { src: '/a', clientName: 'c', previous: block('BP-1') });
    for (let end = 0; end < bytes.length; end++) {
      const found = poolIn(bytes, 0, end);
      expect(found === null || found === 'BP-1').toBe(true);
      if (found !== null) expect(field.end).toBeLessThanOrEqual(end);
    }
  });
});
