import fc from 'fast-check';

/** Arbitrary bytes that are nearly messages: fields of known and unknown numbers, wrong wire types, long forms, repeats, cuts. */

export function varint(value: bigint, pad = 0): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  out.push(Number(rest));
  for (let i = 0; i < pad; i++) {
    out[out.length - 1]! |= 0x80;
    out.push(0);
  }
  return out;
}

const number = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(0n, 200n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 32n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 64n - 1n) },
);
/** Mostly the shortest form. */
const padding = fc.oneof(
  { weight: 40, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
);

/** One field with the wire type that its number has in `wireTypes`, now and then with another. */
export function field(
  wireTypes: Readonly<Record<number, number>>,
  value: fc.Arbitrary<Uint8Array>,
): fc.Arbitrary<Buffer> {
  const known = Object.keys(wireTypes).map(Number);
  const fieldNumber = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 }) },
  );
  const twist = fc.oneof(
    { weight: 30, arbitrary: fc.constant(-1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 7 }) },
  );
  return fc.tuple(fieldNumber, twist, number, padding, padding, value).map(([id, other, n, tagPad, pad, bytes]) => {
    const wireType = other >= 0 ? other : (wireTypes[id] ?? 0);
    const tag = varint(BigInt((id << 3) | wireType), tagPad);
    if (wireType === 0) return Buffer.from(tag.concat(varint(n, pad)));
    if (wireType === 2) return Buffer.concat([Buffer.from(tag.concat(varint(BigInt(bytes.length), pad))), bytes]);
    if (wireType === 1) return Buffer.concat([Buffer.from(tag), Buffer.alloc(8, Number(n & 0xffn))]);
    if (wireType === 5) return Buffer.concat([Buffer.from(tag), Buffer.alloc(4, Number(n & 0xffn))]);
    return Buffer.from(tag);
  });
}

/** Fields in any order; `once` keeps of each the first, which makes most messages sound ones. */
export function message(one: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const once = fc.uniqueArray(one, { maxLength: 10, selector: (bytes) => (bytes[0] ?? 0) >> 3 });
  const fields = fc.oneof({ weight: 5, arbitrary: once }, { weight: 1, arbitrary: fc.array(one, { maxLength: 8 }) });
  return fields.map((list) => Buffer.concat(list));
}

/** Sometimes cut, or with a byte changed. */
export function damaged(bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const damage = fc.oneof(
    { weight: 6, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.record({ cut: fc.nat(200) }) },
    { weight: 1, arbitrary: fc.record({ at: fc.nat(200), to: fc.nat(255) }) },
  );
  return fc.tuple(bytes, damage).map(([whole, how]) => {
    if (how === null || whole.length === 0) return whole;
    if ('cut' in how) return whole.subarray(0, how.cut % whole.length);
    const changed = Buffer.from(whole);
    changed[how.at % whole.length] = how.to;
    return changed;
  });
}

export const FUZZ = {
  seed: 20240917,
  numRuns: 100_000,
  interruptAfterTimeLimit: 2_000,
  markInterruptAsFailure: false,
} as const;
