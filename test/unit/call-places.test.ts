import { describe, expect, it } from 'vitest';
import { CallPool, leave, Place } from '../../src/call/call.ts';

describe('a call is in one place', () => {
  it('it leaves the one it is in, and no other', () => {
    const call = new CallPool().take();
    call.place = Place.SLEEPING;
    expect(() => leave(call, Place.WAITING)).toThrow('leaves place 2, but it is in 5');
    leave(call, Place.SLEEPING);
    expect(call.place).toBe(Place.RESOLVING);
  });

  it('it is given back once', () => {
    const pool = new CallPool();
    const call = pool.take();
    pool.give(call);
    expect(() => pool.give(call)).toThrow('twice');
    expect(pool.inUse).toBe(0);
    expect(pool.take()).toBe(call);
    expect(pool.take()).not.toBe(call);
  });
});
