import { type History, Kind, NO_VERSION, NO_WRITE, Outcome } from './history.ts';
import type { Report } from './report.ts';

/** Versions of one nameservice lie in one array; more than this between the first and the last means that others write there too. */
const MAX_VERSION_SPAN = 1 << 26;
/** No later version of the file. */
export const NEVER = Number.POSITIVE_INFINITY;

/**
 * The versions of each nameservice in their order, put together from what writers were told and readers saw. Known is also a write whose
 * answer was lost, once somebody has read it.
 *
 * In a forgetful nameservice only what a writer was told counts: the rest may have been seen at a fenced NameNode and be gone since.
 */
export class Versions {
  readonly #history: History;
  readonly #report: Report;
  /** Version of each write as its writer was told, or else as the first reader saw; NO_VERSION: unknown. */
  readonly #versionOf: Float64Array;
  readonly #logs: readonly Log[];

  constructor(history: History, report: Report) {
    this.#history = history;
    this.#report = report;
    this.#versionOf = new Float64Array(history.length);
    this.#collectWrites();
    this.#collectReads();
    this.#logs = history.nameservices.map((_, nameservice) => this.#makeLog(nameservice));
  }

  /** Whether the order of this version is sure: the write that made it counts, with this version. */
  isSure(write: number, version: number): boolean {
    return write >= 0 && this.#versionOf[write] === version && this.#isCounted(write);
  }

  /** The first version of the file after `version`, NEVER when there is none. */
  nextOf(file: number, version: number): number {
    return this.#logs[this.#history.nameserviceOf(file)]!.nextOf(file, version);
  }

  /** The write that made this version. */
  writeOf(nameservice: number, version: number): number {
    return this.#logs[nameservice]!.writeOf(version);
  }

  #isCounted(write: number): boolean {
    const { outcome, file, forgetful } = this.#history;
    return outcome[write] === Outcome.SUCCESS || !forgetful.has(this.#history.nameserviceOf(file[write]!));
  }

  #collectWrites(): void {
    const { length, kind, outcome, version, write } = this.#history;
    for (let row = 0; row < length; row++) {
      if (kind[row] !== Kind.WRITE || outcome[row] !== Outcome.SUCCESS) continue;
      if (write[row] !== row || version[row] === NO_VERSION) {
        this.#report.add('wrong answer', row, `the answer is of ${describeWrite(write[row]!)}`);
      } else this.#versionOf[row] = version[row]!;
    }
  }

  #collectReads(): void {
    const { length, kind, outcome, version, write, file, invokedAt, returnedAt } = this.#history;
    for (let row = 0; row < length; row++) {
      if (kind[row] !== Kind.READ || outcome[row] !== Outcome.SUCCESS || version[row] === NO_VERSION) continue;
      const by = write[row]!;
      if (by < 0 || by >= length || kind[by] !== Kind.WRITE || file[by] !== file[row]) {
        this.#report.add('wrong answer', row, `${describeWrite(by)} did not write this file`);
      } else if (invokedAt[by]! > returnedAt[row]!) {
        this.#report.add('wrong answer', row, `#${by} was written only later`);
      } else if (this.#versionOf[by] === NO_VERSION) {
        this.#versionOf[by] = version[row]!;
      } else if (this.#versionOf[by] !== version[row] && !this.#history.forgetful.has(this.#nameserviceOf(row))) {
        this.#report.add('executed twice', row, `#${by} had made version ${this.#versionOf[by]}`);
      }
    }
  }

  #makeLog(nameservice: number): Log {
    const { length, kind } = this.#history;
    const writes: number[] = [];
    let first = NEVER;
    let last = -1;
    for (let row = 0; row < length; row++) {
      const version = this.#versionOf[row]!;
      if (kind[row] !== Kind.WRITE || version === NO_VERSION || this.#nameserviceOf(row) !== nameservice) continue;
      if (!this.#isCounted(row)) continue;
      writes.push(row);
      first = Math.min(first, version);
      last = Math.max(last, version);
    }
    if (last - first > MAX_VERSION_SPAN) {
      throw new RangeError(
        `versions ${first} to ${last} of ${this.#history.nameservices[nameservice]} lie too far apart`,
      );
    }
    const log = new Log(
      this.#history.files,
      writes.length === 0 ? 0 : first,
      writes.length === 0 ? 0 : last - first + 1,
    );
    for (const row of writes) {
      const version = this.#versionOf[row]!;
      const other = log.writeOf(version);
      if (other !== NO_WRITE) this.#report.add('one version twice', row, `so was version ${version} of #${other}`);
      else log.put(version, row);
    }
    log.link(this.#history.file);
    return log;
  }

  #nameserviceOf(row: number): number {
    return this.#history.nameserviceOf(this.#history.file[row]!);
  }
}

/** Which write made each version of one nameservice, and the next version of the same file. */
class Log {
  readonly #first: number;
  /** By version - first; NO_WRITE for inodes that are none of ours. */
  readonly #writes: Int32Array;
  /** By version - first: index of the next version of the same file, or -1. */
  readonly #next: Int32Array;
  /** By file: index of its first version, or -1. */
  readonly #firstOf: Int32Array;

  constructor(files: number, first: number, versions: number) {
    this.#first = first;
    this.#writes = new Int32Array(versions).fill(NO_WRITE);
    this.#next = new Int32Array(versions).fill(-1);
    this.#firstOf = new Int32Array(files).fill(-1);
  }

  put(version: number, write: number): void {
    this.#writes[version - this.#first] = write;
  }

  writeOf(version: number): number {
    return this.#writes[version - this.#first] ?? NO_WRITE;
  }

  /** `fileOf`: the file of each write. */
  link(fileOf: Int32Array): void {
    for (let at = this.#writes.length - 1; at >= 0; at--) {
      const write = this.#writes[at]!;
      if (write === NO_WRITE) continue;
      const file = fileOf[write]!;
      this.#next[at] = this.#firstOf[file]!;
      this.#firstOf[file] = at;
    }
  }

  nextOf(file: number, version: number): number {
    const at = version === NO_VERSION ? this.#firstOf[file]! : this.#next[version - this.#first]!;
    return at < 0 ? NEVER : at + this.#first;
  }
}

function describeWrite(write: number): string {
  return write === NO_WRITE ? 'no write' : `#${write}`;
}
