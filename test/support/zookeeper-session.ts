import { EventEmitter } from 'node:events';
import type { WatchEvent } from '../../src/state-store/zookeeper/protocol.ts';
import { Session, type SessionOptions } from '../../src/state-store/zookeeper/session.ts';
import { nextEvent, waitUntil } from './wait.ts';

/** A session whose news are events: `connected` (is it new), `expired`, `watch` (event), `remark` (text). */
export class TestSession extends Session implements AsyncDisposable {
  readonly events: EventEmitter;
  readonly remarks: string[];
  readonly fired: WatchEvent[];

  constructor(servers: SessionOptions['servers'], more: Partial<SessionOptions> = {}) {
    const events = new EventEmitter();
    const remarks: string[] = [];
    const fired: WatchEvent[] = [];
    super(
      { servers, timeoutMs: 3_000, numRetries: 1_000, retryIntervalMs: 200, auth: [], ...more },
      {
        onConnected: (isNew) => events.emit('connected', isNew),
        onExpired: () => events.emit('expired'),
        onWatch: (event) => {
          fired.push(event);
          events.emit('watch', event);
        },
        onRemark: (text) => {
          remarks.push(text);
          events.emit('remark', text);
        },
      },
    );
    this.events = events;
    this.remarks = remarks;
    this.fired = fired;
  }

  /** Starts and waits for the first connection. */
  async open(): Promise<this> {
    const connected = nextEvent(this.events, 'connected', 'a session with ZooKeeper');
    this.start();
    await connected;
    return this;
  }

  /** Waits for a remark that was made or will be. */
  async remark(pattern: RegExp): Promise<string> {
    return await waitUntil(() => this.remarks.find((text) => pattern.test(text)), `a remark ${pattern}`);
  }

  /** Waits for an event that has fired or will. */
  async watchFired(path: string): Promise<WatchEvent> {
    return await waitUntil(() => this.fired.find((event) => event.path === path), `a watch of ${path} fires`);
  }

  async read(path: string, watch = false): Promise<string> {
    return await this.getData(path, watch, ({ data }) => data.toString());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
