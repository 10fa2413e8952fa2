import { JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { MountEntry } from '../mount/entry.ts';

/** Who asks: short name and groups. */
export interface AdminCaller {
  readonly user: string;
  readonly groups: readonly string[];
  readonly superuser: boolean;
}

/** Bits of a permission triple. */
export const Action = { EXECUTE: 1, WRITE: 2, READ: 4 } as const;
export type Action = (typeof Action)[keyof typeof Action];

export interface AccessOptions {
  /** The user that the router runs as: the superuser. */
  readonly routerUser: string;
  readonly superGroup: string;
  /** False: everyone is superuser. */
  readonly permissionsEnabled: boolean;
  /** Groups of a user by short name; rejects when they cannot be told. */
  groupsOf(user: string): Promise<readonly string[]>;
}

/** Tells who a user is. */
export class Access {
  readonly #options: AccessOptions;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** `user` as in a connection context; host and realm do not count. Rejects with RemoteException when the groups cannot be told. */
  async callerOf(user: string): Promise<AdminCaller> {
    const { routerUser, superGroup, permissionsEnabled, groupsOf } = this.#options;
    const short = shortNameOf(user);
    if (!permissionsEnabled || short === routerUser) return { user: short, groups: [], superuser: true };
    let groups: readonly string[];
    try {
      groups = await groupsOf(short);
    } catch (error) {
      throw new RemoteException(JAVA.IO, error instanceof Error ? error.message : String(error));
    }
    return { user: short, groups, superuser: groups.includes(superGroup) };
  }
}

export function shortNameOf(user: string): string {
  return user.split(/[/@]/, 1)[0] ?? user;
}

/** Throws what a Java router throws at others. */
export function requireSuperuser(caller: AdminCaller): void {
  if (!caller.superuser) throw new RemoteException(JAVA.ACCESS_CONTROL, `${caller.user} is not a super user`);
}

/** Whether the caller may do this to a mount entry. The bits of others hold only for who is neither owner nor in the group. */
export function isAllowed(caller: AdminCaller, entry: MountEntry, action: Action): boolean {
  if (caller.superuser) return true;
  const isOwner = caller.user === entry.owner;
  const isMember = caller.groups.includes(entry.group);
  if (isOwner && ((entry.mode >> 6) & action) !== 0) return true;
  if (isMember && ((entry.mode >> 3) & action) !== 0) return true;
  return !isOwner && !isMember && (entry.mode & action) !== 0;
}

export function requireAllowed(caller: AdminCaller, entry: MountEntry, action: Action): void {
  if (isAllowed(caller, entry, action)) return;
  throw denied(caller, entry.sourcePath, action);
}

/**
 * Whether the caller may have a new entry at this path: WRITE on the nearest entry above it and EXECUTE on those above that one. Where no
 * entry is above, the place is the superuser's.
 */
export function requirePlace(caller: AdminCaller, sourcePath: string, find: (path: string) => MountEntry | null): void {
  if (caller.superuser) return;
  let action: Action = Action.WRITE;
  let found = false;
  for (const path of pathsAbove(sourcePath)) {
    const entry = find(path);
    if (entry === null) continue;
    requireAllowed(caller, entry, action);
    action = Action.EXECUTE;
    found = true;
  }
  if (!found) throw denied(caller, sourcePath, Action.WRITE);
}

function denied(caller: AdminCaller, path: string, action: Action): RemoteException {
  const name = Object.entries(Action).find(([, bits]) => bits === action)?.[0];
  return new RemoteException(
    JAVA.ACCESS_CONTROL,
    `Permission denied while accessing mount table ${path}: user ${caller.user} does not have ${name} permissions.`,
  );
}

/** `/a/b` and `/a` and `/` of `/a/b/c`; none of `/`. */
function* pathsAbove(path: string): Generator<string> {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) yield path.slice(0, at);
  if (path !== '/') yield '/';
}
