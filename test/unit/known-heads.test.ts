import { describe, expect, it } from 'vitest';
import { METHODS, methodIndex, PROTOCOLS } from '../../src/call/methods.ts';
import { KnownHeads } from '../../src/client/known-heads.ts';
import { CallScan, SCAN_OK, scanHeader, scanRequestHeader } from '../../src/wire/call-scan.ts';
import { callFrame } from '../support/client-bytes.ts';

/** A call in the middle of a buffer, scanned up to its method header. */
function scanned(method: string, protocol = 0, options: object = {}) {
  const { name } = PROTOCOLS[protocol] as { name: string };
  const bytes = callFrame({ method, protocol: name, ...options }).subarray(4);
  const frame = Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(3)]);
  const scan = new CallScan();
  const end = 3 + bytes.length;
  expect(scanHeader(frame, 3, end, scan)).toBe(SCAN_OK);
  return { frame, end, scan, index: methodIndex(protocol, method) };
}

/** Scans the method header and has it remembered. */
function remember(heads: KnownHeads, method: string, protocol = 0): { index: number; requestStart: number } {
  const { frame, end, scan, index } = scanned(method, protocol);
  expect(scanRequestHeader(frame, 3, end, scan)).toBe(SCAN_OK);
  scan.method = index;
  heads.remember(frame, 3, scan);
  return { index, requestStart: scan.requestStart };
}

function find(heads: KnownHeads, method: string, protocol = 0, options: object = {}): number {
  const { frame, end, scan } = scanned(method, protocol, options);
  scan.method = -1;
  return heads.find(frame, 3, end, scan) ? scan.method : -1;
}

describe('a method header', () => {
  it('is known once it was seen', () => {
    const heads = new KnownHeads();
    expect(find(heads, 'getFileInfo')).toBe(-1);
    const { index, requestStart } = remember(heads, 'getFileInfo');
    const { frame, end, scan } = scanned('getFileInfo', 0, { callId: 300, path: '/another/path' });
    expect(heads.find(frame, 3, end, scan)).toBe(true);
    expect(scan.method).toBe(index);
    // The header of this frame is longer by one byte than the one remembered.
    expect(scan.requestStart).toBe(requestStart + 1);
  });

  it('is told from every other, of the same length too', () => {
    const heads = new KnownHeads();
    for (const { name, protocol, index } of METHODS) {
      const before = find(heads, name, protocol);
      expect(before === -1 || before === index).toBe(true);
      remember(heads, name, protocol);
      expect(find(heads, name, protocol)).toBe(index);
    }
    remember(heads, 'getFileInfo');
    // As long as getFileInfo: takes its place.
    expect('getFileInfo'.length).toBe('removeXAttr'.length);
    expect(find(heads, 'removeXAttr')).toBe(-1);
    remember(heads, 'removeXAttr');
    expect(find(heads, 'getFileInfo')).toBe(-1);
  });

  it('of another version is another', () => {
    const heads = new KnownHeads();
    remember(heads, 'getFileInfo');
    expect(find(heads, 'getFileInfo', 0, { version: 2 })).toBe(-1);
  });
});

describe('a frame', () => {
  it('that ends in or before its method header has none', () => {
    const heads = new KnownHeads();
    remember(heads, 'getFileInfo');
    const { frame, scan } = scanned('getFileInfo');
    const headEnd = 3 + scan.headerEnd + 1 + (frame[3 + scan.headerEnd] as number);
    for (let end = 3 + scan.headerEnd; end < headEnd; end++) {
      expect(heads.find(frame, 3, end, scan)).toBe(false);
      // The buffer may end there as well.
      expect(heads.find(frame.subarray(0, end), 3, end, scan)).toBe(false);
    }
    expect(heads.find(frame, 3, headEnd, scan)).toBe(true);
  });

  it('with a method header above 127 bytes is never remembered', () => {
    const heads = new KnownHeads();
    const { frame, end, scan } = scanned('x'.repeat(100));
    expect(scanRequestHeader(frame, 3, end, scan)).toBe(SCAN_OK);
    scan.method = 0;
    heads.remember(frame, 3, scan);
    expect(heads.find(frame, 3, end, scan)).toBe(false);
  });
});
