import { Doubts, Level } from './doubts.ts';
import { type History, Kind, NO_VERSION, Outcome } from './history.ts';
import { Report, type Rule } from './report.ts';
import { NEVER, Versions } from './versions.ts';
import { WrittenBefore } from './written-before.ts';

/**
 * Looks whether each client of a history has read its own writes, never gone back in time, and seen everything that comes before what it has
 * seen. Takes time in proportion to the operations, not to their pairs: versions of a nameservice have one order (its transactions), so what a
 * client must see is one number, the greatest version that it knew when it invoked the read. The read is wrong when the file had a version
 * after the one it returned and up to that number.
 */
export function check(history: History): Report {
  const report = new Report(history);
  const versions = new Versions(history, report);
  const sessions = new Sessions(history, report, versions);
  const events = eventsOf(history);
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    sessions.doubts.advance(at + 1);
    if (event >= 0) sessions.onInvoked(event);
    else sessions.onReturned(~event);
  }
  return report;
}

/** By time: the row of an operation that was invoked, or its complement when it returned. */
function eventsOf({ length, clock, invokedAt, returnedAt }: History): Int32Array {
  const events = new Int32Array(clock);
  for (let row = 0; row < length; row++) {
    events[invokedAt[row]! - 1] = row;
    if (returnedAt[row] !== 0) events[returnedAt[row]! - 1] = ~row;
  }
  return events;
}

/** What a client knows, as it grows with each event (by client and file, or client and nameservice), and as it was when an operation began. */
class Known {
  readonly #now: Float64Array;
  readonly #atInvocation: Float64Array;

  constructor(size: number, operations: number) {
    this.#now = new Float64Array(size);
    this.#atInvocation = new Float64Array(operations);
  }

  raise(at: number, version: number): void {
    if (version > this.#now[at]!) this.#now[at] = version;
  }

  keep(row: number, at: number): void {
    this.#atInvocation[row] = this.#now[at]!;
  }

  of(row: number): number {
    return this.#atInvocation[row]!;
  }
}

/** What each client knows, event by event. Numbers are versions, NO_VERSION before the first. */
class Sessions {
  readonly doubts: Doubts;
  readonly #history: History;
  readonly #report: Report;
  readonly #versions: Versions;
  /** By client and file: its own last write, and the last version that it read. */
  readonly #wrote: Known;
  readonly #read: Known;
  /** By client and nameservice: the greatest version that it has seen or made; what had been written when its last msync began. */
  readonly #seen: Known;
  readonly #synced: Known;
  /** As those: what had been written `freshMs` before its last operation. */
  readonly #due: Known;
  /** By nameservice: what some writer has been told. */
  readonly #written: Known;
  readonly #longWritten: WrittenBefore;
  /** By operation: what had been written `freshMs` before it began. */
  readonly #longWrittenAt: Float64Array;
  /** By msync in flight: what had been written when it began. */
  readonly #msyncs = new Map<number, Float64Array>();
  readonly #writtenNow: Float64Array;

  constructor(history: History, report: Report, versions: Versions) {
    const { clients, files, nameservices, length } = history;
    this.doubts = new Doubts(history);
    this.#history = history;
    this.#report = report;
    this.#versions = versions;
    this.#wrote = new Known(clients * files, length);
    this.#read = new Known(clients * files, length);
    this.#seen = new Known(clients * nameservices.length, length);
    this.#synced = new Known(clients * nameservices.length, length);
    this.#due = new Known(clients * nameservices.length, length);
    this.#written = new Known(nameservices.length, length);
    this.#writtenNow = new Float64Array(nameservices.length);
    this.#longWritten = new WrittenBefore(nameservices.length, history.freshMs);
    this.#longWrittenAt = new Float64Array(length);
  }

  onInvoked(row: number): void {
    const { kind, client, file, nameservices, files, invokedMs } = this.#history;
    if (kind[row] === Kind.MSYNC) {
      this.#msyncs.set(row, this.#writtenNow.slice());
      return;
    }
    const nameservice = this.#history.nameserviceOf(file[row]!);
    const byFile = client[row]! * files + file[row]!;
    const byNameservice = client[row]! * nameservices.length + nameservice;
    this.#wrote.keep(row, byFile);
    this.#read.keep(row, byFile);
    this.#seen.keep(row, byNameservice);
    this.#synced.keep(row, byNameservice);
    this.#due.keep(row, byNameservice);
    this.#written.keep(row, nameservice);
    this.#longWrittenAt[row] = this.#longWritten.at(nameservice, invokedMs[row]!);
  }

  onReturned(row: number): void {
    const { kind, outcome } = this.#history;
    if (outcome[row] !== Outcome.SUCCESS) {
      this.#report.failed++;
      this.#msyncs.delete(row);
    } else if (kind[row] === Kind.MSYNC) this.#takeMsync(row);
    else if (kind[row] === Kind.WRITE) this.#takeWrite(row);
    else this.#takeRead(row);
  }

  #takeMsync(row: number): void {
    this.#report.msyncs++;
    const { nameservices, client } = this.#history;
    const written = this.#msyncs.get(row)!;
    this.#msyncs.delete(row);
    for (let n = 0; n < nameservices.length; n++) {
      // A fenced NameNode answers it too.
      if (this.doubts.levelOf(row, n) !== Level.NOTHING) continue;
      this.#synced.raise(client[row]! * nameservices.length + n, written[n]!);
    }
  }

  #takeWrite(row: number): void {
    this.#report.writes++;
    const { version, write, file, returnedMs } = this.#history;
    const made = version[row]!;
    if (!this.#versions.isSure(write[row]!, made)) return;
    const seen = this.#seen.of(row);
    if (made <= seen) {
      this.#report.add('writes-follow-reads', row, `its client had seen ${this.#nameOf(row, seen)}`);
    }
    const nameservice = this.#history.nameserviceOf(file[row]!);
    this.#learn(row, made);
    this.#wrote.raise(this.#byFile(row), made);
    this.#written.raise(nameservice, made);
    this.#writtenNow[nameservice] = Math.max(this.#writtenNow[nameservice]!, made);
    this.#longWritten.add(nameservice, returnedMs[row]!, made);
  }

  #takeRead(row: number): void {
    this.#report.reads++;
    const { version, write, file } = this.#history;
    const got = version[row]!;
    if (got !== NO_VERSION && !this.#versions.isSure(write[row]!, got)) {
      // What it saw may be gone. Elsewhere it is a wrong answer, which has been reported.
      if (this.#history.forgetful.has(this.#history.nameserviceOf(file[row]!))) this.#report.excused++;
      return;
    }
    const missed = this.#versions.nextOf(file[row]!, got);
    if (missed !== NEVER) this.#judge(row, missed);
    this.#learn(row, got);
    this.#read.raise(this.#byFile(row), got);
  }

  /** The read did not see `missed`: was it too early for that? */
  #judge(row: number, missed: number): void {
    const isPlain = this.#history.plainClients.has(this.#history.client[row]!);
    if (missed <= this.#wrote.of(row)) {
      this.#accuse('read-your-writes', row, missed, `it had written ${this.#nameOf(row, this.#wrote.of(row))}`);
    } else if (missed <= this.#read.of(row)) {
      this.#accuse('monotonic reads', row, missed, `it had read ${this.#nameOf(row, this.#read.of(row))}`);
    } else if (missed <= this.#seen.of(row)) {
      this.#accuse('writes-follow-reads', row, missed, `it had seen ${this.#nameOf(row, this.#seen.of(row))}`);
    } else if (missed <= this.#synced.of(row)) {
      this.#accuse('msync', row, missed, 'its last msync began after that');
    } else if (isPlain && missed <= this.#written.of(row)) {
      this.#accuse('plain read', row, missed, 'it was written before');
    } else if (!isPlain && missed <= this.#due.of(row)) {
      this.#accuse(
        'bounded staleness',
        row,
        missed,
        `it was written ${this.#history.freshMs} ms before its last operation`,
      );
    }
  }

  #accuse(rule: Rule, row: number, missed: number, why: string): void {
    // What a client without state has seen nobody can compare.
    const isPlain = this.#history.plainClients.has(this.#history.client[row]!);
    const isOfOthers = isPlain || rule === 'msync' || rule === 'bounded staleness';
    const level = this.doubts.levelOf(row, this.#history.nameserviceOf(this.#history.file[row]!));
    if (level === Level.ALL || (level === Level.OTHERS && isOfOthers)) this.#report.excused++;
    else this.#report.add(rule, row, `missing is ${this.#nameOf(row, missed)}, and ${why}`);
  }

  #learn(row: number, version: number): void {
    const { client, file, nameservices } = this.#history;
    const nameservice = this.#history.nameserviceOf(file[row]!);
    const byNameservice = client[row]! * nameservices.length + nameservice;
    this.#seen.raise(byNameservice, version);
    // From a fenced NameNode it has learned nothing new.
    if (this.doubts.levelOf(row, nameservice) === Level.NOTHING) {
      this.#due.raise(byNameservice, this.#longWrittenAt[row]!);
    }
  }

  #byFile(row: number): number {
    return this.#history.client[row]! * this.#history.files + this.#history.file[row]!;
  }

  #nameOf(row: number, version: number): string {
    const nameservice = this.#history.nameserviceOf(this.#history.file[row]!);
    const write = this.#versions.writeOf(nameservice, version);
    const file = write < 0 ? '' : ` of file ${this.#history.file[write]}`;
    return `version ${version}${file} (#${write})`;
  }
}
