import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Circuit, OPENS_AT_FAILURES } from '../../src/namenode/circuit.ts';

const WHY = 'connection refused';
/** Jitter of 1. */
const MIDDLE = (): number => 0.5;
const PROBE_MS = 1000;

function openCircuit(nowMs = 0): Circuit {
  const circuit = new Circuit(MIDDLE);
  circuit.open(nowMs, WHY);
  return circuit;
}

describe('the circuit of a NameNode', () => {
  it('opens with so many failures in a row', () => {
    const circuit = new Circuit(MIDDLE);
    for (let i = 1; i < OPENS_AT_FAILURES; i++) circuit.noteFailure(0, WHY);
    expect([circuit.isClosed, circuit.why]).toEqual([true, '']);
    circuit.noteFailure(0, WHY);
    expect([circuit.isClosed, circuit.isOpen, circuit.why]).toEqual([false, true, WHY]);
  });

  it('stays closed when a byte comes between them', () => {
    const circuit = new Circuit(MIDDLE);
    for (let i = 0; i < 3 * OPENS_AT_FAILURES; i++) {
      if (i % (OPENS_AT_FAILURES - 1) === 0) expect(circuit.close()).toBe(false);
      circuit.noteFailure(0, WHY);
    }
    expect(circuit.isClosed).toBe(true);
  });

  it('lets one probe through when its pause is over, and the next when that was never settled', () => {
    const circuit = openCircuit();
    expect([circuit.msUntilProbe(0), circuit.claimProbe(249, PROBE_MS)]).toEqual([250, false]);
    expect(circuit.claimProbe(250, PROBE_MS)).toBe(true);
    expect([circuit.isOpen, circuit.isClosed]).toEqual([false, false]);
    expect([circuit.claimProbe(251, PROBE_MS), circuit.msUntilProbe(251)]).toEqual([false, 999]);
    expect(circuit.claimProbe(250 + PROBE_MS, PROBE_MS)).toBe(true);
  });

  it('doubles the pause with each probe that fails, to a limit, and begins anew after it was closed', () => {
    const circuit = openCircuit();
    const pauses: number[] = [];
    let nowMs = 0;
    for (let i = 0; i < 6; i++) {
      const pause = circuit.msUntilProbe(nowMs);
      pauses.push(pause);
      nowMs += pause;
      expect(circuit.claimProbe(nowMs, PROBE_MS)).toBe(true);
      circuit.noteFailure(nowMs, WHY);
    }
    expect(pauses).toEqual([250, 500, 1000, 2000, 2000, 2000]);
    expect(circuit.close()).toBe(true);
    expect(circuit.claimProbe(nowMs, PROBE_MS)).toBe(false);
    circuit.open(nowMs, WHY);
    expect(circuit.msUntilProbe(nowMs)).toBe(250);
  });

  it('does not take connections that were opening before for probes', () => {
    const circuit = openCircuit();
    for (let i = 0; i < 10; i++) circuit.noteFailure(100, WHY);
    expect(circuit.msUntilProbe(100)).toBe(150);
  });

  it('takes half to one and a half of each pause', () => {
    for (const [random, pause] of [
      [0, 125],
      [0.999, 374.75],
    ] as const) {
      const circuit = new Circuit(() => random);
      circuit.open(0, WHY);
      expect(circuit.msUntilProbe(0)).toBeCloseTo(pause);
    }
  });

  it('whatever happens, has one probe at a time and asks for the next within 3 s', () => {
    const events = fc.array(fc.tuple(fc.constantFrom('fail', 'open', 'close', 'claim'), fc.nat(1500)));
    fc.assert(
      fc.property(events, fc.double({ min: 0, max: 0.999, noNaN: true }), (steps, random) => {
        const circuit = new Circuit(() => random);
        let nowMs = 0;
        let claimedUntilMs = 0;
        for (const [event, ms] of steps) {
          nowMs += ms;
          if (event === 'fail') circuit.noteFailure(nowMs, WHY);
          else if (event === 'open') circuit.open(nowMs, WHY);
          else if (event === 'close') circuit.close();
          else if (circuit.claimProbe(nowMs, PROBE_MS)) {
            expect(nowMs).toBeGreaterThanOrEqual(claimedUntilMs);
            claimedUntilMs = nowMs + PROBE_MS;
          }
          if (event !== 'claim') claimedUntilMs = 0;
          expect(circuit.msUntilProbe(nowMs)).toBeLessThanOrEqual(3000);
          expect(circuit.why === '').toBe(circuit.isClosed);
        }
      }),
      { seed: 8, numRuns: 500, interruptAfterTimeLimit: 2_000, markInterruptAsFailure: false },
    );
  });
});
