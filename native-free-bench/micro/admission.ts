/**
 * What admission costs each call beside all else: a call that is let through as it comes and leaves again, one that waits for its turn, and the
 * caller's level and charge. Beside the queue an array of calls, which is first come, first served.
 */

import type { Admission } from '../../src/admission/admission.ts';
import { type Call, CallPool, leave, Place } from '../../src/call/call.ts';
import { Client } from '../../src/call/client.ts';
import { Engine } from '../../src/call/engine.ts';
import type { Method } from '../../src/call/method.ts';
import { METHODS, methodIndex } from '../../src/call/methods.ts';
import { Configuration } from '../../src/config/configuration.ts';
import { readSettings } from '../../src/config/settings.ts';
import type { AcceptorLink } from '../../src/handoff/link.ts';
import { createControlBlock } from '../../src/shared/control-block.ts';
import { Counters, createCounters } from '../../src/shared/counters.ts';
import type { Topology } from '../../src/shared/settings.ts';
import { expect, type OpenSubjects, type Subject } from './subject.ts';

const NAMESERVICE = 1;
const WAITING = 64;
const NO_LINK: AcceptorLink = { acceptor: 0, reply: () => true, flush: () => {} };
const TOPOLOGY: Topology = {
  nameservices: ['east', 'west', 'archive'].map((id) => ({
    id,
    namenodes: [{ id: 'nn0', host: '127.0.0.1', port: 8020 }],
  })),
};
const FAIR = {
  'ipc.callqueue.impl': 'org.apache.hadoop.ipc.FairCallQueue',
  'ipc.scheduler.impl': 'org.apache.hadoop.ipc.DecayRpcScheduler',
};

/** A worker's admission with calls of eight users, none of which goes to a NameNode. */
class Gatekeeper {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly calls: Call[] = [];

  constructor(keys: Readonly<Record<string, string>>) {
    const overrides = Object.entries(keys).map(([key, value]) => ({ key, value, origin: 'bench' }));
    const configuration = new Configuration({ directory: null, overrides });
    const settings = readSettings(configuration, TOPOLOGY, { HADOOP_USER_NAME: 'router' });
    const control = createControlBlock(TOPOLOGY.nameservices.length);
    this.engine = new Engine(settings, TOPOLOGY, control, new Counters(createCounters(1), 0));
    this.admission = this.engine.admission;
    const pool = new CallPool();
    for (let i = 0; i < WAITING; i++) {
      const call = pool.take();
      const user = `user${i % 8}`;
      const identity = { user, realUser: '', address: '10.20.30.40', port: 45_678 + i };
      call.client = new Client(NO_LINK, 0, 1, identity, this.engine.pool.userOf(user));
      call.method = METHODS[methodIndex(0, i % 4 === 0 ? 'mkdirs' : 'getFileInfo')] as Method;
      this.engine.assign(call, NAMESERVICE);
      this.calls.push(call);
    }
  }

  /** Let through and gone again; 1 when it was. */
  pass(i: number): number {
    const call = this.calls[i % WAITING] as Call;
    if (!this.admission.admits(call)) return 0;
    this.admission.onLeft(call);
    return 1;
  }

  /** Into the queue and out of it, with others before it; 1 when there was one. */
  turn(i: number): number {
    const { queue } = this.admission.gates[NAMESERVICE] as Admission['gates'][number];
    const call = this.calls[i % WAITING] as Call;
    if (call.place === Place.QUEUED) {
      queue.remove(call);
      leave(call, Place.QUEUED);
    }
    if (!queue.put(call)) return 0;
    call.place = Place.QUEUED;
    const next = queue.take(call.lane);
    if (next === null) return 0;
    leave(next, Place.QUEUED);
    return 1;
  }

  /** Level and charge, as for a call that has just come. */
  charge(i: number): number {
    const { scheduler } = this.admission;
    const call = this.calls[i % WAITING] as Call;
    if (scheduler === null) return 0;
    scheduler.assign(call);
    scheduler.settle(call, 0.5, 1.5);
    return 1;
  }

  [Symbol.dispose](): void {
    this.engine.close();
  }
}

export function admissionSubjects(): OpenSubjects {
  const plain = new Gatekeeper({});
  const fair = new Gatekeeper(FAIR);
  for (const each of [plain, fair]) {
    expect(each.pass(0) === 1 && each.turn(0) === 1, 'a call is not let through');
    expect((each.admission.gates[NAMESERVICE]?.inFlight ?? -1) === 0, 'a call has stayed');
  }
  expect(plain.charge(0) === 0 && fair.charge(0) === 1, 'a caller is charged where none is');
  const array: Call[] = [...plain.calls];
  return {
    subjects: [
      {
        name: 'admission: a call is let through and leaves',
        run: (times) => sumOf(times, (i) => plain.pass(i)),
      },
      {
        name: 'admission: the same with levels',
        run: (times) => sumOf(times, (i) => fair.pass(i)),
      },
      {
        name: 'admission: a call waits and has its turn',
        run: (times) => sumOf(times, (i) => plain.turn(i)),
        alternative: {
          name: 'array, push and shift',
          run: (times) =>
            sumOf(times, () => {
              array.push(array.shift() as Call);
              return 1;
            }),
        },
      },
      {
        name: 'admission: the same with levels, one queue each',
        run: (times) => sumOf(times, (i) => fair.turn(i)),
      },
      { name: 'admission: level and charge of a caller', run: (times) => sumOf(times, (i) => fair.charge(i)) },
    ] satisfies Subject[],
    async [Symbol.asyncDispose](): Promise<void> {
      plain[Symbol.dispose]();
      fair[Symbol.dispose]();
    },
  };
}

function sumOf(times: number, operation: (i: number) => number): number {
  let sum = 0;
  for (let i = 0; i < times; i++) sum += operation(i);
  return sum;
}
