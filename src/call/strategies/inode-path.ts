import { CallScan, SCAN_OK, scanBody, scanHeader, scanRequestHeader } from '../../wire/call-scan.ts';
import { encodeCall } from '../../wire/encode-call.ts';
import { encode, messageType } from '../../wire/messages.ts';
import { Status } from '../../wire/reply-head.ts';
import type { ReplyScan } from '../../wire/reply-scan.ts';
import { textOf } from '../../wire/text.ts';
import { type Call, type Composer, Place } from '../call.ts';
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
  const probe = encodeProbe(call, path);
  const search = new InodeSearch(engine, call, path, nameservices);
  for (const [part, nameservice] of nameservices.entries()) {
    const scan = new CallScan();
    const code = scanProbe(probe, scan);
    if (code !== SCAN_OK) throw new Error(`the probe for ${path} does not scan: ${code}`);
    const asked = engine.makePart(call, part, scan, probe, METHODS[GET_FILE_INFO] as Method);
    asked.composer = search;
    engine.forward(asked, nameservice);
  }
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

class InodeSearch implements Composer {
  readonly #engine: Engine;
  readonly #whole: Call;
  readonly #path: string;
  readonly #nameservices: readonly number[];
  readonly #owners: number[] = [];
  #left: number;
  /** A nameservice that could not be asked: it may be the owner. */
  #silent = '';

  constructor(engine: Engine, whole: Call, path: string, nameservices: readonly number[]) {
    this.#engine = engine;
    this.#whole = whole;
    this.#path = path;
    this.#nameservices = nameservices;
    this.#left = nameservices.length;
    whole.place = Place.COMPOSING;
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
    this.#settled();
  }

  onFailure(part: Call, _className: string, message: string): void {
    this.#silent = `${this.#engine.nameserviceName(this.#nameservices[part.part] as number)} could not be asked: ${message}`;
    this.#settled();
  }

  #settled(): void {
    if (--this.#left > 0) return;
    const engine = this.#engine;
    const [owner] = this.#owners;
    this.#whole.place = Place.RESOLVING;
    if (this.#silent !== '') {
      engine.fail(this.#whole, Failure.RETRIABLE, `${this.#path} cannot be resolved: ${this.#silent}`);
    } else if (owner !== undefined && this.#owners.length > 1) {
      const names = this.#owners.map((each) => engine.nameserviceName(each)).sort();
      engine.fail(
        this.#whole,
        Failure.IO,
        `${this.#path} is a file of several nameservices (${names.join(', ')}); use its path instead of its inode`,
      );
    } else {
      // Nobody has it: the answer of any nameservice says so.
      engine.forward(this.#whole, owner ?? (this.#nameservices[0] as number));
    }
  }
}
