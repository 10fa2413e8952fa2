import type { PlainValue } from '../wire/messages.ts';

const MAX_LONG = (1n << 63n) - 1n;

/** A number of a message; 0 for a field that is absent. */
export function longOf(value: PlainValue | undefined): bigint {
  return typeof value === 'number' || typeof value === 'bigint' ? BigInt(value) : 0n;
}

/** A sum that stands for an amount: never below zero, and beyond Java's longs the largest one, for it would turn negative. */
export function amountOf(sum: bigint): bigint {
  if (sum < 0n) return 0n;
  return sum > MAX_LONG ? MAX_LONG : sum;
}
