/** How long simulated calls take: a constant, or a distribution with its own seeded source of randomness. */

/**
 * Text forms, times in ms unless they end in us, ms or s:
 *
 *   0.2ms               always that long
 *   exp:1ms             exponential with that mean
 *   lognormal:1ms       log-normal with that median and sigma 1
 *   lognormal:1ms,0.5   the same with another sigma (of the logarithm)
 */
export type ServiceTime =
  | { readonly kind: 'constant'; readonly ms: number }
  | { readonly kind: 'exponential'; readonly meanMs: number }
  | { readonly kind: 'lognormal'; readonly medianMs: number; readonly sigma: number };

export const NO_SERVICE_TIME: ServiceTime = { kind: 'constant', ms: 0 };

/** Longest time that a single call may be made to take. */
export const MAX_SERVICE_MS = 3_600_000;

/** A service time that is not one; the message says what is allowed. */
export class ServiceTimeError extends Error {
  override readonly name = 'ServiceTimeError';
}

const ALLOWED = 'allowed are 0.2ms, exp:1ms (mean) and lognormal:1ms,0.5 (median, sigma)';
const UNITS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, '': 1 };

export function parseServiceTime(text: string): ServiceTime {
  const [head = '', rest] = text.split(':', 2);
  if (rest === undefined) {
    return { kind: 'constant', ms: parseTimeMs(head, text) };
  }
  const [time = '', sigma = '1'] = rest.split(',', 2);
  if (head === 'exp' && !rest.includes(',')) {
    return { kind: 'exponential', meanMs: parseTimeMs(time, text) };
  }
  if (head === 'lognormal' && Number(sigma) >= 0 && sigma.trim() !== '') {
    return { kind: 'lognormal', medianMs: parseTimeMs(time, text), sigma: Number(sigma) };
  }
  throw new ServiceTimeError(`service time ${JSON.stringify(text)}: ${ALLOWED}`);
}

function parseTimeMs(time: string, whole: string): number {
  const match = /^([0-9]+(?:\.[0-9]+)?)(us|ms|s|)$/.exec(time.trim());
  const ms = match === null ? Number.NaN : Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1);
  if (!(ms <= MAX_SERVICE_MS)) {
    throw new ServiceTimeError(`service time ${JSON.stringify(whole)}: ${ALLOWED}, at most ${MAX_SERVICE_MS} ms`);
  }
  return ms;
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A seed for one of several sources of randomness that come from the same seed; `names` tell them apart (FNV-1a). */
export function seedFor(seed: number, ...names: readonly string[]): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const byte of Buffer.from(names.join('\0'))) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash | 0;
}

/** One service time in milliseconds, at most MAX_SERVICE_MS. */
export function sampleServiceMs(time: ServiceTime, random: () => number): number {
  return Math.min(MAX_SERVICE_MS, draw(time, random));
}

function draw(time: ServiceTime, random: () => number): number {
  if (time.kind === 'constant') {
    return time.ms;
  }
  if (time.kind === 'exponential') {
    return -time.meanMs * Math.log(1 - random());
  }
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return time.medianMs * Math.exp(time.sigma * normal);
}
