/**
 * Memory layout of a mount snapshot. Everything is little words in one shared buffer; positions of text are offsets from its first byte.
 *
 *   header │ longs (int64) │ nodes │ mounts │ destinations │ nameservices (int32 rows) │ first bytes (one a node) │ text
 *
 * The radix tree: a node stands for the bytes on the way to it; its label is the last piece of them, a range of some mount's source path.
 * Children lie next to each other, always behind their parent, in slash-first order. The path `/` is the empty key, any other path is
 * its own key, so the root (empty label) holds the mount `/` and keys of whole paths end at component boundaries.
 *
 * Slash-first order (bytes, with `/` below all others) keeps a mount and all mounts under it in one run, and their next components
 * in plain byte order. Mounts are numbered in that order.
 */
export const MAGIC = 0x4d594153;
export const LAYOUT_VERSION = 1;
export const SLASH = 0x2f;

/** Int32 words of the header; `…At` are byte offsets of sections, the others counts. */
export const Header = {
  /** Written last: a buffer without it is being built. */
  MAGIC: 0,
  VERSION: 1,
  EPOCH: 2,
  USED_BYTES: 3,
  LONGS: 4,
  LONGS_AT: 5,
  NODES: 6,
  NODES_AT: 7,
  MOUNTS: 8,
  MOUNTS_AT: 9,
  DESTINATIONS: 10,
  DESTINATIONS_AT: 11,
  NAMESERVICES: 12,
  NAMESERVICES_AT: 13,
  FIRST_BYTES_AT: 14,
  TEXT_AT: 15,
  /** Hash of the words between VERSION and itself. */
  CHECK: 16,
} as const;
export const HEADER_BYTES = 72;

export const NodeWord = { LABEL_START: 0, LABEL_END: 1, FIRST_CHILD: 2, CHILDREN: 3, MOUNT: 4 } as const;
export const NODE_WORDS = 5;

export const MountWord = {
  SOURCE_START: 0,
  SOURCE_END: 1,
  FIRST_DESTINATION: 2,
  DESTINATIONS: 3,
  FLAGS: 4,
  ORDER: 5,
  MODE: 6,
  OWNER_START: 7,
  OWNER_END: 8,
  GROUP_START: 9,
  GROUP_END: 10,
  FIRST_LONG: 11,
  /** Number of storage types with a quota row. */
  TYPES: 12,
} as const;
export const MOUNT_WORDS = 13;

export const MountFlag = { READ_ONLY: 1, FAULT_TOLERANT: 2, SAME_AS_TARGET: 4 } as const;

/** The path of a destination never ends with `/`: that of `/` is empty, so path + remainder is the target. */
export const DestinationWord = { NAMESERVICE: 0, START: 1, END: 2 } as const;
export const DESTINATION_WORDS = 3;

export const NameserviceWord = { START: 0, END: 1 } as const;
export const NAMESERVICE_WORDS = 2;

/** Int64 values of one mount, followed by (type, quota, consumed) for each storage type. */
export const MountLong = {
  DATE_CREATED: 0,
  DATE_MODIFIED: 1,
  FILE_COUNT: 2,
  NAMESPACE_QUOTA: 3,
  SPACE_CONSUMED: 4,
  SPACE_QUOTA: 5,
} as const;
export const MOUNT_LONGS = 6;
export const TYPE_LONGS = 3;

export const MAX_MOUNTS = 1_000_000;
export const MAX_SNAPSHOT_BYTES = 1 << 30;

/** Hash (FNV-1a by words) of the header's words between VERSION and CHECK. */
export function hashHeader(words: Int32Array): number {
  let hash = 0x811c9dc5 | 0;
  for (let word = Header.VERSION; word < Header.CHECK; word++)
    hash = Math.imul(hash ^ (words[word] as number), 0x01000193);
  return hash;
}

/** Position of a byte in slash-first order. */
export function slashFirst(byte: number): number {
  return byte === SLASH ? -1 : byte;
}

/** Text of bytes[start, end), for the slow path. */
export function readText(bytes: Buffer, start: number, end: number): string {
  // biome-ignore lint/plugin/hot-path: slow path only, calls that are answered by the router itself
  return bytes.toString('utf8', start, end);
}
