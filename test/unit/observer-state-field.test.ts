import { beforeEach, describe, expect, it } from 'vitest';
import { type Call, CallPool } from '../../src/call/call.ts';
import { EarlierStates } from '../../src/observer/earlier-states.ts';
import type { ObserverReads } from '../../src/observer/observer-reads.ts';
import { Answer, NO_TXID, Proof, State } from '../../src/observer/rules.ts';
import { StateWords, stateBytes } from '../../src/observer/shared/state-words.ts';
import { StateField } from '../../src/observer/state-field.ts';
import { decodePlain, encode, messageType } from '../../src/wire/messages.ts';

/** The state ids in an answer: which, in which order, and how many. */

const STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const HEADER = messageType('hadoop.common.RpcResponseHeaderProto');
const NAMESERVICES = 8;
/** ns7 takes no part. */
const ENABLED = Array.from({ length: NAMESERVICES }, (_, n) => n !== 7);
const MAX_STATE_IDS = 3;

let words: StateWords;
let call: Call;

beforeEach(() => {
  words = new StateWords(new SharedArrayBuffer(stateBytes(NAMESERVICES)), NAMESERVICES);
  call = new CallPool().take();
});

/** What the router knows of a nameservice. */
function know(nameservice: number, txid: number): void {
  const answer = Object.assign(new Answer(), { namenode: 0, proof: Proof.ACTIVE, txid });
  const state = words.read(nameservice, new State());
  answer.sentEpoch = state.epoch;
  words.merge(nameservice, answer, 1, 1, state);
}

function makeField(maxStateIds = MAX_STATE_IDS): StateField {
  const settings = { enabled: ENABLED, maxStateIds, refreshMs: 15_000, patienceMs: 2000 };
  const observers = { settings, shared: words } as unknown as ObserverReads;
  return new StateField(observers, {
    nameservices: Array.from({ length: NAMESERVICES }, (_, n) => ({ id: `ns${n}`, namenodes: [] })),
  });
}

/** The field for the answer to `call`, in the order of its bytes; null: the header has none. */
function write(field = makeField()): [name: string, txid: number][] | null {
  const bytes = field.write(call);
  expect(bytes).toBe(field.end - field.start);
  const required = encode(HEADER, { callId: 1, status: 'SUCCESS' });
  const header = decodePlain(HEADER, Buffer.concat([required, field.bytes.subarray(field.start, field.end)]));
  const state = header['routerFederatedState'] as Buffer | undefined;
  if (state === undefined) return null;
  const { namespaceStateIds = {} } = decodePlain(STATE, state);
  return Object.entries(namespaceStateIds as Record<string, number>);
}

/** What the client of `call` has seen. */
function bring(...stateIds: [name: string, stateId: number | bigint][]): void {
  bringBytes(Buffer.concat(stateIds.map(([name, id]) => encode(STATE, { namespaceStateIds: { [name]: id } }))));
}

function bringBytes(state: Buffer): void {
  call.frame = Buffer.concat([Buffer.alloc(5, 0x0a), state, Buffer.alloc(5, 0x0a)]);
  call.start = 2;
  call.end = call.frame.length;
  call.fields.federatedStart = 3;
  call.fields.federatedEnd = 3 + state.length;
}

describe('the field of an answer', () => {
  it('is there and empty when nothing is known', () => {
    expect(write()).toEqual([]);
    call.nameservice = 2;
    expect(write()).toEqual([]);
    bring(['ns1', 5]);
    expect(write()).toEqual([]);
  });

  it('has what the call’s nameservice told it, which may be less than is known', () => {
    know(1, 100);
    call.nameservice = 1;
    call.noteState(1, 90);
    expect(write()).toEqual([['ns1', 90]]);
  });

  it('has what is known of the nameservice of a call that was told nothing', () => {
    know(1, 100);
    call.nameservice = 1;
    expect(write()).toEqual([['ns1', 100]]);
  });

  it('has the largest of what several parts were told of a nameservice', () => {
    for (const txid of [7, 9, 8]) call.noteState(3, txid);
    for (const txid of [5, 4]) call.noteState(2, txid);
    expect(write()).toEqual([
      ['ns3', 9],
      ['ns2', 5],
    ]);
  });

  it('has all nameservices that answered, however many, and no others then', () => {
    for (let n = 0; n < NAMESERVICES - 1; n++) {
      know(n, 100 + n);
      call.noteState(n, 100 + n);
    }
    expect(write()).toHaveLength(NAMESERVICES - 1);
    expect(write(makeField(0))).toHaveLength(NAMESERVICES - 1);
  });

  it('has those that the client brought, up to the limit, in its order, after those that answered', () => {
    for (let n = 0; n < NAMESERVICES - 1; n++) know(n, 100 + n);
    call.noteState(4, 104);
    bring(['ns2', 50], ['ns4', 60], ['ns0', 51], ['ns1', 52], ['ns3', 53]);
    expect(write()).toEqual([
      ['ns4', 104],
      ['ns2', 50],
      ['ns0', 51],
    ]);
    expect(write(makeField(1))).toEqual([['ns4', 104]]);
    expect(write(makeField(100))).toHaveLength(5);
  });

  it('has the only one that the client brought, of another nameservice or of the call’s own', () => {
    for (const n of [0, 1]) know(n, 100 + n);
    call.nameservice = 1;
    call.noteState(1, 101);
    bring(['ns0', 50]);
    expect(write()).toEqual([
      ['ns1', 101],
      ['ns0', 50],
    ]);
    bring(['ns1', 60]);
    call.floor = 60;
    expect(write()).toEqual([['ns1', 101]]);
    bring(['ns1', 60], ['ns0', 50]);
    expect(write()).toHaveLength(2);
  });

  it('does not confirm more than is known, nor what nobody knows', () => {
    know(0, 100);
    bring(['ns0', 2 ** 45], ['ns1', 5], ['ns2', -1], ['elsewhere', 5], ['', 5]);
    expect(write()).toEqual([['ns0', 100]]);
  });

  it('has nothing of a nameservice that takes no part', () => {
    know(7, 100);
    call.nameservice = 7;
    call.noteState(7, 100);
    bring(['ns7', 50]);
    expect(write()).toEqual([]);
  });

  it('has each nameservice once, the first value when the client brought it twice', () => {
    know(0, 100);
    bring(['ns0', 5], ['ns0', 6]);
    expect(write()).toEqual([['ns0', 5]]);
  });

  it.each([
    ['cannot be read', Buffer.from('0a0a', 'hex')],
    ['is too long', Buffer.alloc(65_537, Buffer.from('1801', 'hex'))],
    ['has too many entries', Buffer.alloc(2 * 1025, Buffer.from('1801', 'hex'))],
  ])('has only the nameservices that answered when what the client brought %s', (_name, state) => {
    know(0, 100);
    call.noteState(0, 100);
    bringBytes(state);
    expect(write(makeField(100))).toEqual([['ns0', 100]]);
  });

  it('has room for the largest state ids of all', () => {
    const field = makeField(100);
    for (let n = 0; n < NAMESERVICES - 1; n++) call.noteState(n, 2 ** 48 - 2);
    expect(write(field)).toHaveLength(NAMESERVICES - 1);
    expect(field.start).toBeGreaterThanOrEqual(0);
    expect(field.end).toBeLessThanOrEqual(field.bytes.length);
  });
});

describe('what was known earlier', () => {
  const PERIOD_MS = 1000;
  const stateOf = (epoch: number, txid: number): State => Object.assign(new State(), { epoch, txid });

  it('is told until the period is over, and then what is known by then', () => {
    const earlier = new EarlierStates(2, PERIOD_MS);
    expect(earlier.of(0, stateOf(1, 100), 5000)).toBe(100);
    expect(earlier.of(0, stateOf(1, 200), 5999)).toBe(100);
    expect(earlier.of(1, stateOf(1, 300), 5999)).toBe(300);
    expect(earlier.of(0, stateOf(1, 250), 6000)).toBe(250);
    expect(earlier.of(0, stateOf(1, 260), 6500)).toBe(250);
  });

  it('is nothing of an earlier epoch', () => {
    const earlier = new EarlierStates(1, PERIOD_MS);
    expect(earlier.of(0, stateOf(1, 100), 5000)).toBe(100);
    expect(earlier.of(0, stateOf(2, 90), 5001)).toBe(90);
    expect(earlier.of(0, stateOf(3, NO_TXID), 5002)).toBe(NO_TXID);
    expect(earlier.of(0, stateOf(0, 7), 5003)).toBe(7);
  });

  it('is nothing when the period is unlimited, and what is known now when it is 0', () => {
    expect(new EarlierStates(1, -1).of(0, stateOf(1, 100), 5000)).toBe(NO_TXID);
    const always = new EarlierStates(1, 0);
    for (let txid = 1; txid < 5; txid++) expect(always.of(0, stateOf(1, txid), 5000)).toBe(txid);
  });
});
