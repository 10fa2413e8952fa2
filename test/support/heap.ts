/** Bytes in use after the collector has done all it can; needs --expose-gc. */
export interface Used {
  readonly heap: number;
  /** Memory of buffers. */
  readonly buffers: number;
}

export async function measureUsed(): Promise<Used> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('start with --expose-gc');
  // What is freed by one collection may free more, and sockets let go of theirs in later turns.
  for (let round = 0; round < 4; round++) {
    await gc({ execution: 'async' });
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, buffers: arrayBuffers };
}
