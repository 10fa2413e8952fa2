import { expect, test } from 'vitest';
import { SATURATED_SHARE } from '../../src/load/result/result.ts';
import { CallFrames } from '../../src/load/thread/call-frames.ts';
import { type ConnectionOwner, LoadConnection } from '../../src/load/thread/connection.ts';
import { Exchange } from '../../src/load/thread/exchange.ts';
import { MixCalls } from '../../src/load/thread/mix-calls.ts';
import { PathTable } from '../../src/load/thread/path-table.ts';
import { Recorder } from '../../src/load/thread/recorder.ts';
import { encodeDelimited, messageType } from '../../src/wire/messages.ts';
import { loadPlan, TARGET } from '../support/load-thread-run.ts';

const SERVICE_MS = 300;
const END_MS = 3000;
const OWNER: ConnectionOwner = { onOpen() {}, onReply() {}, onDrained() {}, onBroken() {} };

/** Calls of a run that is measured from 1000 to 3000 ms; the times are those that the test says. */
class Calls {
  readonly recorder = new Recorder(1);
  readonly exchange: Exchange;
  readonly #connection = new LoadConnection(OWNER, 0, 0, 'alice', 1000);
  readonly #ids: number[] = [];

  constructor() {
    const plan = loadPlan({ targets: [TARGET] });
    const paths = new PathTable();
    const calls = new MixCalls(plan, 0, paths);
    const frames = new CallFrames(plan.targets, 0, paths, 'client');
    this.exchange = new Exchange(calls, frames, this.recorder, null, false, 10_000);
    this.exchange.time = { startMs: 1000, endMs: END_MS, earlyEndMs: 1200, isTimed: true };
  }

  send(dueMs: number): void {
    const { slots } = this.#connection;
    const before = new Set(slots.callIds);
    this.exchange.send(this.#connection, 0, dueMs, true);
    this.#ids.push(...[...slots.callIds].filter((id) => !before.has(id)).slice(0, 1));
    this.exchange.issue(dueMs);
  }

  /** The oldest call is answered. */
  answer(nowMs: number): void {
    const header = { callId: this.#ids.shift(), status: 'SUCCESS', serverIpcVersionNum: 9, retryCount: 0 };
    const type = messageType('hadoop.common.RpcResponseHeaderProto');
    const reply = Buffer.concat([
      encodeDelimited(type, { ...header, clientId: this.#connection.clientId }),
      Buffer.from([2, 0x08, 1]),
    ]);
    this.#connection.nowMs = nowMs;
    this.exchange.takeReply(this.#connection, reply, 0, reply.length);
  }
}

test('a call that is merely under way at the end has kept up, and one that takes longer than usual has not', () => {
  const calls = new Calls();
  const dues = Array.from({ length: 100 }, (_, index) => 1000 + index * 20);
  for (const dueMs of dues) calls.send(dueMs);
  for (const dueMs of dues.slice(0, -1)) calls.answer(dueMs + SERVICE_MS);
  calls.answer(END_MS + SERVICE_MS + 100);
  expect(calls.exchange.inFlight).toBe(0);
  expect(calls.recorder.reportCells()[0]?.successes).toBe(100);
  expect(calls.exchange).toMatchObject({ replies: 85, keptUp: 99 });
});

test('a server that is three percent too slow is saturated, though most of what is late at the end takes no longer than calls took on average', () => {
  const calls = new Calls();
  const dues = Array.from({ length: 1000 }, (_, index) => 1000 + index * 2);
  for (const dueMs of dues) calls.send(dueMs);
  // A call each 2.06 ms: what waits at the end has grown evenly, and half of it would be done within the median of all.
  for (const index of dues.keys()) calls.answer(1000 + (index + 1) * 2.06);
  expect(calls.exchange.keptUp / dues.length).toBeGreaterThan(0.97);
  expect(calls.exchange.keptUp / dues.length).toBeLessThan(SATURATED_SHARE);
});

test('a server that falls behind does not keep up, however soon it is done after the end', () => {
  const calls = new Calls();
  const dues = Array.from({ length: 100 }, (_, index) => 1000 + index * 20);
  for (const dueMs of dues) calls.send(dueMs);
  // It takes 25 ms for each call, one after the other.
  for (const index of dues.keys()) calls.answer(1000 + (index + 1) * 25);
  expect(calls.exchange.replies).toBe(79);
  expect(calls.exchange.keptUp).toBeLessThan(95);
});
