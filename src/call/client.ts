import type { Caller } from '../admission/scheduler/caller.ts';
import type { AcceptorLink, ClientIdentity } from '../handoff/link.ts';
import type { User } from '../namenode/user.ts';
import type { ContextPrefix } from '../wire/context.ts';

/** The worker's record of one client connection, from its open record to its close record. */
export class Client {
  readonly link: AcceptorLink;
  readonly connection: number;
  readonly generation: number;
  readonly identity: ClientIdentity;
  readonly user: User;
  /** The fixed part of the caller context that goes with each of its calls; made with the first, most connections are idle. */
  context: ContextPrefix | null = null;
  /** `/user/NAME/.Trash`, its user's; made with its first path that may lie there. */
  trashRoot: Buffer | null = null;
  /** Whom its calls cost; found with its first one, and again when it is not listed any more. */
  caller: Caller | null = null;
  /** It has closed its side of the connection: nothing is sent for it any more. Whether it still takes answers the acceptor knows. */
  gone = false;
  /** How many calls had come to wait when its last change came (admission/coalescing.ts). */
  wroteAt = 0;

  constructor(link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity, user: User) {
    this.link = link;
    this.connection = connection;
    this.generation = generation;
    this.identity = identity;
    this.user = user;
  }
}

/** A principal's first component, as HDFS names its home directory. */
export function shortNameOf(user: string): string {
  const at = user.search(/[/@]/);
  return at < 0 ? user : user.slice(0, at);
}
