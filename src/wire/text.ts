/** Bytes as text, for messages and other cold places; calls of the fast path never need it. */
export function textOf(buffer: Buffer, start: number, end: number): string {
  // biome-ignore lint/plugin/hot-path: the one place where cold code of the data path makes text
  return buffer.toString('utf8', start, end);
}
