import { readFileSync } from 'node:fs';
import {
  emptyEntry,
  type MountDefaults,
  type MountEntry,
  MountError,
  type MountOrder,
  type MountQuota,
  ORDERS,
  STORAGE_TYPES,
  type StorageType,
  senselessReason,
} from './entry.ts';

/** What fills the fields that a mount given on the command line leaves out. */
export interface SpecDefaults extends MountDefaults {
  /** Creation and modification date, ms since 1970. */
  readonly nowMs: number;
}

/** `/src=ns[,ns]:/dst`; nameservices hold none of `=:,/`, so a source path may hold `=` and `:`. */
const SPEC = /^(\/.*?)=([^=:,/]+(?:,[^=:,/]+)*):(\/.*)$/s;
/** `@ORDER` at the end; a path with `@` in it goes on with lower case letters, digits, dots or slashes. */
const ORDER_SUFFIX = /@([A-Z_]+)$/;

/** What some editors put in front of UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';
/** The tokens of valid JSON that say what is a name: strings and signs. */
const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]/g;

const LONG_MIN = -(1n << 63n);
const LONG_MAX = (1n << 63n) - 1n;

/**
 * The mounts of all `--mount` and `--mounts` options, in that order. Throws MountError (place and remedy in the message) for anything
 * that is not understood and for a source path that is named twice.
 */
export function readMountOptions(
  specs: readonly string[],
  files: readonly string[],
  defaults: SpecDefaults,
): MountEntry[] {
  const entries: MountEntry[] = [];
  const places = new Map<string, string>();
  const add = (entry: MountEntry, place: string): void => {
    const before = places.get(entry.sourcePath);
    if (before !== undefined) {
      throw new MountError(`${place}: mount '${entry.sourcePath}' is already given by ${before}; remove one of them`);
    }
    places.set(entry.sourcePath, place);
    entries.push(entry);
  };
  for (const spec of specs) add(parseMountSpec(spec, defaults), `--mount ${spec}`);
  for (const file of files) {
    readMountsFile(file, defaults).forEach((entry, index) => {
      add(entry, `${file}:${index}`);
    });
  }
  return entries;
}

/**
 * One `--mount` value: `/src=ns:/dst`, or `/src=ns0,ns1:/dst@ORDER` for the same path in several nameservices. The order is HASH unless
 * given; everything else needs a file.
 */
export function parseMountSpec(spec: string, defaults: SpecDefaults): MountEntry {
  const fail = (reason: string): never => {
    throw new MountError(`--mount ${spec}: ${reason}`);
  };
  const parts = SPEC.exec(spec);
  if (parts === null) return fail('not understood; write /path=nameservice:/path or /path=ns0,ns1:/path@ORDER');
  const [, sourcePath = '', nameservices = '', target = ''] = parts;
  const order = ORDER_SUFFIX.exec(target);
  const entry = emptyEntry(sourcePath, defaults);
  if (order !== null)
    entry.order = readOrder(order[1], (reason) => fail(`${reason}; give a path that ends so with --mounts`));
  const path = order === null ? target : target.slice(0, order.index);
  for (const nameservice of nameservices.split(',')) entry.destinations.push({ nameservice, path });
  entry.dateCreated = defaults.nowMs;
  entry.dateModified = defaults.nowMs;
  const reason = senselessReason(entry);
  return reason === null ? entry : fail(reason);
}

/** Reads a `--mounts` file, see `parseMounts`. */
export function readMountsFile(file: string, defaults: SpecDefaults): MountEntry[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new MountError(
      `--mounts ${file}: ${error instanceof Error ? error.message : String(error)}; give a readable file`,
    );
  }
  return parseMounts(text, file, defaults);
}

/**
 * A JSON array of mount records. Fields bear the State Store's names; only the first two are required:
 *
 *   srcPath        string: what clients see
 *   destinations   array of { nameserviceId: string, path: string }, the order counts
 *   destOrder      one of ORDERS; HASH
 *   readOnly       boolean; false
 *   faultTolerant  boolean; false. Needs two destinations or more and an order that has directories everywhere
 *   ownerName      string; the router's user
 *   groupName      string; the superuser group
 *   mode           octal text such as "0755" (a number is taken as it is: 493 is 0755); 0755
 *   dateCreated    ms since 1970; now
 *   dateModified   ms since 1970; now
 *   quota          { fileAndDirectoryCount, quota, spaceConsumed, spaceQuota, typeQuotaInfos }; numbers or decimal text,
 *                  limits are -1 (not set) when left out, counts 0; typeQuotaInfos is an array of { type, quota, consumed }
 *                  with a type of STORAGE_TYPES
 *
 * `file` stands in messages as file:index, counted from 0. Throws MountError; a field that is not listed here is an error.
 */
export function parseMounts(text: string, file: string, defaults: SpecDefaults): MountEntry[] {
  const json = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (error) {
    throw new MountError(
      `${file}: no JSON (${error instanceof Error ? error.message : String(error)}); write an array of mount records`,
    );
  }
  if (!Array.isArray(parsed))
    throw new MountError(`${file}: must be an array of mount records, [{"srcPath": …, "destinations": …}, …]`);
  const twice = findFieldGivenTwice(json);
  if (twice !== null) throw new MountError(`${file}:${twice.index}: field '${twice.name}' is given twice; remove one`);
  const seen = new Map<string, number>();
  return parsed.map((record: unknown, index) => {
    const entry = readRecord(new Fields(record, `${file}:${index}: `, ''), defaults);
    const reason = senselessReason(entry);
    if (reason !== null) throw new MountError(`${file}:${index}: ${reason}`);
    const before = seen.get(entry.sourcePath);
    if (before !== undefined) {
      throw new MountError(
        `${file}:${index}: mount '${entry.sourcePath}' is already given by ${file}:${before}; remove one of them`,
      );
    }
    seen.set(entry.sourcePath, index);
    return entry;
  });
}

/** The first name that an object of a JSON array has twice, and the element of the array it is in; JSON.parse would keep only the last. */
function findFieldGivenTwice(json: string): { name: string; index: number } | null {
  // The names of every object that is open, null for an array.
  const open: (Set<string> | null)[] = [];
  let index = 0;
  let text = '';
  for (const [token] of json.matchAll(JSON_TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',') index += open.length === 1 ? 1 : 0;
    else if (token !== ':') text = token;
    else {
      const names = open.at(-1);
      const name = JSON.parse(text) as string;
      if (names?.has(name)) return { name, index };
      names?.add(name);
    }
  }
  return null;
}

function readRecord(fields: Fields, defaults: SpecDefaults): MountEntry {
  const entry = emptyEntry(fields.text('srcPath'), defaults);
  for (const destination of fields.list('destinations')) {
    entry.destinations.push({ nameservice: destination.text('nameserviceId'), path: destination.text('path') });
    destination.end();
  }
  if (fields.has('destOrder')) entry.order = readOrder(fields.text('destOrder'), fields.fail.bind(fields, 'destOrder'));
  entry.readOnly = fields.flag('readOnly');
  entry.faultTolerant = fields.flag('faultTolerant');
  if (fields.has('ownerName')) entry.owner = fields.text('ownerName');
  if (fields.has('groupName')) entry.group = fields.text('groupName');
  if (fields.has('mode')) entry.mode = fields.mode('mode');
  entry.dateCreated = fields.has('dateCreated') ? fields.whole('dateCreated') : defaults.nowMs;
  entry.dateModified = fields.has('dateModified') ? fields.whole('dateModified') : defaults.nowMs;
  if (fields.has('quota')) entry.quota = readQuota(fields.object('quota'));
  fields.end();
  return entry;
}

function readQuota(fields: Fields): MountQuota {
  const quota: MountQuota = {
    fileAndDirectoryCount: fields.long('fileAndDirectoryCount', 0n),
    namespaceQuota: fields.long('quota', -1n),
    spaceConsumed: fields.long('spaceConsumed', 0n),
    spaceQuota: fields.long('spaceQuota', -1n),
    types: [],
  };
  const infos = fields.has('typeQuotaInfos') ? fields.list('typeQuotaInfos') : [];
  for (const info of infos) {
    const type = info.text('type') as StorageType;
    if (!STORAGE_TYPES.includes(type))
      info.fail('type', `'${type}' is no storage type; use ${STORAGE_TYPES.join(', ')}`);
    if (quota.types.some((other) => other.type === type)) info.fail('type', `${type} is given twice; remove one`);
    quota.types.push({ type, quota: info.long('quota', -1n), consumed: info.long('consumed', 0n) });
    info.end();
  }
  fields.end();
  return quota;
}

function readOrder(name: string | undefined, fail: (reason: string) => never): MountOrder {
  const order = ORDERS.find((known) => known === name);
  return order ?? fail(`'${name}' is no destination order; use ${ORDERS.join(', ')}`);
}

/** Reads the fields of one JSON object and remembers which, so that unknown ones can be named. */
class Fields {
  readonly #object: Record<string, unknown>;
  readonly #place: string;
  readonly #prefix: string;
  readonly #read = new Set<string>();

  /** `place` goes in front of messages, `prefix` in front of field names (`quota.`, `destinations[0].`). */
  constructor(value: unknown, place: string, prefix: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new MountError(`${place}${prefix === '' ? 'a mount record' : prefix.slice(0, -1)} must be an object {…}`);
    }
    this.#object = value as Record<string, unknown>;
    this.#place = place;
    this.#prefix = prefix;
  }

  fail(name: string, reason: string): never {
    throw new MountError(`${this.#place}${this.#prefix}${name}: ${reason}`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  text(name: string): string {
    const value = this.#get(name);
    return typeof value === 'string' ? value : this.fail(name, 'must be text in quotes');
  }

  /** False when absent. */
  flag(name: string): boolean {
    if (!this.has(name)) return false;
    const value = this.#get(name);
    return typeof value === 'boolean' ? value : this.fail(name, 'must be true or false');
  }

  whole(name: string): number {
    const value = this.#get(name);
    return Number.isSafeInteger(value) ? (value as number) : this.fail(name, 'must be a whole number');
  }

  long(name: string, absent: bigint): bigint {
    if (!this.has(name)) return absent;
    const value = this.#get(name);
    const written = typeof value === 'string' && /^-?\d{1,19}$/.test(value);
    if (!written && !Number.isSafeInteger(value)) this.fail(name, 'must be a whole number (above 2^53 in quotes)');
    const long = BigInt(value as string | number);
    return long >= LONG_MIN && long <= LONG_MAX ? long : this.fail(name, 'must fit 64 bits');
  }

  mode(name: string): number {
    const value = this.#get(name);
    if (typeof value === 'string' && /^[0-7]{3,4}$/.test(value)) return Number.parseInt(value, 8);
    if (Number.isSafeInteger(value)) return value as number;
    return this.fail(name, 'must be octal text such as "0755"');
  }

  object(name: string): Fields {
    return new Fields(this.#get(name), this.#place, `${this.#prefix}${name}.`);
  }

  list(name: string): Fields[] {
    const value = this.#get(name);
    if (!Array.isArray(value)) return this.fail(name, 'must be an array […]');
    return value.map((item: unknown, index) => new Fields(item, this.#place, `${this.#prefix}${name}[${index}].`));
  }

  /** All fields have been read: what is left is unknown. */
  end(): void {
    const unknown = Object.keys(this.#object).filter((name) => !this.#read.has(name));
    if (unknown.length > 0) {
      const names = unknown.map((name) => `'${this.#prefix}${name}'`).join(', ');
      throw new MountError(`${this.#place}unknown field ${names}; remove it or correct its name`);
    }
  }

  #get(name: string): unknown {
    if (!this.has(name)) this.fail(name, 'is missing');
    this.#read.add(name);
    return this.#object[name];
  }
}
