import { MAX_PATH_BYTES } from '../plan/layout.ts';
import { LoadError } from '../run/load-error.ts';

/** Paths of one thread together. */
export const MAX_TABLE_BYTES = 1 << 30;
const FIRST_BYTES = 64 * 1024;
const FIRST_PATHS = 1024;

/** Paths as bytes, one after the other in one buffer, known by their index. Path i is bytes[starts[i], starts[i + 1]). */
export class PathTable {
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  starts: Uint32Array = new Uint32Array(FIRST_PATHS);
  count = 0;
  longestBytes = 0;

  /** Index of the path. */
  add(path: string): number {
    const length = Buffer.byteLength(path);
    if (length > MAX_PATH_BYTES) {
      throw new LoadError(`a path of ${length} bytes (${path.slice(0, 60)}…): HDFS takes up to ${MAX_PATH_BYTES}`);
    }
    const start = this.starts[this.count]!;
    const end = start + length;
    if (end > MAX_TABLE_BYTES) {
      throw new LoadError(
        `more than ${MAX_TABLE_BYTES} bytes of paths in one loader thread: use fewer files or more --threads`,
      );
    }
    if (end > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(end, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, start);
      this.bytes = grown;
    }
    if (this.count + 2 > this.starts.length) {
      const grown = new Uint32Array(this.starts.length * 2);
      grown.set(this.starts);
      this.starts = grown;
    }
    this.bytes.write(path, start, 'utf8');
    this.starts[this.count + 1] = end;
    this.longestBytes = Math.max(this.longestBytes, length);
    return this.count++;
  }
}
