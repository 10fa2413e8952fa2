import { EventEmitter } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { Gate, nextEvent, WAIT_MS } from './wait.ts';

/**
 * A TCP proxy that does harm on demand.
 *
 *   client ──▶ toServer ──▶ server
 *   client ◀── toClient ◀── server
 *
 * Each direction has its own faults; they may be changed at any time and hold for all connections, from the next chunk on.
 *
 *   await using proxy = await FaultProxy.start({ port: namenode.port });
 *   proxy.toClient.sliceBytes = 1;
 */
export class Direction {
  /** Passes data on in pieces of at most this many bytes, each in a turn of its own; 0 = as it comes. */
  sliceBytes = 0;
  /** Holds each chunk back for this long. Chunks stay in order. */
  delayMs = 0;
  /** Resets both sides once exactly this many bytes of the connection have passed; -1 = never. */
  resetAfterBytes = -1;
  /** Sends FIN once exactly this many bytes of the connection have passed, drops what follows, and leaves the other direction open; -1 = never. */
  endAfterBytes = -1;
  /** Reads at most this many bytes every `slowEveryMs`; 0 = full speed. */
  slowBytes = 0;
  slowEveryMs = 5;
  /** Sees each piece before it is passed on. */
  onBytes: ((bytes: Buffer) => void) | null = null;
  /** Bytes passed by all connections together. */
  passedBytes = 0;
  readonly gate: Gate = new Gate();

  /** Passes nothing on from now on, and reads nothing: after some buffers have filled, the sender meets a closed window. */
  freeze(): void {
    this.gate.shut();
  }

  thaw(): void {
    this.gate.open();
  }
}

export interface ProxyTarget {
  readonly host?: string;
  readonly port: number;
}

const HOST = '127.0.0.1';

export class FaultProxy implements AsyncDisposable {
  readonly toServer: Direction = new Direction();
  readonly toClient: Direction = new Direction();
  /** Emits `connection` (its number, from 1) when a client has connected, `closed` (its number) when both sides are gone. */
  readonly events: EventEmitter = new EventEmitter();
  /** While true, clients are accepted and closed at once with a reset. */
  refuses = false;
  /** Connections accepted so far. */
  accepted = 0;
  /** Local ports of the connections to the server, in the order in which they were made. */
  readonly outgoingPorts: number[] = [];
  #target: ProxyTarget;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: ProxyTarget) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  static async start(target: ProxyTarget): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, HOST);
    await nextEvent(proxy.#server, 'listening', 'the fault proxy listens');
    return proxy;
  }

  get host(): string {
    return HOST;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sockets open now, both sides counted. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Later connections go there; present ones stay. */
  retarget(target: ProxyTarget): void {
    this.#target = target;
  }

  freeze(): void {
    this.toServer.freeze();
    this.toClient.freeze();
  }

  thaw(): void {
    this.toServer.thaw();
    this.toClient.thaw();
  }

  /** Cuts every present connection with a reset on both sides. */
  resetAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Resolves when `count` connections have been accepted since the start. */
  async connections(count: number, limitMs: number = WAIT_MS): Promise<void> {
    while (this.accepted < count)
      await nextEvent(this.events, 'connection', `connection ${count} of the proxy`, limitMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    for (const socket of this.#sockets) socket.destroy();
    const closed = nextEvent(this.#server, 'close', 'the fault proxy is closed');
    this.#server.close();
    await closed;
  }

  #accept(client: Socket): void {
    const number = ++this.accepted;
    if (this.refuses) {
      client.on('error', () => {});
      client.resetAndDestroy();
      this.events.emit('connection', number);
      return;
    }
    const server = connect({
      host: this.#target.host ?? HOST,
      port: this.#target.port,
      allowHalfOpen: true,
      noDelay: true,
    });
    server.once('connect', () => this.outgoingPorts.push(server.localPort ?? 0));
    let open = 2;
    for (const [socket, peer] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      // An error of one side is shown to the other as what it was: a reset.
      socket.on('error', () => peer.resetAndDestroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (--open === 0) this.events.emit('closed', number);
        else if (!peer.writableEnded) peer.destroySoon();
      });
    }
    new Leg(client, server, this.toServer).start();
    new Leg(server, client, this.toClient).start();
    this.events.emit('connection', number);
  }
}

/** One direction of one connection. */
class Leg {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #faults: Direction;
  #passed = 0;
  #ended = false;

  constructor(from: Socket, to: Socket, faults: Direction) {
    this.#from = from;
    this.#to = to;
    this.#faults = faults;
  }

  start(): void {
    let tail: Promise<void> = Promise.resolve();
    this.#from.on('data', (chunk: Buffer) => {
      this.#from.pause();
      tail = tail.then(() => this.#pass(chunk)).then(() => void this.#from.resume());
    });
    this.#from.on('end', () => {
      tail = tail.then(async () => {
        await this.#faults.gate.wait();
        this.#end();
      });
    });
  }

  async #pass(chunk: Buffer): Promise<void> {
    const faults = this.#faults;
    if (faults.delayMs > 0) await sleep(faults.delayMs);
    let at = 0;
    while (at < chunk.length && !this.#to.destroyed && !this.#ended) {
      await faults.gate.wait();
      let end = chunk.length;
      if (faults.sliceBytes > 0) end = Math.min(end, at + faults.sliceBytes);
      if (faults.slowBytes > 0) end = Math.min(end, at + faults.slowBytes);
      if (faults.resetAfterBytes >= 0) end = Math.min(end, at + Math.max(0, faults.resetAfterBytes - this.#passed));
      if (faults.endAfterBytes >= 0) end = Math.min(end, at + Math.max(0, faults.endAfterBytes - this.#passed));
      if (end > at) {
        faults.onBytes?.(chunk.subarray(at, end));
        await this.#write(chunk.subarray(at, end));
      }
      this.#passed += end - at;
      faults.passedBytes += end - at;
      at = end;
      // The receiver may sit in this process: give it a turn for each piece, or the kernel merges them.
      if (faults.sliceBytes > 0) await new Promise((resolve) => setImmediate(resolve));
      if (this.#passed === faults.resetAfterBytes) {
        this.#to.resetAndDestroy();
        this.#from.resetAndDestroy();
        return;
      }
      if (this.#passed === faults.endAfterBytes) {
        this.#end();
        return;
      }
      if (faults.slowBytes > 0) await sleep(faults.slowEveryMs);
    }
  }

  /** Resolves when the kernel has taken the bytes, or the socket is gone. */
  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#to.write(bytes, () => resolve());
    });
  }

  #end(): void {
    if (this.#ended || this.#to.destroyed) return;
    this.#ended = true;
    this.#to.end();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
