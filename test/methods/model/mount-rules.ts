import type { MountRecord } from '../../support/inline-router.ts';
import { join } from '../../support/plain-view.ts';

/** A path of a nameservice. */
export interface Location {
  readonly nameservice: string;
  readonly path: string;
}

/** `className` of a call that must fail, for several reasons each of which may be told. */
export const ANY_REFUSAL = '';

/** What a single HDFS would not refuse, but a router must. `className` without its package; the text contains `text`. */
export interface Forced {
  readonly className: string;
  readonly text: string;
  /** Instead of an exception the answer is false. */
  readonly isFalse?: true;
}

const ALL_ORDERS: ReadonlySet<unknown> = new Set(['HASH_ALL', 'RANDOM', 'SPACE', 'LEADER_FOLLOWER']);
/** Methods that must leave mount points and what is above them as it is. */
const MOUNT_CHECKED: ReadonlySet<string> = new Set([
  'create',
  'append',
  'delete',
  'rename',
  'rename2',
  'concat',
  'setReplication',
  'truncate',
]);

/** What a mount table means for one path: written from the rules of the manual, with nothing of the router's own. */
export class MountRules {
  readonly mounts: readonly MountRecord[];
  /** '' for none. */
  readonly defaultNameservice: string;

  constructor(mounts: readonly MountRecord[], defaultNameservice: string) {
    this.mounts = mounts;
    this.defaultNameservice = defaultNameservice;
  }

  /** The deepest mount at or above a path. */
  covering(path: string): MountRecord | null {
    let deepest: MountRecord | null = null;
    for (const mount of this.mounts) {
      const covers = mount.srcPath === path || isBelow(path, mount.srcPath);
      if (covers && mount.srcPath.length >= (deepest?.srcPath.length ?? 0)) deepest = mount;
    }
    return deepest;
  }

  /** Where a path may lie; empty where no mount covers it and there is no default nameservice. */
  locations(path: string): Location[] {
    const mount = this.covering(path);
    if (mount === null) return this.defaultNameservice === '' ? [] : [{ nameservice: this.defaultNameservice, path }];
    const rest = mount.srcPath === '/' ? path.slice(1) : path.slice(mount.srcPath.length + 1);
    return mount.destinations.map(({ nameserviceId, path: target }) => ({
      nameservice: nameserviceId,
      path: join(target, rest),
    }));
  }

  atMount(path: string): boolean {
    return this.mounts.some(({ srcPath }) => srcPath === path);
  }

  mountsBelow(path: string): boolean {
    return this.mounts.some(({ srcPath }) => isBelow(srcPath, path));
  }

  /** There whatever the nameservices have. */
  isSkeleton(path: string): boolean {
    return this.atMount(path) || this.mountsBelow(path);
  }

  isEverywhere(path: string): boolean {
    const mount = this.covering(path);
    return mount !== null && mount.destinations.length > 1 && ALL_ORDERS.has(mount['destOrder']);
  }

  isSeveral(path: string): boolean {
    return this.locations(path).length > 1;
  }

  /** Every path of mount points and of what is above them, `/` among them. */
  skeleton(): string[] {
    const paths = new Set(['/']);
    for (const { srcPath } of this.mounts) {
      for (let end = srcPath.indexOf('/', 1); end > 0; end = srcPath.indexOf('/', end + 1))
        paths.add(srcPath.slice(0, end));
      paths.add(srcPath);
    }
    return [...paths].sort();
  }

  /** Why a change of `path` by this method is refused whatever is there, null when it is not. */
  refusalOfChange(method: string, path: string, isChecked = MOUNT_CHECKED.has(method)): Forced | null {
    if (isChecked && this.mountsBelow(path)) {
      return {
        className: 'AccessControlException',
        text: 'The operation is not allowed because there are mount points: ',
      };
    }
    if (isChecked && this.atMount(path)) {
      return {
        className: 'AccessControlException',
        text: `The operation is not allowed because the path: ${path} is a mount point`,
      };
    }
    const mount = this.covering(path);
    if (mount?.['readOnly'] === true) {
      return { className: 'IOException', text: `${path} is in a read only mount point` };
    }
    // It is there already.
    if (method === 'mkdirs' && this.mountsBelow(path)) return null;
    return this.unresolved(path);
  }

  /** Why nothing can be known of `path`, null when something can. */
  refusalOfRead(path: string): Forced | null {
    return this.isSkeleton(path) && (path !== '/' || this.mounts.length > 0) ? null : this.unresolved(path);
  }

  unresolved(path: string): Forced | null {
    if (this.locations(path).length > 0) return null;
    return { className: 'RouterResolveException', text: `Cannot find locations for ${path}` };
  }
}

export function isBelow(path: string, directory: string): boolean {
  return directory === '/' ? path !== '/' : path.startsWith(`${directory}/`);
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
