/**
 * Values of attributes, and how the JSON of a Java router has them: whole numbers without a point, floating ones always with it, spread over
 * lines as Jackson does.
 */

/** A floating-point number: 1 is written 1.0. */
export class Floating {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A text that is kept as it is written, quotes and escapes included: long ones are made when they change, not for each answer. */
export class WrittenText {
  readonly json: Buffer;

  constructor(json: Buffer) {
    this.json = json;
  }
}

export type Value =
  | string
  /** Whole. */
  | number
  | bigint
  | boolean
  | null
  | Floating
  | WrittenText
  | readonly Value[]
  | { readonly [field: string]: Value };

/** Attributes by name, in the order in which they are written. */
export type Attributes = Readonly<Record<string, Value>>;

const NO_FLOATING = new Floating(0);

export function floating(value: number): Floating {
  return value === 0 ? NO_FLOATING : new Floating(value);
}

/** A Java float: the shortest number that is the same in 32 bits, as it is written there. */
export function float32(value: number): number {
  const rounded = Math.fround(value);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(rounded.toPrecision(digits));
    if (Math.fround(short) === rounded) return short;
  }
  return rounded;
}

/** JSON in a text, as many attributes have it. */
export function jsonText(value: object): string {
  return JSON.stringify(value);
}

/** Collects the pieces of one answer. */
export class JsonWriter {
  readonly #pieces: Buffer[] = [];
  #text = '';

  add(text: string): void {
    this.#text += text;
  }

  addField(name: string, value: Value, indent: string): void {
    this.#text += `${indent}${JSON.stringify(name)} : `;
    this.#addValue(value, indent);
  }

  end(): readonly Buffer[] {
    this.#cut();
    return this.#pieces;
  }

  #cut(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }

  #addValue(value: Value, indent: string): void {
    if (typeof value === 'string') this.#text += JSON.stringify(value);
    else if (value === null || typeof value !== 'object') this.#text += String(value);
    else if (value instanceof Floating) this.#text += floatingText(value.value);
    else if (value instanceof WrittenText) {
      this.#cut();
      this.#pieces.push(value.json);
    } else if (Array.isArray(value)) this.#addList(value as readonly Value[], indent);
    else this.#addObject(value as { readonly [field: string]: Value }, indent);
  }

  #addList(values: readonly Value[], indent: string): void {
    this.#text += '[ ';
    for (const [i, value] of values.entries()) {
      if (i > 0) this.#text += ', ';
      this.#addValue(value, indent);
    }
    this.#text += values.length === 0 ? ']' : ' ]';
  }

  #addObject(fields: { readonly [field: string]: Value }, indent: string): void {
    let separator = '{\n';
    for (const [name, value] of Object.entries(fields)) {
      this.#text += separator;
      this.addField(name, value, `${indent}  `);
      separator = ',\n';
    }
    this.#text += separator === '{\n' ? '{ }' : `\n${indent}}`;
  }
}

/** As Java's Double.toString, but for the exponents of very small and very large numbers, which begin elsewhere. */
function floatingText(value: number): string {
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
