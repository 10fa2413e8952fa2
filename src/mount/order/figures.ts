/** What the orders LOCAL and SPACE choose by. Nameservices are indexes into Topology.nameservices. */
export interface OrderFigures {
  /** Nameservice of the NameNode or DataNode at an address, in the form of ClientIdentity; -1 when there is none. */
  nameserviceOfClient(address: string): number;
  /** Bytes that are free in a nameservice; -1 when unknown. */
  availableBytes(nameservice: number): number;
}

/** Nothing is known: both orders become the order of the record. */
export const NO_FIGURES: OrderFigures = {
  nameserviceOfClient: () => -1,
  availableBytes: () => -1,
};

/** Figures as plain data, to be posted between threads. Of two pairs with the same first value the later counts. */
export interface FigureData {
  /** Address of a NameNode or DataNode, its nameservice's id. */
  readonly clients: readonly (readonly [address: string, nameserviceId: string])[];
  /** Nameservice's id, free bytes. */
  readonly available: readonly (readonly [nameserviceId: string, bytes: number])[];
}

/** Addresses kept; those beyond are as unknown ones. */
export const MAX_CLIENT_ADDRESSES = 1 << 17;

/** Figures that were given; fixed. */
export class GivenFigures implements OrderFigures {
  readonly #clients = new Map<string, number>();
  readonly #availableBytes: Float64Array;

  /**
   * `nameserviceIds`: those of the topology, in its order. Pairs of other nameservices are passed over, and a number of bytes that is none
   * (negative, not finite) means unknown.
   */
  constructor(data: FigureData, nameserviceIds: readonly string[], maxClientAddresses = MAX_CLIENT_ADDRESSES) {
    const indexes = new Map<string, number>();
    for (let i = 0; i < nameserviceIds.length; i++) indexes.set(nameserviceIds[i] as string, i);
    for (const [address, id] of data.clients) {
      const nameservice = indexes.get(id);
      if (nameservice === undefined) continue;
      if (this.#clients.size < maxClientAddresses || this.#clients.has(address))
        this.#clients.set(address, nameservice);
    }
    this.#availableBytes = new Float64Array(nameserviceIds.length).fill(-1);
    for (const [id, bytes] of data.available) {
      const nameservice = indexes.get(id);
      if (nameservice !== undefined) this.#availableBytes[nameservice] = bytes >= 0 && bytes < Infinity ? bytes : -1;
    }
  }

  nameserviceOfClient(address: string): number {
    return this.#clients.get(address) ?? -1;
  }

  /** Nameservices outside the topology are unknown. */
  availableBytes(nameservice: number): number {
    return this.#availableBytes[nameservice] ?? -1;
  }
}
