import type { Call } from '../call/call.ts';
import type { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import { Failure } from '../call/failure.ts';
import { BY_INODE, SEVERAL } from '../call/resolve.ts';
import { canonicalPath } from '../mount/canonical.ts';
import { isAllOrder, ORDERS } from '../mount/entry.ts';
import { firstNameservice, orderDestinations } from '../mount/order/order.ts';
import type { MountSnapshot } from '../mount/snapshot.ts';
import { textOf } from '../wire/text.ts';
import type { Target } from './composition.ts';
import { Refused } from './refused.ts';
import { sharedTrash, type TrashDirectory } from './trash.ts';

/** Where a path lies; plain data, good for as long as the call takes, whatever becomes of the mount table. */
export interface Located {
  /** The client's path in canonical form. */
  readonly path: string;
  /** In the order to ask them; empty when nothing covers the path. */
  readonly targets: readonly Target[];
  /** Why `targets` is empty. */
  readonly unresolved: Refused | null;
  /** Path of the mount point that covers it, null for the default nameservice. */
  readonly mountPoint: string | null;
  /**
   * Directories exist in all of its nameservices (HASH_ALL, RANDOM, SPACE, LEADER_FOLLOWER). So they do in the trash of any mount with several
   * destinations: what is deleted stays in its nameservice, and needs them there.
   */
  readonly everywhere: boolean;
  /**
   * A directory may be in several of them: with LOCAL those who made it each have their own, with HASH it came there by a rename or from
   * another order. What is in it may be in any of them.
   */
  readonly scattered: boolean;
  readonly faultTolerant: boolean;
  readonly readOnly: boolean;
  /** The path is a mount point; mount points lie below it. Never inside the caller's trash. */
  readonly atMount: boolean;
  readonly mountsBelow: boolean;
  /** A directory of the caller's trash that several nameservices share: names that a listing must not show (composed/trash.ts). */
  readonly trash: TrashDirectory | null;
}

/**
 * Where the client's path `spelled` lies. Throws Refused as the byte path refuses: mount check (when asked for), read-only mounts (when
 * the method writes), an inode path that several nameservices may have. A path that nothing covers has no targets: see `requireTargets`.
 */
export function locate(engine: Engine, call: Call, spelled: Buffer, mountCheck: boolean): Located {
  const { resolver } = engine;
  const nameservice = resolver.resolve(call, spelled, 0, spelled.length, mountCheck);
  const snapshot = resolver.snapshot as MountSnapshot;
  const { mount, atMount, mountsBelow, inTrash } = resolver;
  const isUnresolved = nameservice < 0 && nameservice !== SEVERAL && resolver.isUnresolved;
  if (nameservice === BY_INODE || (nameservice < 0 && nameservice !== SEVERAL && !isUnresolved)) {
    throw new Refused(resolver.className, resolver.message);
  }
  const text = textOf(spelled, 0, spelled.length);
  const mountPoint = mount < 0 ? null : textOf(snapshot.bytes, snapshot.sourceStart(mount), snapshot.sourceEnd(mount));
  const order = mount < 0 ? null : (ORDERS[snapshot.orderOf(mount)] ?? null);
  const several = mount >= 0 && snapshot.destinationCount(mount) > 1;
  const trash = nameservice === SEVERAL ? sharedTrash(engine) : null;
  let targets: readonly Target[] = [];
  if (trash !== null) targets = trash.targets;
  else if (nameservice === SEVERAL) targets = severalTargets(engine, call, text, mountPoint as string);
  else if (!isUnresolved) targets = [{ nameservice, path: resolver.path, prefixBytes: resolver.prefixBytes }];
  return {
    path: canonicalPath(text),
    targets,
    unresolved: isUnresolved ? new Refused(resolver.className, resolver.message) : null,
    mountPoint,
    everywhere: trash !== null || (several && (inTrash || (order !== null && isAllOrder(order)))),
    scattered: several && !inTrash && order !== null && !isAllOrder(order),
    faultTolerant: several && snapshot.isFaultTolerant(mount),
    readOnly: mount >= 0 && snapshot.isReadOnly(mount),
    atMount,
    mountsBelow,
    trash,
  };
}

/** The targets of a path; throws why there are none. */
export function requireTargets(located: Located): readonly Target[] {
  if (located.unresolved !== null) throw located.unresolved;
  if (located.targets.length === 0) throw new Refused(Failure.NO_LOCATION, `Cannot find locations for ${located.path}`);
  return located.targets;
}

/** The client's (first) path as it wrote it. */
export function pathOf(call: Call): Buffer {
  const { pathStart, pathEnd } = call.fields;
  return Buffer.from(call.frame.subarray(call.start + pathStart, call.start + pathEnd));
}

/** As `pathOf`, the second path. */
export function path2Of(call: Call): Buffer {
  const { path2Start, path2End } = call.fields;
  return Buffer.from(call.frame.subarray(call.start + path2Start, call.start + path2End));
}

/** Directly after the resolver answered SEVERAL. */
function severalTargets(engine: Engine, call: Call, spelled: string, mountPoint: string): Target[] {
  const { resolver, figures, settings, block } = engine;
  const snapshot = resolver.snapshot as MountSnapshot;
  const { mount, inTrash } = resolver;
  const first = firstNameservice(
    snapshot,
    mount,
    spelled,
    inTrash ? spelled : mountPoint,
    (call.client as Client).identity.address,
    figures,
    Math.random,
    settings.spacePreferencePercent,
  );
  const order = orderDestinations(snapshot, mount, first);
  const places = placesInNameservices(snapshot, mount);
  const targets: Target[] = [];
  const seen = new Set<string>();
  for (const destination of order) {
    const nameservice = snapshot.destinationNameservice(mount, destination);
    // Only now: a disabled nameservice keeps its share of the hash ring.
    if (block.anyDisabled && block.isDisabled(nameservice)) continue;
    resolver.useDestination(destination);
    const path = resolver.path;
    // In the trash destinations of one nameservice are one place.
    const key = `${nameservice}:${path === null ? '' : path.toString('latin1')}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const place = inTrash ? 0 : (places[destination] as number);
    targets.push({ nameservice, path, prefixBytes: resolver.prefixBytes, place });
  }
  return targets;
}

/** Of each destination of a mount: how many before it in the record are in its nameservice. */
function placesInNameservices(snapshot: MountSnapshot, mount: number): number[] {
  const seen = new Map<number, number>();
  return Array.from({ length: snapshot.destinationCount(mount) }, (_, i) => {
    const nameservice = snapshot.destinationNameservice(mount, i);
    const place = seen.get(nameservice) ?? 0;
    seen.set(nameservice, place + 1);
    return place;
  });
}
