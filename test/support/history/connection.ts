import net from 'node:net';
import { ReplyCutter, type ReplySink } from '../../../src/load/thread/reply-cutter.ts';
import { encodeHandshake } from '../../../src/wire/handshake.ts';
import { type CallToWrite, frameBound, PROTOCOL, type SentState, writeCall } from './requests.ts';

const READ_BYTES = 64 * 1024;
const WRITE_BYTES = 64 * 1024;

/** All connections read into the same memory: reading and what follows from it are one synchronous step. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

export interface Server {
  readonly host: string;
  readonly port: number;
}

export interface ConnectionOwner {
  readonly clientId: Buffer;
  readonly user: string;
  readonly holder: string;
  /** One reply, buffer[start, end) without its length; the buffer is used again afterwards. */
  onReply(connection: Connection, buffer: Buffer, start: number, end: number): void;
  onLost(connection: Connection, why: string): void;
}

/** One TCP connection of a client; the calls of one turn leave in one write. */
export class Connection implements ReplySink {
  /** Which of the client's routers it leads to. */
  readonly router: number;
  readonly #owner: ConnectionOwner;
  readonly #cutter: ReplyCutter;
  readonly #socket: net.Socket;
  #out: Buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #outBytes = 0;
  #flushAsked = false;
  #isLost = false;

  constructor(owner: ConnectionOwner, router: number, { host, port }: Server) {
    this.router = router;
    this.#owner = owner;
    this.#cutter = new ReplyCutter(this);
    const { user, clientId } = owner;
    this.#socket = net.connect({
      host,
      port,
      noDelay: true,
      onread: { buffer: readBuffer, callback: (bytes) => this.#read(bytes) },
    });
    this.#socket.write(encodeHandshake({ user, realUser: '', protocol: PROTOCOL, clientId }));
    this.#socket.on('error', (error) => this.lose(error.message));
    this.#socket.on('close', () => this.lose('closed by the server'));
  }

  /** Whether calls that are sent now may be answered. */
  get isUsable(): boolean {
    return !this.#isLost;
  }

  send(call: CallToWrite, state: SentState): void {
    const { clientId, holder } = this.#owner;
    const bound = frameBound(call, state, holder);
    if (this.#outBytes + bound > this.#out.length) {
      this.#flush();
      if (bound > this.#out.length) this.#out = Buffer.allocUnsafeSlow(bound * 2);
    }
    this.#outBytes = writeCall(this.#out, this.#outBytes, call, clientId, holder, state);
    if (this.#flushAsked) return;
    this.#flushAsked = true;
    setImmediate(() => {
      this.#flushAsked = false;
      this.#flush();
    });
  }

  onFrame(buffer: Buffer, start: number, end: number): void {
    if (!this.#isLost) this.#owner.onReply(this, buffer, start, end);
  }

  /** Ends it; its calls are the owner's to send again. */
  lose(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#socket.destroy();
    this.#owner.onLost(this, why);
  }

  /** Ends it without a word. */
  close(): void {
    this.#isLost = true;
    this.#socket.destroy();
  }

  #read(bytes: number): boolean {
    if (!this.#isLost && !this.#cutter.feed(readBuffer, bytes)) this.lose('a reply with an impossible length');
    return true;
  }

  #flush(): void {
    if (this.#outBytes === 0) return;
    const bytes = this.#out.subarray(0, this.#outBytes);
    this.#outBytes = 0;
    if (this.#isLost) return;
    this.#socket.write(bytes);
    // What the kernel did not take yet is still read from there.
    if (this.#socket.writableLength > 0) this.#out = Buffer.allocUnsafeSlow(WRITE_BYTES);
  }
}
