/** In place of one write per client and turn: each reply is written by itself. */

import type net from 'node:net';
import { Outbox as BatchingOutbox, type SlabPool } from '../../../src/client/outbox.ts';

export * from '../../../src/client/outbox.ts';

export class Outbox extends BatchingOutbox {
  override add(socket: net.Socket, pool: SlabPool, buffer: Buffer, start: number, end: number): void {
    super.add(socket, pool, buffer, start, end);
    this.flush(socket, pool);
  }
}
