/**
 * In place of NameNode connections that all clients of a user share: each client connection counts as a user of its own and has one
 * connection to each NameNode it needs. It is closed with its client, or when it has been idle if calls were still on it then.
 */

import { PROTOCOLS } from '../../../src/call/methods.ts';
import { NameNodePool as SharingPool } from '../../../src/namenode/pool.ts';
import { User } from '../../../src/namenode/user.ts';

export * from '../../../src/namenode/pool.ts';

type PoolArguments = ConstructorParameters<typeof SharingPool>;

export class NameNodePool extends SharingPool {
  constructor(...[settings, ...rest]: PoolArguments) {
    super({ ...settings, connectionsPerUser: 1 }, ...rest);
  }

  /** Asked once for each client connection. */
  override userOf(user: string): User {
    const namenodes = this.namenodes.reduce((sum, group) => sum + group.length, 0);
    return new User(user, namenodes * PROTOCOLS.length);
  }

  override leave(user: User): void {
    super.leave(user);
    for (const group of user.groups) group?.closeIdle(Number.POSITIVE_INFINITY);
  }
}
