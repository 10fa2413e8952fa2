/** Finds bytes in a fixed list of names (methods, protocols) without making a string of them. */

/** Slots per name: with so many a search seldom meets another name. */
const SLOTS_PER_NAME = 4;

export class NameIndex {
  /** All names one after the other; name i is bytes[offsets[i], offsets[i + 1]). */
  readonly bytes: Buffer;
  readonly offsets: Int32Array;
  /** Name index + 1 by hash, 0 = free; a name stands in the first free slot from its hash on. */
  readonly slots: Int32Array;
  readonly mask: number;

  /** Names must differ and not be empty. */
  constructor(names: readonly string[]) {
    this.bytes = Buffer.from(names.join(''), 'utf8');
    this.offsets = new Int32Array(names.length + 1);
    let size = 4;
    while (size < names.length * SLOTS_PER_NAME) size *= 2;
    this.slots = new Int32Array(size);
    this.mask = size - 1;
    let end = 0;
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      const start = end;
      end += Buffer.byteLength(name, 'utf8');
      this.offsets[i + 1] = end;
      if (start === end) throw new Error(`NameIndex: name ${i} is empty`);
      let slot = hashName(this.bytes, start, end) & this.mask;
      while (this.slots[slot] !== 0) {
        if (names[this.slots[slot]! - 1] === name) throw new Error(`NameIndex: ${name} stands twice in the list`);
        slot = (slot + 1) & this.mask;
      }
      this.slots[slot] = i + 1;
    }
  }

  /** Position of the name buffer[start, end) in the list, -1 when it is not there. */
  find(buffer: Buffer, start: number, end: number): number {
    const length = end - start;
    if (length <= 0) return -1;
    const { slots, offsets, bytes, mask } = this;
    let slot = hashName(buffer, start, end) & mask;
    for (;;) {
      const found = slots[slot]! - 1;
      if (found < 0) return -1;
      const from = offsets[found]!;
      if (offsets[found + 1]! - from === length) {
        let i = 0;
        while (i < length && buffer[start + i] === bytes[from + i]) i++;
        if (i === length) return found;
      }
      slot = (slot + 1) & mask;
    }
  }
}

/** Of length and five sample bytes: enough to tell most names apart, and the comparison decides anyway. */
function hashName(buffer: Buffer, start: number, end: number): number {
  const length = end - start;
  let hash = length * 0x9e3779b1;
  hash = Math.imul(hash ^ buffer[start]!, 0x85ebca6b);
  hash = Math.imul(hash ^ buffer[start + (length >> 2)]!, 0xc2b2ae35);
  hash = Math.imul(hash ^ buffer[start + (length >> 1)]!, 0x85ebca6b);
  hash = Math.imul(hash ^ buffer[start + ((length * 3) >> 2)]!, 0xc2b2ae35);
  hash = Math.imul(hash ^ buffer[end - 1]!, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
