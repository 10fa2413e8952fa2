/** In place of one write per NameNode connection and turn: each call is written by itself, on the connection that the turn would have used. */

import type { Call } from '../../../src/call/call.ts';
import { NameNodeConnection as BatchingConnection } from '../../../src/namenode/connection.ts';

export * from '../../../src/namenode/connection.ts';

export class NameNodeConnection extends BatchingConnection {
  override writeCall(call: Call): void {
    super.writeCall(call);
    const { current } = this.group;
    this.flush();
    this.group.current = current;
  }
}
