import type { LoadConnection } from './connection.ts';

/** Open connections that have a free slot, in turn. One leaves when its slots are taken or it breaks, and comes back with a free slot. */
export class ReadyList {
  readonly #connections: LoadConnection[] = [];
  #next = 0;

  /** The next one; null: none has a free slot. */
  take(): LoadConnection | null {
    const connections = this.#connections;
    if (connections.length === 0) return null;
    if (this.#next >= connections.length) this.#next = 0;
    return connections[this.#next++]!;
  }

  add(connection: LoadConnection): void {
    if (connection.readyAt >= 0) return;
    connection.readyAt = this.#connections.length;
    this.#connections.push(connection);
  }

  remove(connection: LoadConnection): void {
    const at = connection.readyAt;
    if (at < 0) return;
    connection.readyAt = -1;
    const last = this.#connections.pop()!;
    if (last === connection) return;
    this.#connections[at] = last;
    last.readyAt = at;
  }
}
