/*
 * Jute, the encoding of ZooKeeper's protocol. Everything is big-endian.
 *
 *   int      4 bytes            long     8 bytes            bool     1 byte
 *   buffer   int length, bytes                 length −1: null
 *   text     buffer of UTF-8
 *   vector   int count, items                  count −1: null
 */

/** Bytes that are not what the protocol says. */
export class JuteError extends Error {
  override readonly name = 'JuteError';
}

const FIRST_BYTES = 128;
const MIN_TEXT_BYTES = 4;

/** Builds one record. */
export class JuteWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #end = 0;

  int(value: number): this {
    const at = this.#grow(4);
    this.#bytes.writeInt32BE(value, at);
    return this;
  }

  long(value: bigint): this {
    const at = this.#grow(8);
    this.#bytes.writeBigInt64BE(value, at);
    return this;
  }

  bool(value: boolean): this {
    const at = this.#grow(1);
    this.#bytes[at] = value ? 1 : 0;
    return this;
  }

  buffer(value: Uint8Array | null): this {
    if (value === null) return this.int(-1);
    this.int(value.length);
    const at = this.#grow(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  text(value: string): this {
    return this.buffer(Buffer.from(value));
  }

  texts(values: readonly string[]): this {
    this.int(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  /** What was written; valid until the next write. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** Makes room and returns where it begins. */
  #grow(bytes: number): number {
    const at = this.#end;
    this.#end += bytes;
    if (this.#end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
    }
    return at;
  }
}

/** Reads one record; every length is checked against what is there before anything is made of it. */
export class JuteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = 0;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#take(4));
  }

  long(): bigint {
    return this.#bytes.readBigInt64BE(this.#take(8));
  }

  bool(): boolean {
    return this.#bytes[this.#take(1)] !== 0;
  }

  /** A view of the input; null becomes empty. */
  buffer(): Buffer {
    const length = this.int();
    if (length < -1) throw new JuteError(`length ${length}`);
    if (length <= 0) return this.#bytes.subarray(this.#at, this.#at);
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    return this.buffer().toString('utf8');
  }

  texts(): string[] {
    const values: string[] = [];
    const count = this.count(MIN_TEXT_BYTES);
    for (let i = 0; i < count; i++) values.push(this.text());
    return values;
  }

  /** Count of a vector whose items take at least `itemBytes`; null becomes 0. */
  count(itemBytes: number): number {
    const count = this.int();
    if (count < -1 || count * itemBytes > this.left) throw new JuteError(`${count} items in ${this.left} bytes`);
    return Math.max(0, count);
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (bytes > this.left) throw new JuteError(`${bytes} bytes wanted, ${this.left} left`);
    this.#at += bytes;
    return at;
  }
}
