import { isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node, type YAMLMap } from 'yaml';
import { UsageError } from '../../../commands/usage.ts';
import { plainText } from '../text.ts';

/** A file of mounts that cannot be used; the message names file, line and column, and what to write. */
export class DeclarationError extends UsageError {}

/** Where nodes stand. */
export class Places {
  readonly #file: string;
  readonly #lines: LineCounter;

  constructor(file: string, lines: LineCounter) {
    this.#file = file;
    this.#lines = lines;
  }

  /** file:line:column of an offset; the file alone where there is none. */
  at(offset: number | undefined): string {
    if (offset === undefined) return this.#file;
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? this.#file : `${this.#file}:${line}:${col}`;
  }

  of(node: unknown): string {
    return this.at(isNode(node) ? node.range?.[0] : undefined);
  }

  fail(node: unknown, problem: string): never {
    throw new DeclarationError(`${this.of(node)}: ${plainText(problem)}`);
  }
}

/** The fields of one mapping by name, each taken once. What is left in the end has a name that nobody knows. */
export class Fields {
  readonly #node: YAMLMap;
  readonly #places: Places;
  /** In front of names: `mounts./data.` */
  readonly #prefix: string;
  readonly #values = new Map<string, Node | null>();
  readonly #keys = new Map<string, unknown>();

  /** Fails when it is no mapping, or a name is no text, or comes twice. */
  constructor(node: unknown, places: Places, prefix: string) {
    const what = prefix === '' ? 'the file' : prefix.slice(0, -1);
    refuseAlias(node, places);
    if (!isMap(node)) places.fail(node, `${what} must be a mapping of names to values`);
    this.#node = node;
    this.#places = places;
    this.#prefix = prefix;
    for (const { key, value } of node.items) {
      refuseAlias(key, places);
      if (!isScalar(key)) places.fail(key ?? node, `${what}: a name must be text`);
      const name = scalarText(key.value, key.source);
      if (this.#keys.has(name)) places.fail(key, `${this.#prefix}${name} is given twice; remove one`);
      this.#keys.set(name, key);
      this.#values.set(name, isNode(value) ? value : null);
    }
  }

  get names(): string[] {
    return [...this.#keys.keys()];
  }

  has(name: string): boolean {
    return this.#keys.has(name);
  }

  fail(name: string, problem: string): never {
    this.#places.fail(
      this.#values.get(name) ?? this.#keys.get(name) ?? this.#node,
      `${this.#prefix}${name}: ${problem}`,
    );
  }

  placeOf(name: string): string {
    return this.#places.of(this.#keys.get(name) ?? this.#node);
  }

  /** The value as it is written; fails when the name is missing. */
  node(name: string): Node | null {
    if (!this.#keys.has(name)) this.#places.fail(this.#node, `${this.#prefix}${name} is missing`);
    const value = this.#values.get(name) ?? null;
    refuseAlias(value, this.#places);
    return value;
  }

  /** Text, quoted or not: a number is the text that was written. */
  text(name: string): string {
    const text = textOf(this.node(name));
    return text ?? this.fail(name, 'must be text');
  }

  /** False when left out. */
  flag(name: string): boolean {
    if (!this.has(name)) return false;
    const node = this.node(name);
    if (isScalar(node) && typeof node.value === 'boolean') return node.value;
    return this.fail(name, 'must be true or false');
  }

  fields(name: string): Fields {
    return new Fields(this.node(name), this.#places, `${this.#prefix}${name}.`);
  }

  /** The elements of a list; a single value is a list of one. */
  list(name: string): (Node | null)[] {
    const node = this.node(name);
    const items = isSeq(node) ? node.items.map((item) => (isNode(item) ? item : null)) : [node];
    for (const item of items) refuseAlias(item, this.#places);
    return items;
  }

  /** Fails unless all names are among these. */
  refuseOthers(known: readonly string[]): void {
    const other = this.names.find((name) => !known.includes(name));
    if (other === undefined) return;
    this.#places.fail(this.#keys.get(other), `${this.#prefix}${other}: no such field; there are ${known.join(', ')}`);
  }
}

/** Null when it is no text. */
export function textOf(node: unknown): string | null {
  if (!isScalar(node) || node.value === null || typeof node.value === 'boolean') return null;
  return scalarText(node.value, node.source);
}

function scalarText(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}

/** Every value stands where it is used: nothing can grow out of a few bytes, or hold itself. */
function refuseAlias(node: unknown, places: Places): void {
  if (isAlias(node)) places.fail(node, `*${node.source}: references are not taken here; write the value in full`);
}
