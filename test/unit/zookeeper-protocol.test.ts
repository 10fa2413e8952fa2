import { describe, expect, it } from 'vitest';
import { FrameReader, MAX_FRAME_BYTES } from '../../src/state-store/zookeeper/frame-reader.ts';
import { JuteError, JuteReader, JuteWriter } from '../../src/state-store/zookeeper/jute.ts';
import {
  decodeAcl,
  decodeEvent,
  decodeStat,
  encodeConnect,
  encodeCreate,
  encodeRead,
  encodeRequest,
  encodeSetWatches,
  frameOf,
  OPEN_ACL,
  Operation,
} from '../../src/state-store/zookeeper/protocol.ts';
import { MAX_WATCHES, Watches } from '../../src/state-store/zookeeper/watches.ts';

describe('jute', () => {
  it('is written and read, also beyond the first buffer', () => {
    const writer = new JuteWriter()
      .int(-5)
      .long(-1n)
      .bool(true)
      .text('é')
      .buffer(null)
      .texts(['a', '', 'c'.repeat(500)]);
    const reader = new JuteReader(Buffer.from(writer.finish()));
    expect([reader.int(), reader.long(), reader.bool(), reader.text()]).toEqual([-5, -1n, true, 'é']);
    expect([reader.buffer().length, reader.texts(), reader.left]).toEqual([0, ['a', '', 'c'.repeat(500)], 0]);
    expect(new JuteWriter().int(1).buffer(null).text('é').finish().toString('hex')).toBe(
      '00000001ffffffff00000002c3a9',
    );
  });

  it.each([
    ['000000', (reader: JuteReader) => reader.int()],
    ['00000000000000', (reader: JuteReader) => reader.long()],
    ['', (reader: JuteReader) => reader.bool()],
    ['0000000561', (reader: JuteReader) => reader.buffer()],
    ['fffffffe', (reader: JuteReader) => reader.buffer()],
    ['7fffffff61', (reader: JuteReader) => reader.text()],
    ['7fffffff00000000', (reader: JuteReader) => reader.texts()],
    ['fffffffe', (reader: JuteReader) => reader.texts()],
    ['00000001ffffffff', (reader: JuteReader) => decodeAcl(reader)],
    ['00'.repeat(67), (reader: JuteReader) => decodeStat(reader)],
    ['0000000100000003000000', (reader: JuteReader) => decodeEvent(reader)],
  ])('short or impossible %s is an error', (hex, read) => {
    expect(() => read(new JuteReader(Buffer.from(hex, 'hex')))).toThrow(JuteError);
  });
});

describe('requests', () => {
  it('have the bytes that a server expects', () => {
    const key = { id: 1n, password: Buffer.alloc(16, 9) };
    expect(encodeConnect(2n, 3000, key).toString('hex')).toBe(
      `0000002d0000000000000000000000020000 0bb8 0000000000000001 00000010${'09'.repeat(16)}00`.replaceAll(' ', ''),
    );
    expect(encodeRequest(7, Operation.GET_DATA, encodeRead('/a', true)).toString('hex')).toBe(
      '0000000f0000000700000004000000022f6101',
    );
    expect(encodeCreate('/a', Buffer.from('d'), OPEN_ACL).toString('hex')).toBe(
      [
        ...['000000022f61', '0000000164', '00000001', '0000001f'],
        ...['00000005', Buffer.from('world').toString('hex'), '00000006', Buffer.from('anyone').toString('hex')],
        '00000000',
      ].join(''),
    );
    expect(encodeSetWatches(5n, { data: ['/a'], children: ['/'] }).toString('hex')).toBe(
      '000000000000000500000001000000022f6100000000 00000001000000012f'.replaceAll(' ', ''),
    );
  });
});

describe('frames', () => {
  const frames = ['', 'a', 'bc'.repeat(5_000), 'd'].map((text) => Buffer.from(text));
  const stream = Buffer.concat(frames.map(frameOf));

  it.each([1, 2, 3, 5, 4_096, stream.length])('come out whole, %i bytes at a time', (step) => {
    const reader = new FrameReader();
    const found: Buffer[] = [];
    for (let at = 0; at < stream.length; at += step) {
      // The chunk is overwritten afterwards where a socket would: what was kept must be a copy.
      const chunk = Buffer.from(stream.subarray(at, at + step));
      expect(reader.push(chunk, (frame) => found.push(Buffer.from(frame)))).toBeNull();
      chunk.fill(0xff);
    }
    expect(found).toEqual(frames);
  });

  it.each([-1, -2_147_483_648, MAX_FRAME_BYTES + 1, 2_147_483_647])('length %i is refused at once', (length) => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(length);
    expect(new FrameReader().push(bytes, () => {})).toBe(length);
  });
});

describe('watches', () => {
  it('are used up by their events', () => {
    const watches = new Watches();
    const add = () => {
      watches.addData('/a');
      watches.addChildren('/a');
    };
    add();
    watches.fire({ type: 3, path: '/a' });
    expect([watches.hasData('/a'), watches.hasChildren('/a')]).toEqual([false, true]);
    add();
    watches.fire({ type: 4, path: '/a' });
    expect([watches.hasData('/a'), watches.hasChildren('/a')]).toEqual([true, false]);
    add();
    watches.fire({ type: 2, path: '/a' });
    expect(watches.count).toBe(0);
  });

  it('are asked for again in parts, each path once', () => {
    const watches = new Watches();
    expect(watches.parts()).toEqual([]);
    for (let i = 0; i < 10; i++) watches.addData(`/data${i}`);
    for (let i = 0; i < 5; i++) watches.addChildren(`/children${i}`);
    const parts = watches.parts(30);
    for (const part of parts) {
      expect(encodeSetWatches(0n, part).length - 20).toBeLessThanOrEqual(30);
    }
    expect(parts.flatMap(({ data }) => data)).toEqual(Array.from({ length: 10 }, (_, i) => `/data${i}`));
    expect(parts.flatMap(({ children }) => children)).toEqual(Array.from({ length: 5 }, (_, i) => `/children${i}`));
    expect(watches.parts(1).length).toBe(15);
  });

  it('are bounded', () => {
    const watches = new Watches();
    for (let i = 1; i < MAX_WATCHES; i++) watches.addData(`/${i}`);
    expect(watches.hasRoom).toBe(true);
    watches.addData('/last');
    expect(watches.hasRoom).toBe(false);
  });
});
