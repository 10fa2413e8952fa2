import { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';

/** The router as a client of NameNodes, on behalf of a client whose address NameNodes log; answers go to a composer, never to it. */
export function routerAsClient(engine: Engine, { link, connection, generation, identity }: Client): Client {
  const user = engine.settings.routerUser;
  return new Client(link, connection, generation, { ...identity, user, realUser: '' }, engine.pool.userOf(user));
}
