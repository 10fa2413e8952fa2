/** Reading of a result file that may be anything: each step knows its place, so that an error can name it. */

export class JsonPlace {
  readonly value: unknown;
  /** As in `path.json: scenarios[0].variants[2]`. */
  readonly place: string;

  constructor(value: unknown, place: string) {
    this.value = value;
    this.place = place;
  }

  /** The field `name`; throws when this is no object or has none. */
  field(name: string): JsonPlace {
    const found = this.optional(name);
    if (found === null) throw this.#wrong(`field '${name}' is missing`);
    return found;
  }

  /** Null when there is no such field, or it is null. */
  optional(name: string): JsonPlace | null {
    if (typeof this.value !== 'object' || this.value === null || Array.isArray(this.value)) {
      throw this.#wrong('an object is wanted');
    }
    const value = (this.value as Record<string, unknown>)[name];
    if (value === undefined || value === null) return null;
    return new JsonPlace(value, this.place.endsWith(': ') ? `${this.place}${name}` : `${this.place}.${name}`);
  }

  list(name: string): JsonPlace[] {
    const { value, place } = this.field(name);
    if (!Array.isArray(value)) throw new Error(`${place}: a list is wanted`);
    return value.map((item, index) => new JsonPlace(item, `${place}[${index}]`));
  }

  number(name: string): number {
    const { value, place } = this.field(name);
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`${place}: a number is wanted`);
    return value;
  }

  /** Null when there is no such field, or it is null. */
  optionalNumber(name: string): number | null {
    return this.optional(name) === null ? null : this.number(name);
  }

  text(name: string): string {
    const { value, place } = this.field(name);
    if (typeof value !== 'string') throw new Error(`${place}: a text is wanted`);
    return value;
  }

  #wrong(reason: string): Error {
    return new Error(`${this.place.replace(/: $/, '')}: ${reason}`);
  }
}
