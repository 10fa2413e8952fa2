/** Oldest Node that has all this program uses; package.json says the same under `engines`. */
const NEEDED = [24, 18] as const;

/** What to tell whoever runs this on too old a Node; null when `version` (as process.versions.node) will do. */
export function refuseOldNode(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return null;
  return `switchyard needs Node ${NEEDED.join('.')} or newer, this is ${version}; install a newer Node, or put it first in PATH`;
}
