import { beforeEach, describe, expect, it } from 'vitest';
import { Listeners } from '../../src/control/listeners.ts';
import type { ToThread } from '../../src/threads/messages.ts';

/** An acceptor's thread that keeps what it is told. */
class Told {
  readonly ports: number[] = [];

  tell(message: ToThread): void {
    if (message.kind === 'listen') this.ports.push(message.port);
  }
}

let first: Told;
let second: Told;
let listeners: Listeners;
let resolved: number;

beforeEach(() => {
  make(0);
});

function make(port: number): void {
  first = new Told();
  second = new Told();
  listeners = new Listeners([first, second], port);
  resolved = -1;
  listeners.all.then(
    (at) => {
      resolved = at;
    },
    () => {},
  );
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('acceptors', () => {
  it('share the port that the first one got', async () => {
    listeners.serve(second);
    expect(second.ports).toEqual([]);
    listeners.serve(first);
    expect(first.ports).toEqual([0]);
    listeners.onListening(first, 4711);
    expect(second.ports).toEqual([4711]);
    await settled();
    expect(resolved).toBe(-1);
    listeners.onListening(second, 4711);
    await settled();
    expect(resolved).toBe(4711);
  });

  it('are told once, however many workers they get', () => {
    make(8888);
    for (let worker = 0; worker < 3; worker++) listeners.serve(first);
    listeners.onListening(first, 8888);
    listeners.serve(first);
    listeners.ask(first);
    expect(first.ports).toEqual([8888]);
  });

  it('without a worker are not told', () => {
    make(8888);
    listeners.ask(first);
    listeners.serve(first);
    listeners.onListening(first, 8888);
    expect([first.ports, second.ports]).toEqual([[8888], []]);
    listeners.onDeath(first);
    listeners.ask(first);
    expect(first.ports).toEqual([8888]);
    listeners.serve(first);
    expect(first.ports).toEqual([8888, 8888]);
  });

  it('that could not are told again when asked for', () => {
    make(8888);
    listeners.serve(first);
    listeners.onFailed(first);
    expect(first.ports).toEqual([8888]);
    listeners.ask(first);
    listeners.ask(first);
    expect(first.ports).toEqual([8888, 8888]);
  });
});

describe('an acceptor that dies while the router starts', () => {
  it('and listens again counts once', async () => {
    listeners.serve(first);
    listeners.serve(second);
    listeners.onListening(first, 4711);
    listeners.onDeath(first);
    listeners.serve(first);
    listeners.onListening(first, 4711);
    await settled();
    expect(resolved).toBe(-1);
    listeners.onListening(second, 4711);
    await settled();
    expect(resolved).toBe(4711);
  });

  it('does not get a port of its own before the shared one is known', () => {
    listeners.serve(first);
    listeners.serve(second);
    listeners.onDeath(second);
    listeners.serve(second);
    expect(second.ports).toEqual([]);
    listeners.onListening(first, 4711);
    expect(second.ports).toEqual([4711]);
  });
});

it('a start that fails is known to who waits for it', async () => {
  const waits = listeners.all;
  listeners.fail(new Error('no port'));
  await expect(waits).rejects.toThrow('no port');
});
