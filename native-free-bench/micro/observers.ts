/**
 * What reads from observers cost each call beside all else, for clients that know one and three nameservices: their state id is looked for in
 * what they bring, the observer is chosen, the answer's state id is merged into what all workers know, and the client is told. Beside that
 * what protobufjs takes for the messages, and a word of 64 bits that holds the largest state id and nothing else.
 */

import { type Call, CallPool } from '../../src/call/call.ts';
import { Client } from '../../src/call/client.ts';
import { Engine } from '../../src/call/engine.ts';
import type { Method } from '../../src/call/method.ts';
import { METHODS, methodIndex } from '../../src/call/methods.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { AcceptorLink } from '../../src/handoff/link.ts';
import type { ConnectionGroup } from '../../src/namenode/group.ts';
import type { ObserverReads } from '../../src/observer/observer-reads.ts';
import { Answer, exposed, isOlder, NO_TXID, Proof, State, Way, wayOf } from '../../src/observer/rules.ts';
import { createObserverMemory, openObserverMemory } from '../../src/observer/shared/memory.ts';
import type { StateWords } from '../../src/observer/shared/state-words.ts';
import { StateField } from '../../src/observer/state-field.ts';
import { createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';
import { Counters, createCounters } from '../../src/shared/counters.ts';
import type { Topology } from '../../src/shared/settings.ts';
import { findStateId } from '../../src/wire/federated-state.ts';
import { messageType } from '../../src/wire/messages.ts';
import { ReplyScan } from '../../src/wire/reply-scan.ts';
import { Wide } from '../../src/wire/varint.ts';
import { bytesField, numberField } from '../harness/frames.ts';
import { expect, type OpenSubjects, type Subject } from './subject.ts';

const NAMES = ['warehouse-east', 'warehouse-west', 'archive'] as const;
/** The calls go to this one. */
const NAMESERVICE = 1;
const ACTIVE = 0;
const OBSERVERS = 2;
const TXID = 2 ** 33 + 12_345;
const REFRESH_MS = 15_000;
const FEDERATED_STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const NO_LINK: AcceptorLink = { acceptor: 0, reply: () => true, flush: () => {} };
const KEYS = { 'dfs.federation.router.observer.read.default': 'true' };

/** `namespaceStateIds` with the same state id for each nameservice. */
function stateOf(names: readonly string[], txid: number): Buffer {
  return Buffer.concat(names.map((name) => bytesField(1, Buffer.concat([bytesField(1, name), numberField(2, txid)]))));
}

/** A worker's part of it, whose NameNodes take every call and are never connected, and the call of a client that knows these nameservices. */
class Reads {
  readonly engine: Engine;
  readonly observers: ObserverReads;
  readonly words: StateWords;
  readonly field: StateField;
  readonly call: Call = new CallPool().take();
  readonly scan = new ReplyScan();
  readonly #answer = new Answer();
  readonly #state = new State();
  readonly #name = Buffer.from(NAMES[NAMESERVICE]);
  readonly #wide = new Wide();
  /** What the answers tell; only ever raised. */
  txid = TXID;

  constructor(names: readonly string[]) {
    const topology: Topology = {
      nameservices: NAMES.map((id) => ({
        id,
        namenodes: Array.from({ length: 1 + OBSERVERS }, (_, i) => ({
          id: `nn${i}`,
          host: '127.0.0.1',
          port: 8020 + i,
        })),
      })),
    };
    const overrides = Object.entries(KEYS).map(([key, value]) => ({ key, value, origin: 'bench' }));
    const configuration = new Configuration({ directory: null, overrides });
    const settings = readSettings(configuration, topology, { HADOOP_USER_NAME: 'router' });
    const memory = openObserverMemory(createObserverMemory(settings, topology, 1), topology, 0);
    const control = createControlBlock(NAMES.length);
    this.engine = new Engine(settings, topology, control, new Counters(createCounters(1), 0), () => {}, memory);
    this.observers = this.engine.observers as ObserverReads;
    this.words = this.observers.shared;
    this.field = new StateField(this.observers, topology);
    for (let i = 1; i <= OBSERVERS; i++) this.engine.block.setState(NAMESERVICE, i, NameNodeState.OBSERVER);
    const group = { send: () => {} } as unknown as ConnectionGroup;
    this.engine.pool.groupOf = () => group;
    this.#makeCall(stateOf(names, TXID));
    for (let n = 0; n < NAMES.length; n++) this.#prove(n);
  }

  #makeCall(state: Buffer): void {
    const { call, engine } = this;
    const identity = { user: 'alice', realUser: '', address: '10.20.30.40', port: 45_678 };
    call.client = new Client(NO_LINK, 0, 1, identity, engine.pool.userOf('alice'));
    call.method = METHODS[methodIndex(0, 'getFileInfo')] as Method;
    engine.assign(call, NAMESERVICE);
    call.start = call.slabStart;
    call.fields.federatedStart = 20;
    call.fields.federatedEnd = 20 + state.copy(call.frame, call.start + 20);
    this.scan.hasStateId = true;
    this.answerWith(TXID);
  }

  /** The active has answered a change. */
  #prove(nameservice: number): void {
    const answer = Object.assign(new Answer(), { namenode: ACTIVE, proof: Proof.ACTIVE, txid: TXID });
    const { stamp } = this.engine.clock;
    const state = new State();
    this.words.merge(nameservice, answer, stamp, stamp, state);
    this.words.prove(nameservice, stamp);
    this.#answer.sentEpoch = state.epoch;
  }

  answerWith(txid: number): void {
    this.scan.stateIdHigh = Math.floor(txid / 2 ** 32);
    this.scan.stateIdLow = txid | 0;
  }

  /** The client's state id for the nameservice. */
  find(): number {
    const { frame, start, fields } = this.call;
    const wide = this.#wide;
    const end = start + fields.federatedEnd;
    if (!findStateId(frame, start + fields.federatedStart, end, this.#name, wide)) return NO_TXID;
    return wide.high * 2 ** 32 + (wide.low >>> 0);
  }

  /** True: it changed. */
  merge(txid: number): boolean {
    const answer = this.#answer;
    const { stamp } = this.engine.clock;
    answer.namenode = 1;
    answer.proof = Proof.OBSERVER;
    answer.txid = txid;
    return this.words.merge(NAMESERVICE, answer, stamp, stamp, this.#state);
  }

  /** As for a call that has just come. */
  reset(): Call {
    const { call } = this;
    call.tried = 0;
    call.leavesObservers = false;
    call.observersTried = 0;
    call.refreshWaits = 0;
    call.seenNameservice = -1;
    call.seenTxid = -1;
    return call;
  }

  /** The rules and what they need, from the client's bytes to the bytes that it gets; 0: it would not go to an observer. */
  ruled(txid: number): number {
    const call = this.reset();
    const { words } = this;
    call.floor = this.find();
    const state = words.read(NAMESERVICE, this.#state);
    const isFresh = words.ageOf(NAMESERVICE, this.engine.clock.stampOf(call.startedMs)) <= REFRESH_MS;
    if (wayOf(state, call.floor, isFresh) !== Way.OBSERVER) return 0;
    if (isOlder(Proof.OBSERVER, txid, call.floor)) return 0;
    this.merge(txid);
    call.noteState(NAMESERVICE, exposed(state, Proof.OBSERVER, txid, call.floor, NO_TXID));
    return this.field.write(call);
  }

  decide(): boolean {
    return this.observers.takes(this.reset());
  }

  /** All that happens, as the engine has it done: also the choice of the observer, the queue for its patience, the figures. */
  whole(): number {
    const { observers, scan } = this;
    const call = this.reset();
    if (!observers.takes(call)) return 0;
    observers.onWritten(call);
    const isAnswer = observers.onSuccess(call, scan);
    observers.onReleased(call);
    return isAnswer ? this.field.write(call) : 0;
  }

  /** Each operation does what it is timed for. */
  check(): void {
    expect(this.find() === TXID, 'the state id is not found');
    expect(this.decide() && this.call.asObserver, 'the call does not go to an observer');
    expect(!this.merge(TXID) && this.merge(++this.txid), 'the merge is wrong');
    expect(this.words.read(NAMESERVICE, new State()).txid === this.txid, 'the merge does not raise');
    const { federatedStart, federatedEnd } = this.call.fields;
    for (const bytes of [this.ruled(TXID), this.whole()]) {
      expect(bytes === 2 + federatedEnd - federatedStart, 'the client is told something else');
    }
  }
}

export function observerSubjects(): OpenSubjects {
  const one = new Reads([NAMES[NAMESERVICE]]);
  const three = new Reads(NAMES);
  one.check();
  three.check();
  return {
    subjects: [...partsOf(one), ...fieldsOf(one, 1), ...fieldsOf(three, 3), ...wholesOf(one, 1), ...wholesOf(three, 3)],
    async [Symbol.asyncDispose](): Promise<void> {
      one.engine.close();
      three.engine.close();
    },
  };
}

function partsOf(reads: Reads): Subject[] {
  const word = new BigInt64Array(new SharedArrayBuffer(8));
  /** The largest so far. */
  const raiseWord = (txid: bigint): number => {
    for (let at = Atomics.load(word, 0); txid > at; ) {
      const found = Atomics.compareExchange(word, 0, at, txid);
      if (found === at) return 2;
      at = found;
    }
    return 1;
  };
  return [
    {
      name: 'observer read: way and choice of the observer',
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += reads.decide() ? 1 : -times;
        return sum;
      },
    },
    {
      name: 'observer read: max-merge of an answer, nothing new',
      run: (times) => {
        let sum = 1;
        for (let i = 0; i < times; i++) sum += reads.merge(TXID) ? -times : 1;
        return sum;
      },
      alternative: {
        name: 'BigInt64Array, load',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += raiseWord(0n);
          return sum;
        },
      },
    },
    {
      name: 'observer read: max-merge of an answer, raised',
      run: (times) => {
        let sum = 1;
        for (let i = 0; i < times; i++) sum += reads.merge(++reads.txid) ? 1 : -times;
        return sum;
      },
      alternative: {
        name: 'BigInt64Array, load and compare-exchange',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += raiseWord(BigInt(++reads.txid));
          return sum;
        },
      },
    },
  ];
}

function fieldsOf(reads: Reads, nameservices: number): Subject[] {
  const state = stateOf(NAMES.slice(0, nameservices), TXID);
  const decode = (): number =>
    Object.keys((FEDERATED_STATE.decode(state) as unknown as Decoded).namespaceStateIds).length;
  const encode = (txid: number): number => {
    const namespaceStateIds = Object.fromEntries(NAMES.slice(0, nameservices).map((name) => [name, txid]));
    return FEDERATED_STATE.encode({ namespaceStateIds } as object as never).finish().length;
  };
  expect(decode() === nameservices && encode(TXID) === state.length, 'protobufjs reads or writes another state');
  return [
    {
      name: `observer read: state id of the client, of ${nameservices}`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += reads.find();
        return sum;
      },
      alternative: {
        name: `protobufjs decodes the state of ${nameservices}`,
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += decode();
          return sum;
        },
      },
    },
    {
      name: `observer read: field of the answer, of ${nameservices}`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += reads.field.write(reads.call);
        return sum;
      },
      alternative: {
        name: `protobufjs encodes the state of ${nameservices}`,
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += encode(TXID);
          return sum;
        },
      },
    },
  ];
}

interface Decoded {
  readonly namespaceStateIds: object;
}

function wholesOf(reads: Reads, nameservices: number): Subject[] {
  return [
    {
      name: `observer read of ${nameservices}: state id, way, max-merge, field; nothing new`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += reads.ruled(TXID);
        return sum;
      },
    },
    {
      name: `observer read of ${nameservices}: state id, way, max-merge, field; raised`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) sum += reads.ruled(++reads.txid);
        return sum;
      },
    },
    {
      name: `observer read of ${nameservices}: all that happens, nothing new`,
      run: (times) => {
        let sum = 0;
        reads.answerWith(TXID);
        for (let i = 0; i < times; i++) sum += reads.whole();
        return sum;
      },
    },
    {
      name: `observer read of ${nameservices}: all that happens, raised`,
      run: (times) => {
        let sum = 0;
        for (let i = 0; i < times; i++) {
          reads.answerWith(++reads.txid);
          sum += reads.whole();
        }
        return sum;
      },
    },
  ];
}
