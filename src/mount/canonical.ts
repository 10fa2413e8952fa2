/**
 * The canonical form of a client's path, as the Java Router makes it before it looks a path up: every run of `/` is one `/`, and one
 * trailing `/` is dropped (not for `/` itself). Nothing else: `.` and `..` are ordinary names, nothing is decoded.
 */
const SLASH = 0x2f;

/** Whether path[start, end) is canonical already (the usual case). A relative or empty path is canonical, it is only not absolute. */
export function isCanonicalPath(path: Buffer, start: number, end: number): boolean {
  if (end - start > 1 && path[end - 1] === SLASH) return false;
  // Of two slashes side by side one is at an odd place, so every second byte is looked at.
  for (let at = start + 1; at < end; at += 2) {
    if (path[at] === SLASH && (path[at - 1] === SLASH || (at + 1 < end && path[at + 1] === SLASH))) return false;
  }
  return true;
}

/** Writes the canonical form of path[start, end) to `target` at `at` and returns its end. Needs at most end − start bytes. */
export function writeCanonicalPath(path: Buffer, start: number, end: number, target: Buffer, at: number): number {
  let to = at;
  for (let from = start; from < end; from++) {
    const byte = path[from] as number;
    if (byte === SLASH && to > at && target[to - 1] === SLASH) continue;
    target[to++] = byte;
  }
  if (to - at > 1 && target[to - 1] === SLASH) to--;
  return to;
}

/** The canonical form of a path held as a string. */
export function canonicalPath(path: string): string {
  const single = path.includes('//') ? path.replace(/\/{2,}/g, '/') : path;
  return single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single;
}
