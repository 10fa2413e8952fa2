import type { Message } from 'protobufjs';
import type { ExpirySettings } from '../../config/store-settings.ts';
import { RECORD_TYPES } from '../../state-store/records.ts';
import { decode, encode, messageType } from '../../wire/messages.ts';
import type { StoreClock } from './store-clock.ts';
import type { Stored, StoreRecords } from './stored.ts';

/** The record types that grow old. */
export type ExpiringType = 'MembershipState' | 'RouterState';

/** What the store is to be told about a record's age. */
export interface ExpiryChange {
  readonly type: ExpiringType;
  readonly name: string;
  /** Of the copy that was judged: no later one may be overwritten. */
  readonly version: number;
  /** The record as expired; null: it is to be deleted. */
  readonly bytes: Buffer | null;
}

interface Sighting {
  bytes: Buffer;
  /** When the record was seen to have changed, on the steady clock; null: not yet. */
  changedMs: number | null;
}

/**
 * Ages of the records of one type, as the Java Router counts them: what was not written for `expirationMs` is expired, `deletionMs` later it is
 * deleted. Their dates come from other machines' clocks, which may be minutes off. So a record that was seen to change lately, on the own
 * steady clock, is alive whatever its date says, and the store is told of an age only when a second look shows the same record: no
 * heartbeat of a living router is overwritten.
 */
export class Expiry<K extends ExpiringType> {
  readonly #type: K;
  readonly #settings: ExpirySettings;
  readonly #isOwn: (record: StoreRecords[K]) => boolean;
  readonly #clock: StoreClock;
  /** By name in the store; only names of the last look. */
  #sightings = new Map<string, Sighting>();
  #next = new Map<string, Sighting>();
  #changes: ExpiryChange[] = [];

  /** `isOwn`: this router's own records do not age, it is alive. */
  constructor(type: K, settings: ExpirySettings, isOwn: (record: StoreRecords[K]) => boolean, clock: StoreClock) {
    this.#type = type;
    this.#settings = settings;
    this.#isOwn = isOwn;
    this.#clock = clock;
  }

  /** Judges one record of the load under way. */
  readonly judge = (stored: Stored<StoreRecords[K]>): Stored<StoreRecords[K]> | null => {
    const sighting = this.#see(stored);
    if (this.#isOwn(stored.record)) return stored;
    const { expirationMs, deletionMs } = this.#settings;
    const { dateModified } = stored.record;
    const pastMs = this.#clock.wallMs() - (dateModified + expirationMs);
    const isAlive = sighting.changedMs !== null && this.#clock.steadyMs() - sighting.changedMs <= expirationMs;
    const isSettled = this.#sightings.has(stored.raw.name) && !isAlive;
    const { name, version } = stored.raw;
    if (stored.isExpired) {
      if (!(deletionMs > 0 && pastMs > deletionMs)) return stored;
      if (isSettled) this.#changes.push({ type: this.#type, name, version, bytes: null });
      return null;
    }
    if (isAlive || expirationMs <= 0 || dateModified <= 0 || pastMs <= 0) return stored;
    const record = expired(this.#type, stored.record);
    if (isSettled) this.#changes.push({ type: this.#type, name, version, bytes: writeExpired(this.#type, stored) });
    return { ...stored, record, isExpired: true };
  };

  /** After all records of a load were judged: what the store is to be told. */
  endLoad(): ExpiryChange[] {
    this.#sightings = this.#next;
    this.#next = new Map();
    return this.#changes.splice(0);
  }

  #see({ raw, isExpired }: Stored<StoreRecords[K]>): Sighting {
    const { name, bytes } = raw;
    const before = this.#sightings.get(name);
    let changedMs = before?.changedMs ?? null;
    // The mark of another router is no sign of life.
    if (before !== undefined && !isExpired && !before.bytes.equals(bytes)) changedMs = this.#clock.steadyMs();
    if (isExpired) changedMs = null;
    const sighting = { bytes, changedMs };
    this.#next.set(name, sighting);
    return sighting;
  }
}

function expired<K extends ExpiringType>(type: K, record: StoreRecords[K]): StoreRecords[K] {
  return { ...record, ...(type === 'RouterState' ? { status: 'EXPIRED' } : { state: 'EXPIRED' }) };
}

/** The record's own bytes with the mark, and with the dates by which it was judged; fields unknown to this build stay. */
function writeExpired<K extends ExpiringType>(type: K, { raw, record }: Stored<StoreRecords[K]>): Buffer {
  const messageOf = messageType(RECORD_TYPES[type]);
  const message = decode(messageOf, raw.bytes) as Message & Record<string, unknown>;
  message[type === 'RouterState' ? 'status' : 'state'] = 'EXPIRED';
  message['dateCreated'] = record.dateCreated;
  message['dateModified'] = record.dateModified;
  return encode(messageOf, message);
}
