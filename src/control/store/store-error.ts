/** The Java class by which routers and tools know that the State Store could not be asked. */
export const STORE_UNAVAILABLE_CLASS = 'org.apache.hadoop.hdfs.server.federation.store.StateStoreUnavailableException';

/** The State Store has not been read yet, does not answer, or refuses; the message names the remedy. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
  readonly javaClass = STORE_UNAVAILABLE_CLASS;
}

/** Settles as `work` does, or rejects after `limitMs`; `work` goes on, and nobody hears of its end. */
export async function withDeadline<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new StoreUnavailableError(what)), limitMs);
  timer.unref();
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
