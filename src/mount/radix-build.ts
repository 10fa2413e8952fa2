import { allocateShared, LAST_EPOCH, type SharedBytes } from '../shared/epochs.ts';
import { canonicalPath } from './canonical.ts';
import { type MountEntry, MountError, ORDERS, STORAGE_TYPES, unusableReason } from './entry.ts';
import {
  DESTINATION_WORDS,
  DestinationWord,
  HEADER_BYTES,
  Header,
  hashHeader,
  LAYOUT_VERSION,
  MAGIC,
  MAX_MOUNTS,
  MAX_SNAPSHOT_BYTES,
  MOUNT_LONGS,
  MOUNT_WORDS,
  MountFlag,
  MountLong,
  MountWord,
  NAMESERVICE_WORDS,
  NameserviceWord,
  NODE_WORDS,
  NodeWord,
  slashFirst,
  TYPE_LONGS,
} from './layout.ts';

/** A new buffer gets this much more than it needs, so that the next tables fit too. */
const SPARE_FACTOR = 1.25;
const GRANULE_BYTES = 64 * 1024;

/** Text of all entries; equal texts are stored once. */
class TextTable {
  bytes = Buffer.allocUnsafe(GRANULE_BYTES);
  used = 0;
  #known = new Map<string, number>();

  /** Stores `text` and returns where it starts; `endOf` then says where it ends. */
  add(text: string): number {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const most = text.length * 3;
    if (this.used + most > this.bytes.length) this.#grow(this.used + most);
    const start = this.used;
    this.used += this.bytes.write(text, start);
    if (this.used > MAX_SNAPSHOT_BYTES) throw tooLarge();
    this.#known.set(text, start);
    return start;
  }

  #grow(atLeast: number): void {
    const larger = Buffer.allocUnsafe(Math.max(atLeast, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}

/** The radix tree of keys[0, count) in slash-first order; positions of labels are relative to the text. */
class Tree {
  readonly words: Int32Array;
  nodes = 1;

  /** Key i is text[starts[i], starts[i] + lengths[i]). */
  constructor(text: Buffer, starts: Int32Array, lengths: Int32Array) {
    const count = starts.length;
    const mostNodes = 2 * count + 1;
    this.words = new Int32Array(mostNodes * NODE_WORDS);
    // Node n stands for the keys [low, high), which agree in their first `depth` bytes.
    const low = new Int32Array(mostNodes);
    const high = new Int32Array(mostNodes);
    const depth = new Int32Array(mostNodes);
    high[0] = count;
    for (let node = 0; node < this.nodes; node++) {
      const from = low[node] as number;
      const to = high[node] as number;
      const labelStart = depth[node] as number;
      let end = labelStart;
      if (node > 0) {
        const last = to - 1;
        const shortest = Math.min(lengths[from] as number, lengths[last] as number);
        const a = starts[from] as number;
        const b = starts[last] as number;
        while (end < shortest && text[a + end] === text[b + end]) end++;
      }
      const at = node * NODE_WORDS;
      const key = count === 0 ? 0 : (starts[from] as number);
      const isMount = count > 0 && lengths[from] === end;
      this.words[at + NodeWord.LABEL_START] = key + labelStart;
      this.words[at + NodeWord.LABEL_END] = key + end;
      this.words[at + NodeWord.FIRST_CHILD] = this.nodes;
      this.words[at + NodeWord.MOUNT] = isMount ? from : -1;
      let children = 0;
      let first = isMount ? from + 1 : from;
      while (first < to) {
        const byte = text[(starts[first] as number) + end];
        let next = first + 1;
        while (next < to && text[(starts[next] as number) + end] === byte) next++;
        const child = this.nodes++;
        low[child] = first;
        high[child] = next;
        depth[child] = end;
        children++;
        first = next;
      }
      this.words[at + NodeWord.CHILDREN] = children;
    }
  }
}

/**
 * Builds the snapshot of `entries` into `into` when it fits, else into new memory with some room to spare. Nameservices get the indexes
 * of `nameservices`; those that only mounts name follow. Throws MountError for an entry that cannot be used and for two of the same path.
 * About 30 ms for 10,000 entries: meant for build-task.ts, off the main thread.
 */
export function buildSnapshot(
  entries: readonly MountEntry[],
  nameservices: readonly string[],
  epoch: number,
  into: SharedBytes | null,
): SharedBytes {
  if (!(epoch >= 1 && epoch <= LAST_EPOCH))
    throw new MountError(`epoch ${epoch} of a mount snapshot is out of range; restart the router`);
  const count = entries.length;
  if (count > MAX_MOUNTS)
    throw new MountError(`the mount table has ${count} entries, at most ${MAX_MOUNTS} are possible; remove some`);
  const text = new TextTable();
  const sorted = sortEntries(entries, text);
  const starts = new Int32Array(count);
  const lengths = new Int32Array(count);
  const sourceEnds = new Int32Array(count);
  let destinationCount = 0;
  let longCount = count * MOUNT_LONGS;
  for (let mount = 0; mount < count; mount++) {
    const entry = sorted[mount] as MountEntry;
    const length = Buffer.byteLength(entry.sourcePath);
    starts[mount] = text.add(entry.sourcePath);
    lengths[mount] = length === 1 ? 0 : length;
    sourceEnds[mount] = (starts[mount] as number) + length;
    destinationCount += entry.destinations.length;
    longCount += entry.quota.types.length * TYPE_LONGS;
  }
  const tree = new Tree(text.bytes, starts, lengths);

  const mounts = new Int32Array(count * MOUNT_WORDS);
  const destinations = new Int32Array(destinationCount * DESTINATION_WORDS);
  const longs = new BigInt64Array(longCount);
  const names = new Map<string, number>();
  for (const name of nameservices) if (!names.has(name)) names.set(name, names.size);
  let destination = 0;
  let long = 0;
  for (let mount = 0; mount < count; mount++) {
    const entry = sorted[mount] as MountEntry;
    const at = mount * MOUNT_WORDS;
    const firstDestination = destination;
    let sameAsTarget = false;
    for (const { nameservice, path } of entry.destinations) {
      let index = names.get(nameservice);
      if (index === undefined) {
        index = names.size;
        names.set(nameservice, index);
      }
      const canonical = canonicalPath(path);
      const stored = canonical === '/' ? '' : canonical;
      const start = text.add(stored);
      const row = destination++ * DESTINATION_WORDS;
      destinations[row + DestinationWord.NAMESERVICE] = index;
      destinations[row + DestinationWord.START] = start;
      destinations[row + DestinationWord.END] = start + Buffer.byteLength(stored);
      sameAsTarget = entry.destinations.length === 1 && canonical === entry.sourcePath;
    }
    const owner = text.add(entry.owner);
    const group = text.add(entry.group);
    mounts[at + MountWord.SOURCE_START] = starts[mount] as number;
    mounts[at + MountWord.SOURCE_END] = sourceEnds[mount] as number;
    mounts[at + MountWord.FIRST_DESTINATION] = firstDestination;
    mounts[at + MountWord.DESTINATIONS] = destination - firstDestination;
    mounts[at + MountWord.FLAGS] =
      (entry.readOnly ? MountFlag.READ_ONLY : 0) |
      (entry.faultTolerant ? MountFlag.FAULT_TOLERANT : 0) |
      (sameAsTarget ? MountFlag.SAME_AS_TARGET : 0);
    mounts[at + MountWord.ORDER] = ORDERS.indexOf(entry.order);
    mounts[at + MountWord.MODE] = entry.mode;
    mounts[at + MountWord.OWNER_START] = owner;
    mounts[at + MountWord.OWNER_END] = owner + Buffer.byteLength(entry.owner);
    mounts[at + MountWord.GROUP_START] = group;
    mounts[at + MountWord.GROUP_END] = group + Buffer.byteLength(entry.group);
    mounts[at + MountWord.FIRST_LONG] = long;
    mounts[at + MountWord.TYPES] = entry.quota.types.length;
    longs[long + MountLong.DATE_CREATED] = BigInt(entry.dateCreated);
    longs[long + MountLong.DATE_MODIFIED] = BigInt(entry.dateModified);
    longs[long + MountLong.FILE_COUNT] = entry.quota.fileAndDirectoryCount;
    longs[long + MountLong.NAMESPACE_QUOTA] = entry.quota.namespaceQuota;
    longs[long + MountLong.SPACE_CONSUMED] = entry.quota.spaceConsumed;
    longs[long + MountLong.SPACE_QUOTA] = entry.quota.spaceQuota;
    long += MOUNT_LONGS;
    for (const { type, quota, consumed } of entry.quota.types) {
      longs[long] = BigInt(STORAGE_TYPES.indexOf(type));
      longs[long + 1] = quota;
      longs[long + 2] = consumed;
      long += TYPE_LONGS;
    }
  }
  const nameserviceRows = new Int32Array(names.size * NAMESERVICE_WORDS);
  for (const [name, index] of names) {
    const start = text.add(name);
    nameserviceRows[index * NAMESERVICE_WORDS + NameserviceWord.START] = start;
    nameserviceRows[index * NAMESERVICE_WORDS + NameserviceWord.END] = start + Buffer.byteLength(name);
  }
  return writeSnapshot(epoch, text, tree, mounts, destinations, nameserviceRows, longs, into);
}

/** The entries in slash-first order of their source paths. Throws for unusable ones and for two of one path. */
function sortEntries(entries: readonly MountEntry[], text: TextTable): MountEntry[] {
  const count = entries.length;
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  const positions: number[] = [];
  for (let position = 0; position < count; position++) {
    const entry = entries[position] as MountEntry;
    const reason = unusableReason(entry);
    if (reason !== null) throw new MountError(`mount table entry ${position}: ${reason}`);
    starts[position] = text.add(entry.sourcePath);
    ends[position] = (starts[position] as number) + Buffer.byteLength(entry.sourcePath);
    positions.push(position);
  }
  const bytes = text.bytes;
  positions.sort((a, b) => {
    let x = starts[a] as number;
    let y = starts[b] as number;
    const xEnd = ends[a] as number;
    const yEnd = ends[b] as number;
    while (x < xEnd && y < yEnd && bytes[x] === bytes[y]) {
      x++;
      y++;
    }
    if (x === xEnd || y === yEnd) return xEnd - x - (yEnd - y);
    return slashFirst(bytes[x] as number) - slashFirst(bytes[y] as number);
  });
  const sorted: MountEntry[] = [];
  let before = '';
  for (const position of positions) {
    const entry = entries[position] as MountEntry;
    if (entry.sourcePath === before)
      throw new MountError(`mount '${before}' is in the mount table twice; remove one of them`);
    before = entry.sourcePath;
    sorted.push(entry);
  }
  return sorted;
}

function writeSnapshot(
  epoch: number,
  text: TextTable,
  tree: Tree,
  mounts: Int32Array,
  destinations: Int32Array,
  nameservices: Int32Array,
  longs: BigInt64Array,
  into: SharedBytes | null,
): SharedBytes {
  const nodeBytes = tree.nodes * NODE_WORDS * 4;
  const nodesAt = HEADER_BYTES + longs.byteLength;
  const mountsAt = nodesAt + nodeBytes;
  const destinationsAt = mountsAt + mounts.byteLength;
  const nameservicesAt = destinationsAt + destinations.byteLength;
  const firstBytesAt = nameservicesAt + nameservices.byteLength;
  const textAt = firstBytesAt + tree.nodes;
  const usedBytes = textAt + text.used;
  if (usedBytes > MAX_SNAPSHOT_BYTES) throw tooLarge();
  const roomy = Math.min(MAX_SNAPSHOT_BYTES, Math.ceil((usedBytes * SPARE_FACTOR) / GRANULE_BYTES) * GRANULE_BYTES);
  const buffer = into !== null && into.byteLength >= usedBytes ? into : allocateShared(roomy);

  const header = new Int32Array(buffer, 0, HEADER_BYTES / 4);
  header.fill(0);
  new BigInt64Array(buffer, HEADER_BYTES, longs.length).set(longs);
  const bytes = Buffer.from(buffer);
  const nodes = new Int32Array(buffer, nodesAt, tree.nodes * NODE_WORDS);
  for (let node = 0; node < tree.nodes; node++) {
    const at = node * NODE_WORDS;
    const labelStart = tree.words[at + NodeWord.LABEL_START] as number;
    nodes[at + NodeWord.LABEL_START] = labelStart + textAt;
    nodes[at + NodeWord.LABEL_END] = (tree.words[at + NodeWord.LABEL_END] as number) + textAt;
    nodes[at + NodeWord.FIRST_CHILD] = tree.words[at + NodeWord.FIRST_CHILD] as number;
    nodes[at + NodeWord.CHILDREN] = tree.words[at + NodeWord.CHILDREN] as number;
    nodes[at + NodeWord.MOUNT] = tree.words[at + NodeWord.MOUNT] as number;
    bytes[firstBytesAt + node] = node === 0 ? 0 : (text.bytes[labelStart] as number);
  }
  writeRows(buffer, mountsAt, mounts, MOUNT_WORDS, textAt, [
    MountWord.SOURCE_START,
    MountWord.SOURCE_END,
    MountWord.OWNER_START,
    MountWord.OWNER_END,
    MountWord.GROUP_START,
    MountWord.GROUP_END,
  ]);
  writeRows(buffer, destinationsAt, destinations, DESTINATION_WORDS, textAt, [
    DestinationWord.START,
    DestinationWord.END,
  ]);
  writeRows(buffer, nameservicesAt, nameservices, NAMESERVICE_WORDS, textAt, [
    NameserviceWord.START,
    NameserviceWord.END,
  ]);
  text.bytes.copy(bytes, textAt, 0, text.used);

  header[Header.VERSION] = LAYOUT_VERSION;
  header[Header.EPOCH] = epoch;
  header[Header.USED_BYTES] = usedBytes;
  header[Header.LONGS] = longs.length;
  header[Header.LONGS_AT] = HEADER_BYTES;
  header[Header.NODES] = tree.nodes;
  header[Header.NODES_AT] = nodesAt;
  header[Header.MOUNTS] = mounts.length / MOUNT_WORDS;
  header[Header.MOUNTS_AT] = mountsAt;
  header[Header.DESTINATIONS] = destinations.length / DESTINATION_WORDS;
  header[Header.DESTINATIONS_AT] = destinationsAt;
  header[Header.NAMESERVICES] = nameservices.length / NAMESERVICE_WORDS;
  header[Header.NAMESERVICES_AT] = nameservicesAt;
  header[Header.FIRST_BYTES_AT] = firstBytesAt;
  header[Header.TEXT_AT] = textAt;
  header[Header.CHECK] = hashHeader(header);
  header[Header.MAGIC] = MAGIC;
  return buffer;
}

/** Copies rows of `width` words into place; `textColumns` become positions in the buffer. */
function writeRows(
  buffer: SharedBytes,
  at: number,
  rows: Int32Array,
  width: number,
  textAt: number,
  textColumns: readonly number[],
): void {
  const target = new Int32Array(buffer, at, rows.length);
  target.set(rows);
  for (let row = 0; row < rows.length; row += width) {
    for (const column of textColumns) target[row + column] = (target[row + column] as number) + textAt;
  }
}

function tooLarge(): MountError {
  return new MountError(`the mount table needs more than ${MAX_SNAPSHOT_BYTES} bytes; remove entries or shorten paths`);
}
