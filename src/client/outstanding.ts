/** Calls of one acceptor that are at workers and not yet answered; beyond it clients are not read from. */
export const MAX_OUTSTANDING = 262_144;
const GROW = 4096;

/**
 * The acceptor's table of outstanding calls: who asked what of which worker. A slot is taken when a call is handed over and freed by the one
 * answer to it, so when a worker dies exactly its calls can be answered. Columns, not objects: nothing is allocated per call.
 */
export class Outstanding {
  connection = new Int32Array(GROW);
  generation = new Int32Array(GROW);
  callId = new Int32Array(GROW);
  retryCount = new Int32Array(GROW);
  /** Worker that has it, -1 for a free slot. */
  worker = new Int32Array(GROW).fill(-1);
  #next = new Int32Array(GROW);
  #free = -1;
  #made = 0;
  count = 0;

  /** A free slot, or -1 when the table is full. */
  take(connection: number, generation: number, callId: number, retryCount: number, worker: number): number {
    let slot = this.#free;
    if (slot >= 0) this.#free = this.#next[slot] as number;
    else if (this.#made < this.worker.length) slot = this.#made++;
    else if (this.worker.length < MAX_OUTSTANDING) {
      this.#grow();
      slot = this.#made++;
    } else return -1;
    this.connection[slot] = connection;
    this.generation[slot] = generation;
    this.callId[slot] = callId;
    this.retryCount[slot] = retryCount;
    this.worker[slot] = worker;
    this.count++;
    return slot;
  }

  isTakenBy(slot: number, connection: number, generation: number, worker: number): boolean {
    return (
      slot >= 0 &&
      slot < this.#made &&
      this.worker[slot] === worker &&
      this.connection[slot] === connection &&
      this.generation[slot] === generation
    );
  }

  give(slot: number): void {
    this.worker[slot] = -1;
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.count--;
  }

  /** Slots of a worker; for its death. */
  slotsOf(worker: number): number[] {
    const slots: number[] = [];
    for (let slot = 0; slot < this.#made; slot++) if (this.worker[slot] === worker) slots.push(slot);
    return slots;
  }

  #grow(): void {
    const length = Math.min(this.worker.length * 2, MAX_OUTSTANDING);
    this.connection = grown(this.connection, length);
    this.generation = grown(this.generation, length);
    this.callId = grown(this.callId, length);
    this.retryCount = grown(this.retryCount, length);
    const known = this.worker.length;
    this.worker = grown(this.worker, length);
    this.worker.fill(-1, known);
    this.#next = grown(this.#next, length);
  }
}

function grown(from: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(length);
  to.set(from);
  return to;
}
