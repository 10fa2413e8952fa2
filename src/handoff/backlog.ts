import type { ClientIdentity } from './link.ts';

interface PendingOpen {
  readonly generation: number;
  readonly identity: ClientIdentity;
}

/** Where a backlog is written; false means "no room, stop here", and the entry stays. */
export interface BacklogSink {
  writeOpen(connection: number, generation: number, identity: ClientIdentity): boolean;
  writeClose(connection: number, generation: number): boolean;
}

/**
 * Openings and closings of connections that wait for the worker. While one waits no call is taken, so the worker has seen nothing of a
 * connection whose opening is still here: closing it forgets both. That bounds the backlog however fast clients come and go: for each index
 * of the acceptor's connection table at most the closing of its previous user and the opening of its present one.
 */
export class OpenCloseBacklog {
  private closes = new Map<number, number>();
  private opens = new Map<number, PendingOpen>();

  addOpen(connection: number, generation: number, identity: ClientIdentity): void {
    this.opens.set(connection, { generation, identity });
  }

  addClose(connection: number, generation: number): void {
    const open = this.opens.get(connection);
    if (open !== undefined && open.generation === generation) this.opens.delete(connection);
    else this.closes.set(connection, generation);
  }

  isEmpty(): boolean {
    return this.closes.size === 0 && this.opens.size === 0;
  }

  clear(): void {
    this.closes.clear();
    this.opens.clear();
  }

  /**
   * Writes closings first (one of the same index is older than its opening), then openings. True when nothing is left. An entry is out of
   * the backlog while it is written, because what the receiver does in return must not find it here; a refused one goes to the end, which
   * is fine: only the order within one connection counts.
   */
  writeTo(sink: BacklogSink): boolean {
    for (const [connection, generation] of this.closes) {
      this.closes.delete(connection);
      if (!sink.writeClose(connection, generation)) {
        this.closes.set(connection, generation);
        return false;
      }
    }
    for (const [connection, open] of this.opens) {
      this.opens.delete(connection);
      if (!sink.writeOpen(connection, open.generation, open.identity)) {
        this.opens.set(connection, open);
        return false;
      }
    }
    return true;
  }
}
