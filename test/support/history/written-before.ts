/** For each nameservice the greatest version that some writer had been told of a fixed time ago. Times come in their order. */
export class WrittenBefore {
  readonly #beforeMs: number;
  readonly #logs: readonly { readonly ms: number[]; readonly versions: number[]; at: number; greatest: number }[];

  constructor(nameservices: number, beforeMs: number) {
    this.#beforeMs = beforeMs;
    this.#logs = Array.from({ length: nameservices }, () => ({ ms: [], versions: [], at: 0, greatest: 0 }));
  }

  add(nameservice: number, ms: number, version: number): void {
    const log = this.#logs[nameservice]!;
    log.ms.push(ms);
    log.versions.push(version);
  }

  /** As it was `beforeMs` before `ms`, 0 when nothing had been written. */
  at(nameservice: number, ms: number): number {
    const log = this.#logs[nameservice]!;
    for (; log.at < log.ms.length && log.ms[log.at]! <= ms - this.#beforeMs; log.at++) {
      log.greatest = Math.max(log.greatest, log.versions[log.at]!);
    }
    return log.greatest;
  }
}
