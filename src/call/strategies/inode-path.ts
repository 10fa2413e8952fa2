import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../wire/call-scan.ts';
import { encodeCall } from '../../wire/encode-call.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { Status } from '../../wire/reply-head.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { textOf } from '../../wire/text.ts';
import { type Call, type Composer, leave, Place } from '../call.ts';
import { Deadline } from '../deadline.ts';
import type { Engine } from '../engine.ts';
import { Failure } from '../failure.ts';
import type { Method } from '../method.ts';
import { METHODS, methodIndex, PROTOCOLS } from '../methods.ts';

const GET_FILE_INFO = methodIndex(0, 'getFileInfo');

/**
 * A path `/.reserved/.inodes/N` names a file by a number that every nameservice gives out by itself. Where mount points lead to several
 * nameservices the number alone does not tell whose file is meant: each is asked whether it has it, and only one that is alone in having it
 * gets the call. Two or more: refused, for a client must never be given another nameservice's file.
 */
export function answerInodePath(engine: Engine, call: Call, nameservices: readonly number[]): void {
  const fields = call.fields;
  const path = textOf(call.frame, call.start + fields.pathStart, call.start + fields.pathEnd);
  const enabled = nameservices.filter((each) => !engine.block.isDisabled(each));
  if (enabled.length === 0) {
    engine.fail(call, Failure.NO_LOCATION, `Cannot find locations for ${path} in ${engine.settings.resolverName}`);
    return;
  }
  const probe = encodeProbe(call, path);
  const scan = new CallScan();
  const code = scanProbe(probe, scan);
  if (code !== SCAN_OK) throw new Error(`the probe for ${path} does not scan: ${code}`);
  new InodeSearch(engine, call, path, enabled).ask(scan, probe);
}

/** getFileInfo of the path, with the client's ids: a read, so they meet no retry cache. */
function encodeProbe(call: Call, src: string): Buffer {
  const fields = call.fields;
  const { name, version } = PROTOCOLS[0] as (typeof PROTOCOLS)[number];
  const frame = encodeCall({
    protocol: name,
    version,
    method: 'getFileInfo',
    callId: fields.callId,
    clientId: call.frame.subarray(call.start + fields.clientIdStart, call.start + fields.clientIdEnd),
    body: encode(messageType('hadoop.hdfs.GetFileInfoRequestProto'), { src }),
  });
  return frame.subarray(4);
}

function scanProbe(frame: Buffer, scan: CallScan): number {
  return (
    scanHeader(frame, 0, frame.length, scan) ||
    scanRequestHeader(frame, 0, frame.length, scan) ||
    scanBody(frame, 0, scan, (METHODS[GET_FILE_INFO] as Method).pathField, 0)
  );
}

/** Asks every nameservice at once, and waits for them no longer than for what lies behind mount points otherwise. */
class InodeSearch implements Composer {
  readonly ofCall = false;
  over = false;
  readonly #engine: Engine;
  readonly #whole: Call;
  readonly #path: string;
  readonly #nameservices: readonly number[];
  readonly #owners: number[] = [];
  /** Nameservices without an answer yet. */
  readonly #open: Set<number>;
  /** Why a nameservice could not be asked: it may be the owner. */
  #silent = '';
  readonly #deadline = new Deadline(() => this.#onDeadline());

  constructor(engine: Engine, whole: Call, path: string, nameservices: readonly number[]) {
    this.#engine = engine;
    this.#whole = whole;
    this.#path = path;
    this.#nameservices = nameservices;
    this.#open = new Set(nameservices);
  }

  ask(scan: CallScan, probe: Buffer): void {
    const engine = this.#engine;
    this.#whole.place = Place.COMPOSING;
    engine.wheel.add(this.#deadline, engine.settings.mountStatusTimeoutMs);
    for (const [part, nameservice] of this.#nameservices.entries()) {
      const asked = engine.makePart(this.#whole, part, scan, probe, METHODS[GET_FILE_INFO] as Method);
      asked.composer = this;
      engine.forward(asked, nameservice);
    }
  }

  onReply(part: Call, scan: ReplyScan, buffer: Buffer, _start: number, end: number): void {
    const nameservice = this.#nameservices[part.part] as number;
    // A found file is an answer with a status in it; an empty one (its length byte alone) means that there is none.
    if (scan.status === Status.SUCCESS) {
      if (end - scan.headerEnd > 1) this.#owners.push(nameservice);
    } else if (!this.#engine.errorOf(scan, buffer).className.endsWith('FileNotFoundException')) {
      // Any other refusal (of permission, say) means that there is something to refuse.
      this.#owners.push(nameservice);
    }
    this.#settled(nameservice);
  }

  onFailure(part: Call, _className: string, message: string): void {
    const nameservice = this.#nameservices[part.part] as number;
    this.#silent = `${this.#engine.nameserviceName(nameservice)} could not be asked: ${message}`;
    this.#settled(nameservice);
  }

  #settled(nameservice: number): void {
    this.#open.delete(nameservice);
    if (!this.over && this.#open.size === 0) this.#decide();
  }

  #onDeadline(): void {
    const { settings } = this.#engine;
    const names = [...this.#open].map((each) => this.#engine.nameserviceName(each));
    this.#silent = `${names.join(', ')} could not be asked: no answer within ${settings.mountStatusTimeoutMs} ms (dfs.federation.router.client.mount-status.time-out)`;
    this.#decide();
  }

  #decide(): void {
    const engine = this.#engine;
    const whole = this.#whole;
    const [owner] = this.#owners;
    this.over = true;
    engine.wheel.remove(this.#deadline);
    leave(whole, Place.COMPOSING);
    if (this.#owners.length > 1) {
      const names = this.#owners.map((each) => engine.nameserviceName(each)).sort();
      engine.fail(
        whole,
        Failure.IO,
        `${this.#path} is a file of several nameservices (${names.join(', ')}); use its path instead of its inode`,
      );
    } else if (this.#silent !== '') {
      engine.fail(whole, Failure.IO, `${this.#path} cannot be resolved: ${this.#silent}`);
    } else {
      // Nobody has it: the answer of any nameservice says so.
      engine.forward(whole, owner ?? (this.#nameservices[0] as number));
    }
  }
}
