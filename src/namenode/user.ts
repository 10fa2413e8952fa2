import type { ConnectionGroup } from './group.ts';

/** One effective user; NameNode connections are shared by all its clients (the real user of an impersonated one goes in the caller context). */
export class User {
  readonly user: string;
  /** Of the name, 32 bits. */
  readonly hash: number;
  /** By NameNode number × number of protocols + protocol; filled as needed. */
  readonly groups: (ConnectionGroup | null)[];
  /** Groups that are not null. */
  open = 0;
  /** Client connections of this user at this worker. */
  clients = 0;

  constructor(user: string, groups: number) {
    this.user = user;
    let hash = 0;
    for (let i = 0; i < user.length; i++) hash = Math.imul(hash, 31) + user.charCodeAt(i);
    this.hash = hash | 0;
    this.groups = new Array<ConnectionGroup | null>(groups).fill(null);
  }
}
