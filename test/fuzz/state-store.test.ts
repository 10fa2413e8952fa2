import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FileDriver } from '../../src/state-store/file-driver.ts';
import {
  decodeDisabledNameservice,
  decodeMembership,
  decodeMount,
  decodeRouter,
  encodeMembership,
  encodeMount,
  encodeRouter,
  isRecord,
  RecordError,
  type RecordType,
  stampModified,
} from '../../src/state-store/records.ts';
import { FrameReader } from '../../src/state-store/zookeeper/frame-reader.ts';
import { JuteError, JuteReader } from '../../src/state-store/zookeeper/jute.ts';
import {
  decodeAcl,
  decodeConnect,
  decodeEvent,
  decodeStat,
  frameOf,
  Operation,
} from '../../src/state-store/zookeeper/protocol.ts';
import { FakeZooKeeper, nodeData, reply, session } from '../support/fake-zookeeper.ts';
import { TestSession } from '../support/zookeeper-session.ts';
import { DEFAULTS } from '../unit/mount-samples.ts';

const RUN = { seed: 6_001, numRuns: 20_000, interruptAfterTimeLimit: 3_000, markInterruptAsFailure: false };

const SAMPLES = (
  JSON.parse(readFileSync(new URL('../unit/state-store-samples/index.json', import.meta.url), 'utf8')) as {
    samples: { record: RecordType; protobufHex: string }[];
  }
).samples.map(({ record, protobufHex }) => ({ type: record, bytes: Buffer.from(protobufHex, 'hex') }));

/** A record that Hadoop wrote with some bytes changed, cut off or put in. */
const damaged = fc
  .tuple(
    fc.constantFrom(...SAMPLES),
    fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
    fc.nat(400),
    fc.uint8Array({ maxLength: 12 }),
  )
  .map(([{ type, bytes }, changes, cut, tail]) => {
    const copy = Buffer.from(bytes);
    for (const [at, byte] of changes) if (at < copy.length) copy[at] = byte;
    return { type, bytes: Buffer.concat([copy.subarray(0, Math.min(cut, bytes.length)), tail]) };
  });

/** Decodes, and encodes again what can be decoded. */
function useRecord(type: RecordType, bytes: Buffer): void {
  switch (type) {
    case 'MountTable': {
      const { record } = decodeMount(bytes, DEFAULTS);
      const again = decodeMount(encodeMount(record.entry, record), DEFAULTS);
      expect(again.record.entry).toEqual(record.entry);
      break;
    }
    case 'MembershipState': {
      const { record } = decodeMembership(bytes);
      expect(decodeMembership(encodeMembership(record, bytes)).record).toEqual(record);
      break;
    }
    case 'RouterState': {
      const { record } = decodeRouter(bytes);
      expect(decodeRouter(encodeRouter(record, bytes)).record).toEqual(record);
      break;
    }
    case 'DisabledNameservice':
      decodeDisabledNameservice(bytes);
      break;
  }
}

describe('records', () => {
  it('of any bytes are records or a RecordError, and records written again are the same', () => {
    fc.assert(
      fc.property(damaged, ({ type, bytes }) => {
        try {
          useRecord(type, bytes);
        } catch (error) {
          if (!(error instanceof RecordError)) throw error;
        }
        isRecord(type, bytes);
        stampModified(type, bytes, 5);
      }),
      RUN,
    );
  });

  it('any file beside a good record leaves that one readable', async () => {
    const root = mkdtempSync(join(tmpdir(), 'store-fuzz-'));
    try {
      const directory = join(root, 'MountTable');
      mkdirSync(directory);
      const good = SAMPLES.find(({ type }) => type === 'MountTable')?.bytes ?? Buffer.alloc(0);
      writeFileSync(join(directory, 'good'), good.toString('base64'));
      const driver = new FileDriver(root);
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (content, asText) => {
          writeFileSync(join(directory, 'other'), asText ? Buffer.from(content).toString('base64') : content);
          const { records, problems } = await driver.readAll('MountTable');
          expect(records.some(({ name, bytes }) => name === 'good' && bytes.equals(good))).toBe(true);
          expect(records.length + problems.length).toBe(2);
        }),
        { ...RUN, numRuns: 500 },
      );
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe("ZooKeeper's protocol", () => {
  it('any bytes decode or are a JuteError', () => {
    const decoders = [decodeStat, decodeAcl, decodeEvent, decodeConnect, (reader: JuteReader) => reader.texts()];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), fc.constantFrom(...decoders), (bytes, decode) => {
        try {
          decode(new JuteReader(Buffer.from(bytes)));
        } catch (error) {
          if (!(error instanceof JuteError)) throw error;
        }
      }),
      RUN,
    );
  });

  it('frames come out whole however the bytes are split', () => {
    const chunks = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 12 }), chunks, (contents, sizes) => {
        const stream = Buffer.concat(contents.map((content) => frameOf(content)));
        const reader = new FrameReader();
        const found: Buffer[] = [];
        for (let at = 0, i = 0; at < stream.length; i++) {
          const end = at + (sizes[i % sizes.length] as number);
          expect(reader.push(Buffer.from(stream.subarray(at, end)), (frame) => found.push(frame))).toBeNull();
          at = end;
        }
        expect(found.map((frame) => frame.toString('hex'))).toEqual(
          contents.map((one) => Buffer.from(one).toString('hex')),
        );
      }),
      { ...RUN, numRuns: 3_000 },
    );
  });

  it('a server that answers anything at all: every request ends, and a right answer counts again', async () => {
    let next: Buffer | null = null;
    await using fake = await FakeZooKeeper.start(({ xid, operation }) => {
      if (operation === 0) return session(600, 42n);
      if (operation !== Operation.GET_DATA) return reply(xid, 1n, 0);
      const bytes = next;
      next = null;
      return bytes ?? reply(xid, 1n, 0, nodeData('right'));
    });
    await using client = await new TestSession([fake.address], { timeoutMs: 3_000, retryIntervalMs: 1 }).open();
    const damagedReply = fc
      .tuple(fc.nat(200), fc.nat(255), fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.boolean())
      .map(([at, byte, tail, isTail]) => {
        const bytes = reply(1, 1n, 0, nodeData('right'));
        if (isTail) return Buffer.concat([bytes.subarray(0, at % bytes.length), tail, Buffer.from('ffffffff', 'hex')]);
        bytes[at % bytes.length] = byte;
        return Buffer.concat([bytes, Buffer.from('ffffffff', 'hex')]);
      });
    await fc.assert(
      fc.asyncProperty(damagedReply, async (bytes) => {
        next = bytes;
        await client.read('/a').catch(() => {});
        next = null;
        expect(await client.read('/a')).toBe('right');
      }),
      { ...RUN, numRuns: 60, interruptAfterTimeLimit: 6_000 },
    );
  });
});
