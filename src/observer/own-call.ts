import { type Call, type Composer, copyFields } from '../call/call.ts';
import { Client } from '../call/client.ts';
import type { Engine } from '../call/engine.ts';
import type { Request } from '../call/made-request-slow.ts';
import type { AcceptorLink } from '../handoff/link.ts';
import { Status } from '../wire/reply-head.ts';
import type { ReplyScan } from '../wire/reply-scan.ts';
import { makeOwnRequest } from './own-request-slow.ts';

/** Nobody waits for the answers of such calls. */
const NO_LINK: AcceptorLink = { acceptor: -1, reply: () => true, flush: () => {} };

/** Calls that a worker makes of itself, as the router's own user: msync to an active NameNode, a read as a sign of life from an observer. */
export class OwnCalls {
  readonly #engine: Engine;
  #client: Client | null = null;
  readonly #msync: Request;
  readonly #read: Request;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#msync = makeOwnRequest('msync', {}, engine.pool.clientId);
    this.#read = makeOwnRequest('getFileInfo', { src: '/' }, engine.pool.clientId);
  }

  /** `done` is called once: whether the active NameNode has answered. */
  msync(nameservice: number, done: (ok: boolean) => void): OwnCall {
    return this.#send(this.#msync, nameservice, -1, done);
  }

  /** `done` is called once: whether this NameNode has answered as an observer that has reached the state id. */
  probe(nameservice: number, namenode: number, txid: number, done: (ok: boolean) => void): OwnCall {
    return this.#send(this.#read, nameservice, namenode, done, txid);
  }

  #send(
    { method, frame, fields }: Request,
    nameservice: number,
    namenode: number,
    done: (ok: boolean) => void,
    txid = -1,
  ): OwnCall {
    const engine = this.#engine;
    const call = engine.calls.take();
    copyFields(fields, call.fields);
    call.client = this.#routerAsClient();
    call.ofRouter = true;
    call.method = method;
    call.frame = frame;
    call.start = 0;
    call.end = frame.length;
    call.startedMs = engine.clock.nowMs;
    call.epoch = engine.resolver.epoch;
    call.onlyNamenode = namenode;
    call.asObserver = namenode >= 0;
    call.floor = txid;
    call.waitingSinceMs = call.startedMs;
    const own = new OwnCall(done);
    call.composer = own;
    engine.forward(call, nameservice);
    engine.flushSoon();
    return own;
  }

  #routerAsClient(): Client {
    if (this.#client === null) {
      const user = this.#engine.settings.routerUser;
      const shared = this.#engine.pool.userOf(user);
      // For as long as the thread runs.
      shared.clients++;
      const identity = { user, realUser: '', address: '127.0.0.1', port: 0 };
      this.#client = new Client(NO_LINK, -1, -1, identity, shared);
    }
    return this.#client;
  }
}

/** One of them on its way. */
export class OwnCall implements Composer {
  readonly ofCall = false;
  over = false;
  readonly #done: (ok: boolean) => void;

  constructor(done: (ok: boolean) => void) {
    this.#done = done;
  }

  /** It counts as failed from now on; the call ends where it is as soon as somebody looks at it. */
  giveUp(): void {
    this.#end(false);
  }

  onReply(_call: Call, scan: ReplyScan): void {
    this.#end(scan.status === Status.SUCCESS);
  }

  onFailure(): void {
    this.#end(false);
  }

  #end(ok: boolean): void {
    if (this.over) return;
    this.over = true;
    this.#done(ok);
  }
}
