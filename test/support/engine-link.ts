import type { Engine } from '../../src/call/engine.ts';
import { CallReader, ReadCall } from '../../src/client/read-call.ts';
import type { AcceptorLink } from '../../src/handoff/link.ts';
import { scanHeader } from '../../src/wire/call-scan.ts';
import { callFrame } from './client-bytes.ts';

const LENGTH_BYTES = 4;

/** An acceptor as a worker sees it, full or not as the test says. It has one client, connection 0. */
export class EngineLink implements AcceptorLink {
  readonly acceptor: number;
  full = false;
  /** Slots of the replies taken, in their order. */
  readonly slots: number[] = [];

  constructor(acceptor: number) {
    this.acceptor = acceptor;
  }

  reply(_connection: number, _generation: number, slot: number): boolean {
    if (!this.full) this.slots.push(slot);
    return !this.full;
  }

  flush(): void {}

  /** Joins the engine with its client. */
  join(engine: Engine, user = 'alice'): void {
    engine.addLink(this);
    engine.onOpen(this, 0, 1, { user, realUser: '', address: '127.0.0.1', port: 1 });
  }

  /** Hands over one call of its client. */
  call(engine: Engine, slot: number, method: string, body: Buffer): void {
    const frame = callFrame({ method, body }).subarray(LENGTH_BYTES);
    const reader = new CallReader();
    const header = scanHeader(frame, 0, frame.length, reader.scan);
    if (reader.readCall(frame, 0, frame.length, header, '') !== ReadCall.CALL) throw new Error(`${method} is no call`);
    Object.assign(reader.scan, { connection: 0, generation: 1, slot });
    engine.onCall(this, reader.scan, reader.frame, reader.start, reader.end, false);
    engine.onDrained();
  }
}
