import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { Call } from '../../src/call/call.ts';
import { chooseNameNode } from '../../src/namenode/choice.ts';
import { NameNode } from '../../src/namenode/namenode.ts';
import { ControlBlock, createControlBlock, NameNodeState } from '../../src/shared/control-block.ts';
import { Block } from '../../src/wire/block.ts';

const { ACTIVE, STANDBY, OBSERVER, UNAVAILABLE, UNKNOWN } = NameNodeState;
/** The second of two, so that mixed up indexes show. */
const NAMESERVICE = 1;

let block: ControlBlock;
let namenodes: NameNode[];
let nowMs: number;

beforeEach(() => {
  block = new ControlBlock(createControlBlock(2), 2);
  namenodes = [0, 1, 2, 3].map((i) => new NameNode(10 + i, NAMESERVICE, i, 'host', 8020 + i));
  nowMs = 1000;
});

function callOf(...tried: number[]): Call {
  const call = new Call(new Block(Buffer.alloc(0)), 0);
  call.nameservice = NAMESERVICE;
  for (const index of tried) call.tried |= 1 << index;
  return call;
}

function setStates(...states: number[]): void {
  for (const [index, state] of states.entries()) block.setState(NAMESERVICE, index, state);
}

/** The order in which one call would ask them in one round. */
function round(): number[] {
  const order: number[] = [];
  const call = callOf();
  for (let chosen = choose(call); chosen !== null; chosen = choose(call)) {
    order.push(chosen.index);
    call.tried |= 1 << chosen.index;
    if (order.length > namenodes.length) throw new Error('one is asked twice');
  }
  return order;
}

function choose(call: Call): NameNode | null {
  return chooseNameNode(call, namenodes, block, nowMs);
}

describe('the first to be asked', () => {
  it('is the one known as active, whatever was said of it before', () => {
    setStates(UNKNOWN, ACTIVE, STANDBY, OBSERVER);
    for (const active of [0, 2, 3]) {
      block.setActive(NAMESERVICE, active);
      expect(choose(callOf())?.index).toBe(active);
    }
    // Nothing that is known of another nameservice counts.
    block.setActive(NAMESERVICE, 1);
    block.setActive(0, 3);
    expect(choose(callOf())?.index).toBe(1);
  });

  it('is another when it was asked in this round, or hangs', () => {
    setStates(STANDBY, ACTIVE, STANDBY, OBSERVER);
    block.setActive(NAMESERVICE, 1);
    expect(choose(callOf(1))?.index).toBe(0);
    (namenodes[1] as NameNode).circuit.open(nowMs, 'it hangs');
    expect(choose(callOf())?.index).toBe(0);
    (namenodes[1] as NameNode).circuit.close();
    expect(choose(callOf())?.index).toBe(1);
  });
});

describe('a round', () => {
  it('goes from those that may be active to those that are not', () => {
    setStates(OBSERVER, UNAVAILABLE, STANDBY, UNKNOWN);
    expect(round()).toEqual([3, 2, 1, 0]);
    setStates(STANDBY, STANDBY, ACTIVE, STANDBY);
    expect(round()).toEqual([2, 0, 1, 3]);
  });

  it('leaves out those whose circuit is open, until it is closed', () => {
    setStates(ACTIVE, STANDBY, OBSERVER, UNAVAILABLE);
    const [first, second] = namenodes as [NameNode, NameNode];
    first.circuit.open(nowMs, 'it hangs');
    second.circuit.open(nowMs, 'it hangs');
    expect(round()).toEqual([3, 2]);
    // The pause alone brings no call there: somebody has to find out.
    nowMs += 30_001;
    expect(round()).toEqual([3, 2]);
    first.circuit.close();
    second.circuit.close();
    expect(round()).toEqual([0, 1, 3, 2]);
  });

  it('of a call for one NameNode is the probe when a pause is over', () => {
    const only = namenodes[2] as NameNode;
    const call = callOf();
    call.onlyNamenode = 2;
    only.circuit.open(nowMs, 'it hangs');
    expect(choose(call)).toBe(null);
    nowMs += only.circuit.msUntilProbe(nowMs);
    expect(choose(call)).toBe(only);
    // The one: another call of that kind has to wait for what comes of it.
    expect(choose(call)).toBe(null);
    only.circuit.close();
    expect(choose(call)).toBe(only);
  });

  it('asks each once, whatever is known, but those whose circuit is open', () => {
    const known = fc.record({
      states: fc.array(fc.constantFrom(...Object.values(NameNodeState)), { minLength: 4, maxLength: 4 }),
      active: fc.integer({ min: -1, max: 3 }),
      hanging: fc.subarray([0, 1, 2, 3]),
    });
    fc.assert(
      fc.property(known, ({ states, active, hanging }) => {
        setStates(...states);
        block.setActive(NAMESERVICE, active);
        for (const namenode of namenodes) {
          if (hanging.includes(namenode.index)) namenode.circuit.open(nowMs, 'it hangs');
          else namenode.circuit.close();
        }
        const order = round();
        expect([...order].sort()).toEqual([0, 1, 2, 3].filter((index) => !hanging.includes(index)));
        if (active >= 0 && !hanging.includes(active)) expect(order[0]).toBe(active);
      }),
      { seed: 11, numRuns: 500, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });

  it('of none is over at once', () => {
    expect(choose(callOf(0, 1, 2, 3))).toBe(null);
    namenodes = [];
    expect(choose(callOf())).toBe(null);
  });
});
