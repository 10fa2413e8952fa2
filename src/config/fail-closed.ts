import { ConfigError } from './config-error.ts';
import type { Configuration } from './configuration.ts';
import { findKey, KEYS } from './keys.ts';
import { parseList } from './values.ts';

/** A setting that asks for protection which this release does not give. */
export interface Unprotected {
  readonly key: string;
  readonly value: string;
  readonly origin: string;
  /** Path of the file that sets it, null when no file does. */
  readonly file: string | null;
  readonly remedy: string;
}

/** Keys that `start --insecure` may name. */
export function protectionKeys(): string[] {
  return KEYS.filter(({ protects }) => protects !== undefined).map(({ name }) => name);
}

/** All settings that promise protection which is not built yet; what is no clear refusal of it counts as a promise, too. */
export function findUnprotected(configuration: Configuration): Unprotected[] {
  const found: Unprotected[] = [];
  for (const { name, protects } of KEYS) {
    if (protects === undefined || !configuration.isSet(name) || badValue(configuration, name) !== null) continue;
    const harmless = new Set(protects.harmless.map((item) => item.toLowerCase()));
    const { value, origin } = configuration.effective(name);
    if (parseList(value).every((item) => harmless.has(item.toLowerCase()))) continue;
    found.push({ key: name, value, origin, file: configuration.file(name), remedy: protects.remedy });
  }
  return found;
}

/**
 * Refuses to go on with promises of protection that are not kept, unless `insecure` names their keys; throws one ConfigError, or an
 * AggregateError of several. Values that mean nothing are refused whatever is named. Returns the promises let pass.
 */
export function refuseUnprotected(configuration: Configuration, insecure: readonly string[]): Unprotected[] {
  const found = findUnprotected(configuration);
  const bad = protectionKeys().flatMap((name) => badValue(configuration, name) ?? []);
  const errors = [...bad, ...found.filter(({ key }) => !insecure.includes(key)).map(unprotectedError)];
  const [first] = errors;
  if (first === undefined) return found;
  throw errors.length === 1 ? first : new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
}

/** Whether `start --insecure` may name this key. */
export function isProtectionKey(name: string): boolean {
  return findKey(name)?.protects !== undefined;
}

/** An error for a value outside the few that its key can have: it asks for nothing that a router knows. */
function badValue(configuration: Configuration, name: string): ConfigError | null {
  const key = findKey(name);
  if (key?.allowed === undefined || !configuration.isSet(name) || configuration.readTrimmed(name) === '') return null;
  try {
    configuration.check(name, key);
    return null;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function unprotectedError({ key, value, origin, file, remedy }: Unprotected): ConfigError {
  return new ConfigError({
    place: origin,
    file,
    key,
    value,
    problem: 'asks for protection that this release does not give',
    remedy: `${remedy}; or start without that protection: --insecure ${key}`,
  });
}
