/**
 * Names of beans (javax.management.ObjectName) and patterns for them, as far as queries use them.
 *
 *   name      domain ':' key '=' value (',' key '=' value)*
 *   pattern   the same; `*` and `?` in domain and values stand for any characters and for one; an item `*` in the list for any further keys
 *
 * The order of keys does not count. Quoted values hold what would end a value, and `\` before `"`, `\`, `*`, `?` and (as `\n`) a line break.
 */

/** Longest text that is looked at; names of beans have about a hundred characters. */
export const MAX_NAME_CHARACTERS = 1_000;

/** A text that is no name and no pattern. */
export class ObjectNameError extends Error {
  override readonly name = 'ObjectNameError';
}

interface ParsedName {
  readonly domain: string;
  readonly keys: ReadonlyMap<string, string>;
  /** Further keys may be there. */
  readonly isOpen: boolean;
}

/** Tells of names whether they match `pattern`. Throws ObjectNameError. */
export function matcherOf(pattern: string): (name: string) => boolean {
  const { domain, keys, isOpen } = parse(pattern === '' ? '*:*' : pattern);
  return (text) => {
    const name = parsedNameOf(text);
    if (!matchesWildcards(domain, name.domain)) return false;
    if (name.keys.size < keys.size || (!isOpen && name.keys.size !== keys.size)) return false;
    for (const [key, wanted] of keys) {
      const value = name.keys.get(key);
      if (value === undefined || !matchesWildcards(wanted, value)) return false;
    }
    return true;
  };
}

/** Beans come and go with nameservices and ports: few names, parsed once. */
const MAX_KEPT_NAMES = 4_096;
const parsedNames = new Map<string, ParsedName>();

function parsedNameOf(text: string): ParsedName {
  let name = parsedNames.get(text);
  if (name === undefined) {
    name = parse(text);
    if (parsedNames.size >= MAX_KEPT_NAMES) parsedNames.clear();
    parsedNames.set(text, name);
  }
  return name;
}

function parse(text: string): ParsedName {
  if (text.length > MAX_NAME_CHARACTERS) throw new ObjectNameError(`longer than ${MAX_NAME_CHARACTERS} characters`);
  const colon = text.indexOf(':');
  if (colon < 0) throw new ObjectNameError('the domain has no colon behind it');
  const domain = text.slice(0, colon);
  if (domain.includes('\n')) throw new ObjectNameError('a line break in the domain');
  const keys = new Map<string, string>();
  let isOpen = false;
  const items = splitItems(text.slice(colon + 1));
  for (const item of items) {
    if (item === '*' && !isOpen) {
      isOpen = true;
      continue;
    }
    const equals = item.indexOf('=');
    const key = item.slice(0, Math.max(0, equals));
    const value = item.slice(equals + 1);
    if (equals < 1 || /[:,*?\n]/.test(key)) throw new ObjectNameError(`'${item}' is no key with a value`);
    if (keys.has(key)) throw new ObjectNameError(`the key '${key}' stands twice`);
    if (!value.startsWith('"') && /[=:"\n]/.test(value))
      throw new ObjectNameError(`the value of '${key}' needs quotes`);
    keys.set(key, value);
  }
  return { domain, keys, isOpen };
}

/** At commas that are not in quotes. */
function splitItems(list: string): string[] {
  const items: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    if (character === '\\' && isQuoted) at++;
    else if (character === '"' && (isQuoted || list[at - 1] === '=')) isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      items.push(list.slice(start, at));
      start = at + 1;
    }
  }
  if (isQuoted) throw new ObjectNameError('a quote does not end');
  items.push(list.slice(start));
  return items;
}

/** Steps back to the last `*` only, so its time grows with the product of the lengths at most. */
function matchesWildcards(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let starAt = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      starAt = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++starAt;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
