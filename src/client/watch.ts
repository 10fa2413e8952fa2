import { Counter } from '../shared/counters.ts';
import type { Settings } from '../shared/settings.ts';
import { type ClientConnection, ClientState } from './connection.ts';

/** Connections looked at in one sweep: a million of them take sixteen sweeps, not one long turn. */
const LOOKED_AT = 65_536;

/** Finds, every now and then, the connections that have become idle or owe something for too long. */
export class Watch {
  readonly #settings: Settings;
  #next = 0;
  #lastIdleScanMs = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Once a second; `open` of `connections` are not null. */
  look(connections: readonly (ClientConnection | null)[], open: number, nowMs: number): void {
    this.#closeOverdue(connections, nowMs);
    if (nowMs - this.#lastIdleScanMs < this.#settings.idleScanMs) return;
    this.#lastIdleScanMs = nowMs;
    this.#closeIdle(connections, open, nowMs);
  }

  #closeOverdue(connections: readonly (ClientConnection | null)[], nowMs: number): void {
    const count = Math.min(connections.length, LOOKED_AT);
    for (let i = 0; i < count; i++) {
      if (this.#next >= connections.length) this.#next = 0;
      connections[this.#next++]?.checkOverdue(nowMs);
    }
  }

  /** As a Java server: only with many connections, a few at a time, only those without a call. */
  #closeIdle(connections: readonly (ClientConnection | null)[], open: number, nowMs: number): void {
    const { idleKillMax, idleThreshold, idleMs } = this.#settings;
    let left = Math.min(idleKillMax, open - idleThreshold + 1);
    for (let id = 0; id < connections.length && left > 0; id++) {
      const connection = connections[id];
      if (connection === null || connection === undefined || connection.inFlight > 0) continue;
      if (connection.state === ClientState.CLOSED || nowMs - connection.lastContactMs < idleMs) continue;
      connection.close('idle', Counter.idleClientsClosed);
      left--;
    }
  }
}
