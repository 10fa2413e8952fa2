import { emptyEntry, type MountEntry } from '../../src/mount/entry.ts';
import { buildSnapshot } from '../../src/mount/radix-build.ts';
import { MountSnapshot } from '../../src/mount/snapshot.ts';

export const DEFAULTS = { routerUser: 'router', superGroup: 'supergroup' };

/** An entry with the destinations `ns:/path`, complete and valid. */
export function mount(sourcePath: string, destinations: string[], changes: Partial<MountEntry> = {}): MountEntry {
  const entry = emptyEntry(sourcePath, DEFAULTS);
  entry.destinations = destinations.map((destination) => {
    const colon = destination.indexOf(':');
    return { nameservice: destination.slice(0, colon), path: destination.slice(colon + 1) };
  });
  entry.dateCreated = 1_700_000_000_000;
  entry.dateModified = 1_700_000_000_000;
  return Object.assign(entry, changes);
}

/** A snapshot of mounts given as path → destination; topology ns0, ns1. */
export function snapshotOf(mounts: Record<string, string>): MountSnapshot {
  const entries = Object.entries(mounts).map(([source, destination]) => mount(source, [destination]));
  return MountSnapshot.from(buildSnapshot(entries, ['ns0', 'ns1'], 1, null));
}

export interface Found {
  /** Source path of the mount, null for none. */
  mount: string | null;
  /** Nameservice and downstream path of the first destination, '' for none. */
  target: string;
  atMount: boolean;
  mountsBelow: boolean;
}

/** Looks a path up in the middle of a buffer, so that wrong offsets show. */
export function lookUp(snapshot: MountSnapshot, path: string): Found {
  const padding = 'x/';
  const buffer = Buffer.from(`${padding}${path}/y`);
  const start = padding.length;
  const end = start + Buffer.byteLength(path);
  const found = snapshot.find(buffer, start, end);
  const { atMount, mountsBelow } = snapshot;
  if (found < 0) return { mount: null, target: '', atMount, mountsBelow };
  const { bytes } = snapshot;
  const base = bytes.toString('utf8', snapshot.destinationStart(found, 0), snapshot.destinationEnd(found, 0));
  const target = `${base}${buffer.toString('utf8', snapshot.matchedEnd, end)}`;
  return {
    mount: bytes.toString('utf8', snapshot.sourceStart(found), snapshot.sourceEnd(found)),
    target: `${snapshot.nameserviceName(snapshot.destinationNameservice(found, 0))}:${target === '' ? '/' : target}`,
    atMount,
    mountsBelow,
  };
}
