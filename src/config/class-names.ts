import type { Configuration } from './configuration.ts';

/** What the Java classes that a key may name stand for here, by their full names. */
export type KnownClasses<T> = ReadonlyMap<string, T>;

/**
 * What the class that a key names stands for; a class goes by its full name or the last part of it. Null when the key has no value, a
 * ConfigError for other classes: a router that goes on without what they do is not what was asked for.
 */
export function readClass<T>(configuration: Configuration, name: string, classes: KnownClasses<T>): T | null {
  const text = configuration.get(name)?.trim() ?? '';
  if (text === '') return null;
  for (const [full, meaning] of classes) {
    if (text === full || text === simpleName(full)) return meaning;
  }
  throw configuration.error(
    name,
    'a class that has no counterpart in this router',
    `allowed: ${[...classes.keys()].join(', ')}`,
  );
}

function simpleName(full: string): string {
  return full.slice(full.lastIndexOf('.') + 1);
}
