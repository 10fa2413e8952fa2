import dns, { type LookupAddress, type LookupOptions } from 'node:dns';

/** What was found longer ago is looked up again beside its use. */
const REFRESH_MS = 10_000;
/** How long a new lookup is waited for where there is an older answer. */
const PATIENCE_MS = 500;

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;
/** As `dns.lookup` with the option `all`. */
export type Lookup = (
  host: string,
  found: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface Waiter {
  readonly options: LookupOptions;
  readonly found: Found;
}

/** The system's resolver: hosts file, DNS. It takes a thread of libuv's pool for as long as it takes. */
const askSystem: Lookup = (host, found) => dns.lookup(host, { all: true }, found);

/**
 * The addresses of one NameNode's host name, for `net.connect`. One lookup at a time, whoever asks: a resolver that is slow with this name
 * takes one thread of the pool and no more. What was found is used until a connection fails (`invalidate`); then the name is looked up again,
 * and the older answer counts when the resolver has none, or is not quick. So a NameNode that has moved is found, and one that has not is
 * reached while the resolver is down.
 */
export class HostAddress {
  readonly host: string;
  readonly #ask: Lookup;
  #known: LookupAddress[] = [];
  /** No connection to what is known has failed. */
  #isGood = false;
  #foundMs = 0;
  #asking = false;
  /** Bounded by the connections that may be opening to the NameNode at a time, and its probes. */
  #waiters: Waiter[] = [];
  #patience: NodeJS.Timeout | null = null;

  constructor(host: string, ask: Lookup = askSystem) {
    this.host = host;
    this.#ask = ask;
  }

  /** A connection could not be made, or the NameNode hangs: it may be elsewhere. */
  invalidate(): void {
    this.#isGood = false;
  }

  /** The option `lookup` of `net.connect`, which does not ask for addresses written as such. */
  readonly lookup = (_host: string, options: LookupOptions, found: Found): void => {
    if (this.#isGood) {
      this.#tell({ options, found });
      if (performance.now() - this.#foundMs >= REFRESH_MS) this.#start();
      return;
    }
    this.#waiters.push({ options, found });
    this.#start();
    if (this.#known.length > 0 && this.#patience === null) {
      this.#patience = setTimeout(() => this.#tellAll(null), PATIENCE_MS);
    }
  };

  #start(): void {
    if (this.#asking) return;
    this.#asking = true;
    this.#ask(this.host, (error, addresses) => {
      this.#asking = false;
      if (error === null && addresses.length > 0) {
        this.#known = addresses;
        this.#foundMs = performance.now();
        this.#isGood = true;
      }
      this.#tellAll(error);
    });
  }

  #tellAll(error: NodeJS.ErrnoException | null): void {
    if (this.#patience !== null) clearTimeout(this.#patience);
    this.#patience = null;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (let i = 0; i < waiters.length; i++) {
      const waiter = waiters[i] as Waiter;
      if (this.#known.length > 0) this.#tell(waiter);
      else waiter.found(error ?? notFound(this.host), []);
    }
  }

  #tell({ options, found }: Waiter): void {
    const known = this.#known;
    if (options.all === true) found(null, known);
    else found(null, (known[0] as LookupAddress).address, (known[0] as LookupAddress).family);
  }
}

/** As the system's resolver says it; for one that finds no address and no error. */
function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
}
