import { type MountSnapshot, NO_MOUNT } from './snapshot.ts';

/**
 * Distinct nameservices that a canonical path leads to and that mount points below it lead to: the path's own first, in record order.
 * `defaultNameservice` is the own one of a path that no mount covers, -1 for none.
 */
export function nameservicesAtOrBelow(snapshot: MountSnapshot, path: string, defaultNameservice: number): number[] {
  const found = new Set<number>();
  const bytes = Buffer.from(path);
  const mount = snapshot.find(bytes, 0, bytes.length);
  const { mountsBelow } = snapshot;
  if (mount !== NO_MOUNT) addDestinations(snapshot, mount, found);
  else if (defaultNameservice >= 0) found.add(defaultNameservice);
  if (mountsBelow) for (const below of snapshot.mountsUnder(path)) addDestinations(snapshot, below, found);
  return Array.from(found);
}

function addDestinations(snapshot: MountSnapshot, mount: number, found: Set<number>): void {
  for (let i = 0; i < snapshot.destinationCount(mount); i++) found.add(snapshot.destinationNameservice(mount, i));
}
