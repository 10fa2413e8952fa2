import { describe, expect, it } from 'vitest';
import type { ConnectionGroup } from '../../src/namenode/group.ts';
import { MAX_OPENING, NameNode } from '../../src/namenode/namenode.ts';

/** A group as the NameNode's queue for opening sees it. */
class Opener {
  readonly namenode: NameNode;
  readonly opened: Opener[];
  /** It opens when it is called; else what it wanted a connection for is done. */
  wants = true;

  constructor(namenode: NameNode, opened: Opener[]) {
    this.namenode = namenode;
    this.opened = opened;
  }

  ask(): boolean {
    const may = this.namenode.mayOpen(this as unknown as ConnectionGroup);
    if (may) this.opened.push(this);
    return may;
  }

  openQueued(): void {
    if (this.wants) this.ask();
  }

  /** Why it was told that its turn does not come. */
  refusal = '';

  openRefused(why: string): void {
    this.refusal = why;
  }
}

function makeOpeners(count: number): { namenode: NameNode; opened: Opener[]; openers: Opener[] } {
  const namenode = new NameNode(0, 0, 0, '127.0.0.1', 8020);
  const opened: Opener[] = [];
  return { namenode, opened, openers: Array.from({ length: count }, () => new Opener(namenode, opened)) };
}

describe('connections that are opening to one NameNode', () => {
  it('are at most so many at a time, in the order of asking', () => {
    const { namenode, opened, openers } = makeOpeners(3 * MAX_OPENING);
    for (const [i, opener] of openers.entries()) expect(opener.ask()).toBe(i < MAX_OPENING);
    for (let ended = 0; ended < openers.length; ended++) {
      expect(opened).toEqual(openers.slice(0, Math.min(openers.length, MAX_OPENING + ended)));
      namenode.openingEnded();
    }
    expect(opened).toEqual(openers);
  });

  it('that cannot be reached free all that wait for their turn at once', () => {
    const { namenode, opened, openers } = makeOpeners(3 * MAX_OPENING);
    for (const opener of openers) opener.ask();
    namenode.openingFailed('unreachable');
    expect(openers.map(({ refusal }) => refusal)).toEqual([
      ...Array.from({ length: MAX_OPENING }, () => ''),
      ...Array.from({ length: 2 * MAX_OPENING }, () => 'unreachable'),
    ]);
    expect(opened).toHaveLength(MAX_OPENING);
    // The turn of the one that failed is free, and nobody is asked twice.
    expect((openers.at(-1) as Opener).ask()).toBe(true);
    expect((openers.at(-1) as Opener).ask()).toBe(false);
  });

  it('leave their turn to the next when they are not needed any more', () => {
    const { namenode, opened, openers } = makeOpeners(3 * MAX_OPENING + 1);
    for (const opener of openers) opener.ask();
    const last = openers.at(-1) as Opener;
    for (const opener of openers.slice(MAX_OPENING, -1)) opener.wants = false;
    namenode.openingEnded();
    expect(opened.at(-1)).toBe(last);
    // All turns are free again in the end.
    for (let i = 0; i < MAX_OPENING; i++) namenode.openingEnded();
    expect(openers.slice(0, MAX_OPENING + 1).map((opener) => opener.ask())).toEqual(
      Array.from({ length: MAX_OPENING + 1 }, (_, i) => i < MAX_OPENING),
    );
  });
});
