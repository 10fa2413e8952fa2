/**
 * What reads from observers cost each call beside all else: the client's state id is looked for in what it brings for three nameservices, the
 * observer is chosen, the answer's state id is merged into what all workers know, and the client is told. Beside that what protobufjs and
 * a word of 64 bits take for the same.
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
import { Answer, Proof, State } from '../../src/observer/rules.ts';
import { createObserverMemory, openObserverMemory } from '../../src/observer/shared/memory.ts';
import { StateField } from '../../src/observer/state-field.ts';
import { createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';
import { Counters, createCounters } from '../../src/shared/counters.ts';
import { findStateId } from '../../src/wire/federated-state.ts';
import { messageType } from '../../src/wire/messages.ts';
import { ReplyScan } from '../../src/wire/reply-scan.ts';
import { Wide } from '../../src/wire/varint.ts';
import { bytesField, numberField } from '../harness/frames.ts';
import { expect, type OpenSubjects } from './subject.ts';

const NAMES = ['warehouse-east', 'warehouse-west', 'archive'] as const;
/** The calls go to this one, the second of those in a client's state. */
const NAMESERVICE = 1;
const ACTIVE = 0;
const OBSERVERS = 2;
const TXID = 2 ** 33 + 12_345;
const FEDERATED_STATE = messageType('hadoop.hdfs.RouterFederatedStateProto');
const NO_LINK: AcceptorLink = { acceptor: 0, reply: () => true, flush: () => {} };
const KEYS = { 'dfs.federation.router.observer.read.default': 'true' };

/** `namespaceStateIds` with the same state id for each nameservice. */
function stateOf(txid: number): Buffer {
  return Buffer.concat(NAMES.map((name) => bytesField(1, Buffer.concat([bytesField(1, name), numberField(2, txid)]))));
}

/** A worker's part of it, whose NameNodes take every call and are never connected. */
class Reads {
  readonly engine: Engine;
  readonly observers: ObserverReads;
  readonly field: StateField;
  readonly call: Call = new CallPool().take();
  readonly scan = new ReplyScan();
  sent = 0;

  constructor() {
    const topology = {
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
    const settings = readSettings(new Configuration({ directory: null, overrides }), topology, {
      HADOOP_USER_NAME: 'router',
    });
    const words = openObserverMemory(createObserverMemory(settings, topology, 1), topology, 0);
    const control = createControlBlock(NAMES.length);
    this.engine = new Engine(settings, topology, control, new Counters(createCounters(1), 0), () => {}, words);
    this.observers = this.engine.observers as ObserverReads;
    this.field = new StateField(this.observers, topology);
    for (let i = 1; i <= OBSERVERS; i++) this.engine.block.setState(NAMESERVICE, i, NameNodeState.OBSERVER);
    const group = { send: () => void this.sent++ } as unknown as ConnectionGroup;
    this.engine.pool.groupOf = () => group;

    const identity = { user: 'alice', realUser: '', address: '10.20.30.40', port: 45_678 };
    this.call.client = new Client(NO_LINK, 0, 1, identity, this.engine.pool.userOf('alice'));
    this.call.method = METHODS[methodIndex(0, 'getFileInfo')] as Method;
    this.engine.assign(this.call, NAMESERVICE);
    this.call.frame = stateOf(TXID);
    this.call.fields.federatedStart = 0;
    this.call.fields.federatedEnd = this.call.frame.length;
    // The state does not stand at the start of a frame.
    this.call.frame = Buffer.concat([Buffer.alloc(1), this.call.frame]);
    this.call.start = 1;
    this.scan.hasStateId = true;
    this.answerWith(TXID);
    for (let n = 0; n < NAMES.length; n++) this.prove(n);
  }

  /** What the next answers have in their header. */
  answerWith(txid: number): void {
    this.scan.stateIdHigh = Math.floor(txid / 2 ** 32);
    this.scan.stateIdLow = txid | 0;
  }

  /** The active has answered a change. */
  prove(nameservice: number): void {
    const { shared } = this.observers;
    const answer = Object.assign(new Answer(), { namenode: ACTIVE, proof: Proof.ACTIVE, txid: TXID });
    const { stamp } = this.engine.clock;
    shared.merge(nameservice, answer, stamp, stamp, new State());
    shared.prove(nameservice, stamp);
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

  decide(): boolean {
    return this.observers.takes(this.reset());
  }

  /** From the routing of the call to the field in the header of its answer; bytes of that. */
  read(): number {
    const { observers, scan } = this;
    const call = this.reset();
    if (!observers.takes(call)) return 0;
    observers.onWritten(call);
    const isAnswer = observers.onSuccess(call, scan);
    observers.onReleased(call);
    return isAnswer ? this.field.write(call) : 0;
  }
}

export function observerSubjects(): OpenSubjects {
  const reads = new Reads();
  const state = stateOf(TXID);
  const name = Buffer.from(NAMES[NAMESERVICE]);
  const into = new Wide();
  const find = (): number => (findStateId(state, 0, state.length, name, into) ? into.low : -1);
  expect(find() === (TXID | 0) && into.high === 2, 'the state id is not found');
  const decode = (): number => {
    const { namespaceStateIds } = FEDERATED_STATE.decode(state) as unknown as {
      namespaceStateIds: Record<string, { low: number }>;
    };
    return namespaceStateIds[NAMES[NAMESERVICE]]?.low ?? -1;
  };
  expect(decode() === (TXID | 0), 'protobufjs reads another state id');

  const fieldBytes = reads.read();
  expect(fieldBytes > state.length && reads.sent === 1, 'the read does not go to an observer');
  const encode = (txid: number): number => {
    const namespaceStateIds = Object.fromEntries(NAMES.map((each) => [each, txid]));
    return FEDERATED_STATE.encode({ namespaceStateIds } as object as never).finish().length;
  };
  expect(encode(TXID) === state.length, 'protobufjs writes another state');

  const { shared } = reads.observers;
  const answer = Object.assign(new Answer(), { namenode: ACTIVE, proof: Proof.ACTIVE, txid: TXID });
  answer.sentEpoch = shared.stateOf(NAMESERVICE).epoch;
  const now = new State();
  const { stamp } = reads.engine.clock;
  const merge = (txid: number): number => {
    answer.txid = txid;
    return shared.merge(NAMESERVICE, answer, stamp, stamp, now) ? 2 : 1;
  };
  let last = TXID;
  const word = new BigInt64Array(new SharedArrayBuffer(8));
  /** The largest so far, with nothing else beside it. */
  const raiseWord = (txid: bigint): number => {
    for (let at = Atomics.load(word, 0); txid > at; ) {
      const found = Atomics.compareExchange(word, 0, at, txid);
      if (found === at) return 2;
      at = found;
    }
    return 1;
  };
  expect(merge(TXID) === 1 && merge(++last) === 2 && shared.stateOf(NAMESERVICE).txid === last, 'the merge is wrong');

  return {
    subjects: [
      {
        name: 'observer read: state id of the client, of 3',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += find() & 0xff;
          return sum;
        },
        alternative: {
          name: 'protobufjs decodes the state',
          run: (times) => {
            let sum = 0;
            for (let i = 0; i < times; i++) sum += decode() & 0xff;
            return sum;
          },
        },
      },
      {
        name: 'observer read: decision, with that',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += reads.decide() ? 1 : -1e9;
          return sum;
        },
      },
      {
        name: 'observer read: max-merge of an answer, nothing new',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += merge(TXID);
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
          let sum = 0;
          for (let i = 0; i < times; i++) sum += merge(++last);
          return sum;
        },
        alternative: {
          name: 'BigInt64Array, load and compare-exchange',
          run: (times) => {
            let sum = 0;
            for (let i = 0; i < times; i++) sum += raiseWord(BigInt(++last));
            return sum;
          },
        },
      },
      {
        name: 'observer read: field of the answer, of 3',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += reads.field.write(reads.call);
          return sum;
        },
        alternative: {
          name: 'protobufjs encodes the state',
          run: (times) => {
            let sum = 0;
            for (let i = 0; i < times; i++) sum += encode(TXID);
            return sum;
          },
        },
      },
      {
        name: 'observer read: all of it, nothing new',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) sum += reads.read();
          return sum;
        },
      },
      {
        name: 'observer read: all of it, raised',
        run: (times) => {
          let sum = 0;
          for (let i = 0; i < times; i++) {
            reads.answerWith(++last);
            sum += reads.read();
          }
          return sum;
        },
      },
    ],
    async [Symbol.asyncDispose](): Promise<void> {
      reads.engine.close();
    },
  };
}
