import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Document, LineCounter, parseDocument } from 'yaml';
import {
  DEFAULT_MODE,
  MAX_DESTINATIONS,
  type MountDestination,
  NO_QUOTA,
  ORDERS,
  STORAGE_TYPES,
  type StorageType,
} from '../../../mount/entry.ts';
import { parseByteLimit, parseLimit } from '../sizes.ts';
import type { DeclaredMount, PlacedMount } from './declared.ts';
import { DeclarationError, Fields, Places, textOf } from './fields.ts';

/** Largest file: some ten thousand mounts are a few MB. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;
export const MAX_DECLARED_MOUNTS = 100_000;
const CHUNK_BYTES = 1024 * 1024;

/*
 *   mounts:
 *     SOURCE: DESTINATION | MOUNT
 *
 *   MOUNT        destinations    DESTINATION or a list of them; the order counts
 *                order           one of ORDERS; HASH
 *                readOnly        true or false; false
 *                faultTolerant   true or false; false
 *                owner, group    text; what the entry has, of a new one who adds it and the first group
 *                mode            octal digits; 0755
 *                quota           { namespace: NUMBER, space: BYTES, storageTypes: { TYPE: BYTES } }; none
 *   DESTINATION  NAMESERVICE:/PATH, or { nameservice, path }
 *
 * YAML 1.2, of which JSON is a part.
 */
const MOUNT_FIELDS = ['destinations', 'order', 'readOnly', 'faultTolerant', 'owner', 'group', 'mode', 'quota'] as const;
const DESTINATION = /^([^:]+):(\/.*)$/s;

/** Reads a file of mounts; `-` is standard input. Throws DeclarationError. */
export function readDocumentFile(file: string): PlacedMount[] {
  return parseDocumentText(readText(file), file === '-' ? 'stdin' : file);
}

/** The mounts of a text in the order in which they stand. `file` begins the places of messages. Throws DeclarationError. */
export function parseDocumentText(text: string, file: string): PlacedMount[] {
  const lines = new LineCounter();
  const places = new Places(file, lines);
  const document = parse(text, lines, places);
  if (document.contents === null)
    throw new DeclarationError(`${file}: it is empty; write mounts: and the mounts below it`);
  const top = new Fields(document.contents, places, '');
  top.refuseOthers(['mounts']);
  const mounts = top.fields('mounts');
  const sources = mounts.names;
  if (sources.length > MAX_DECLARED_MOUNTS) {
    throw new DeclarationError(`${file}: ${sources.length} mounts; at most ${MAX_DECLARED_MOUNTS} are possible`);
  }
  return sources.map((source) => ({ place: mounts.placeOf(source), mount: readMount(mounts, source, places) }));
}

/** The text of a destination, null when `{ nameservice, path }` must be written. */
export function destinationText({ nameservice, path }: MountDestination): string | null {
  const text = `${nameservice}:${path}`;
  const [, readNameservice, readPath] = DESTINATION.exec(text) ?? [];
  return readNameservice === nameservice && readPath === path ? text : null;
}

/** The destination of a text; null when it is none. */
export function parseDestination(text: string): MountDestination | null {
  const [, nameservice, path] = DESTINATION.exec(text) ?? [];
  return nameservice === undefined || path === undefined ? null : { nameservice, path };
}

function parse(text: string, lines: LineCounter, places: Places): Document.Parsed {
  let document: Document.Parsed;
  try {
    // Names that come twice are looked for by Fields: the parser compares each with each.
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false, strict: true });
  } catch (error) {
    throw new DeclarationError(`${places.at(undefined)}: neither YAML nor JSON (${reason(error)})`);
  }
  const [first] = document.errors;
  if (first !== undefined) {
    const why = first.code === 'MULTIPLE_DOCS' ? 'a second document begins; put all mounts into one' : reason(first);
    throw new DeclarationError(`${places.at(first.pos[0])}: neither YAML nor JSON (${why})`);
  }
  const [tag] = document.warnings;
  if (tag !== undefined) throw new DeclarationError(`${places.at(tag.pos[0])}: ${reason(tag)}; remove it`);
  return document;
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.startsWith('Maximum call stack') ? 'nested too deeply' : text;
}

function readMount(mounts: Fields, sourcePath: string, places: Places): DeclaredMount {
  const short = textOf(mounts.node(sourcePath));
  const nothing = {
    sourcePath,
    order: 'HASH',
    readOnly: false,
    faultTolerant: false,
    owner: null,
    group: null,
    mode: DEFAULT_MODE,
    namespaceQuota: NO_QUOTA,
    spaceQuota: NO_QUOTA,
    typeQuotas: new Map<StorageType, bigint>(),
  } as const;
  if (short !== null) {
    const destination = parseDestination(short);
    return { ...nothing, destinations: [destination ?? mounts.fail(sourcePath, noDestination(short))] };
  }
  const fields = mounts.fields(sourcePath);
  fields.refuseOthers(MOUNT_FIELDS);
  return {
    ...nothing,
    destinations: readDestinations(fields, places),
    order: fields.has('order') ? readChoice(fields, 'order', ORDERS) : 'HASH',
    readOnly: fields.flag('readOnly'),
    faultTolerant: fields.flag('faultTolerant'),
    owner: readName(fields, 'owner'),
    group: readName(fields, 'group'),
    mode: fields.has('mode') ? readMode(fields) : DEFAULT_MODE,
    ...(fields.has('quota') ? readQuota(fields.fields('quota')) : {}),
  };
}

function readDestinations(fields: Fields, places: Places): MountDestination[] {
  const items = fields.list('destinations');
  if (items.length === 0) fields.fail('destinations', 'at least one is needed');
  if (items.length > MAX_DESTINATIONS) fields.fail('destinations', `at most ${MAX_DESTINATIONS} are possible`);
  return items.map((item, index) => {
    const text = textOf(item);
    if (text !== null) return parseDestination(text) ?? places.fail(item, noDestination(text));
    if (item === null) return fields.fail('destinations', noDestination(''));
    const parts = new Fields(item, places, `destinations[${index}].`);
    parts.refuseOthers(['nameservice', 'path']);
    return { nameservice: parts.text('nameservice'), path: parts.text('path') };
  });
}

function noDestination(text: string): string {
  return `'${text}' is no destination; write NAMESERVICE:/PATH, for instance ns0:/data`;
}

function readChoice<T extends string>(fields: Fields, name: string, allowed: readonly T[]): T {
  const text = fields.text(name);
  const found = allowed.find((choice) => choice === text);
  return found ?? fields.fail(name, `'${text}' is none of ${allowed.join(', ')}`);
}

function readName(fields: Fields, name: string): string | null {
  if (!fields.has(name)) return null;
  const text = fields.text(name);
  return text === '' ? fields.fail(name, 'must not be empty; leave it out to keep what the entry has') : text;
}

/** Octal whatever YAML makes of the digits: 0755, "0755" and 755 are the same. */
function readMode(fields: Fields): number {
  const text = fields.text('mode');
  if (/^(?:0o)?[01]?[0-7]{3}$/.test(text)) return Number.parseInt(text.replace('0o', ''), 8);
  return fields.fail('mode', `'${text}' is no mode; write octal digits, for instance "0755"`);
}

function readQuota(fields: Fields): Pick<DeclaredMount, 'namespaceQuota' | 'spaceQuota' | 'typeQuotas'> {
  fields.refuseOthers(['namespace', 'space', 'storageTypes']);
  const typeQuotas = new Map<StorageType, bigint>();
  if (fields.has('storageTypes')) {
    const types = fields.fields('storageTypes');
    types.refuseOthers(STORAGE_TYPES);
    for (const type of types.names) typeQuotas.set(type as StorageType, readBytes(types, type));
  }
  return {
    namespaceQuota: fields.has('namespace') ? readNumber(fields, 'namespace') : NO_QUOTA,
    spaceQuota: fields.has('space') ? readBytes(fields, 'space') : NO_QUOTA,
    typeQuotas,
  };
}

function readNumber(fields: Fields, name: string): bigint {
  const text = fields.text(name);
  const limit = parseLimit(text);
  return limit ?? fields.fail(name, `'${text}' is no limit; write a whole number, or leave it out for none`);
}

function readBytes(fields: Fields, name: string): bigint {
  const text = fields.text(name);
  const limit = parseByteLimit(text);
  return limit ?? fields.fail(name, `'${text}' is no number of bytes; write it like 1048576 or 10g, or leave it out`);
}

function readText(file: string): string {
  let descriptor = 0;
  try {
    descriptor = file === '-' ? 0 : openSync(file, 'r');
    if (fstatSync(descriptor).isDirectory()) throw new Error('it is a directory');
    const bytes = readAll(descriptor);
    if (bytes === null) throw new Error(`more than ${MAX_DOCUMENT_BYTES} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new DeclarationError(`${file}: cannot be read (${reason(error)}); give a file of mounts, in UTF-8`);
  } finally {
    if (descriptor > 0) closeSync(descriptor);
  }
}

/** Null when there is more than a document may have. */
function readAll(descriptor: number): Buffer | null {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const read = readSync(descriptor, chunk);
    if (read === 0) return Buffer.concat(chunks);
    total += read;
    if (total > MAX_DOCUMENT_BYTES) return null;
    chunks.push(chunk.subarray(0, read));
  }
}
