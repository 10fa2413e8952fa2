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
  /** It has closed its side of the connection: nothing is sent for it any more. Whether it still takes answers the acceptor knows. */
  gone = false;

  constructor(link: AcceptorLink, connection: number, generation: number, identity: ClientIdentity, user: User) {
    this.link = link;
    this.connection = connection;
    this.generation = generation;
    this.identity = identity;
    this.user = user;
  }
}
