import type { SharedBytes } from '../shared/epochs.ts';
import { MountError, ORDERS, STORAGE_TYPES } from './entry.ts';
import {
  DESTINATION_WORDS,
  DestinationWord,
  HEADER_BYTES,
  Header,
  hashHeader,
  LAYOUT_VERSION,
  MAGIC,
  MOUNT_LONGS,
  MOUNT_WORDS,
  MountWord,
  NAMESERVICE_WORDS,
  NameserviceWord,
  NODE_WORDS,
  NodeWord,
  TYPE_LONGS,
} from './layout.ts';

/**
 * Checks that every position in a snapshot leads into its section and every child lies behind its parent, so that no lookup can leave
 * the memory or go round in circles. Returns the buffer's words; throws MountError.
 */
export function verifySnapshot(buffer: SharedBytes): Int32Array {
  if (buffer.byteLength < HEADER_BYTES) damaged('shorter than its header');
  const words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
  if (words[Header.MAGIC] !== MAGIC) damaged('no magic number, it is not a mount snapshot or is still being built');
  if (words[Header.VERSION] !== LAYOUT_VERSION) {
    damaged(
      `layout version ${words[Header.VERSION]}, this build reads ${LAYOUT_VERSION}; all threads must run the same build`,
    );
  }
  if (words[Header.CHECK] !== hashHeader(words)) damaged('header damaged');
  const usedBytes = words[Header.USED_BYTES] as number;
  if (usedBytes > buffer.byteLength) damaged(`${usedBytes} bytes expected, ${buffer.byteLength} there`);
  if ((words[Header.EPOCH] as number) < 1) damaged('epoch out of range');

  const longs = words[Header.LONGS] as number;
  const nodes = words[Header.NODES] as number;
  const mounts = words[Header.MOUNTS] as number;
  const destinations = words[Header.DESTINATIONS] as number;
  const nameservices = words[Header.NAMESERVICES] as number;
  let at = HEADER_BYTES;
  at = checkSection(words, Header.LONGS_AT, at, longs * 8);
  const nodesAt = at / 4;
  at = checkSection(words, Header.NODES_AT, at, nodes * NODE_WORDS * 4);
  const mountsAt = at / 4;
  at = checkSection(words, Header.MOUNTS_AT, at, mounts * MOUNT_WORDS * 4);
  const destinationsAt = at / 4;
  at = checkSection(words, Header.DESTINATIONS_AT, at, destinations * DESTINATION_WORDS * 4);
  const nameservicesAt = at / 4;
  at = checkSection(words, Header.NAMESERVICES_AT, at, nameservices * NAMESERVICE_WORDS * 4);
  const firstBytesAt = at;
  const textAt = checkSection(words, Header.FIRST_BYTES_AT, at, nodes);
  checkSection(words, Header.TEXT_AT, textAt, 0);
  if (textAt > usedBytes || nodes < 1) damaged('sizes disagree');

  const bytes = Buffer.from(buffer);
  for (let node = 0; node < nodes; node++) {
    const row = nodesAt + node * NODE_WORDS;
    checkText(words, row + NodeWord.LABEL_START, row + NodeWord.LABEL_END, textAt, usedBytes);
    const labelStart = words[row + NodeWord.LABEL_START] as number;
    const labelBytes = (words[row + NodeWord.LABEL_END] as number) - labelStart;
    if (node === 0 ? labelBytes !== 0 : labelBytes === 0 || bytes[firstBytesAt + node] !== bytes[labelStart])
      damaged(`label of node ${node}`);
    const child = words[row + NodeWord.FIRST_CHILD] as number;
    checkRange(child, words[row + NodeWord.CHILDREN] as number, node + 1, nodes, 'children');
    const mount = words[row + NodeWord.MOUNT] as number;
    if (mount < -1 || mount >= mounts) damaged(`mount of node ${node}`);
  }
  for (let mount = 0; mount < mounts; mount++) {
    const row = mountsAt + mount * MOUNT_WORDS;
    checkText(words, row + MountWord.SOURCE_START, row + MountWord.SOURCE_END, textAt, usedBytes);
    checkText(words, row + MountWord.OWNER_START, row + MountWord.OWNER_END, textAt, usedBytes);
    checkText(words, row + MountWord.GROUP_START, row + MountWord.GROUP_END, textAt, usedBytes);
    checkRange(
      words[row + MountWord.FIRST_DESTINATION] as number,
      words[row + MountWord.DESTINATIONS] as number,
      0,
      destinations,
      'destinations',
    );
    const types = words[row + MountWord.TYPES] as number;
    if (types < 0 || types > STORAGE_TYPES.length * longs) damaged(`quota of mount ${mount}`);
    checkRange(words[row + MountWord.FIRST_LONG] as number, MOUNT_LONGS + types * TYPE_LONGS, 0, longs, 'quota');
    const order = words[row + MountWord.ORDER] as number;
    if (order < 0 || order >= ORDERS.length) damaged(`order of mount ${mount}`);
  }
  for (let destination = 0; destination < destinations; destination++) {
    const row = destinationsAt + destination * DESTINATION_WORDS;
    const nameservice = words[row + DestinationWord.NAMESERVICE] as number;
    if (nameservice < 0 || nameservice >= nameservices) damaged(`nameservice of destination ${destination}`);
    checkText(words, row + DestinationWord.START, row + DestinationWord.END, textAt, usedBytes);
  }
  for (let nameservice = 0; nameservice < nameservices; nameservice++) {
    const row = nameservicesAt + nameservice * NAMESERVICE_WORDS;
    checkText(words, row + NameserviceWord.START, row + NameserviceWord.END, textAt, usedBytes);
  }
  return words;
}

/** The section that `word` names must start at `at`; returns its end. */
function checkSection(words: Int32Array, word: number, at: number, bytes: number): number {
  const end = at + bytes;
  if (words[word] !== at || bytes < 0 || end > words.byteLength) damaged('sizes disagree');
  return end;
}

function checkText(words: Int32Array, startWord: number, endWord: number, textAt: number, textEnd: number): void {
  const start = words[startWord] as number;
  const end = words[endWord] as number;
  if (start < textAt || end < start || end > textEnd) damaged('text out of range');
}

/** `count` rows from `first` on must lie in [low, high). */
function checkRange(first: number, count: number, low: number, high: number, what: string): void {
  if (count < 0 || (count > 0 && (first < low || first + count > high))) damaged(`${what} out of range`);
}

function damaged(what: string): never {
  throw new MountError(`mount snapshot unusable: ${what}`);
}
