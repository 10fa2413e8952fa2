import { beforeEach, describe, expect, it } from 'vitest';
import type { NameNode } from '../../src/simulator/name-node.ts';
import { IMAGE_BEHIND_EDITS } from '../../src/simulator/nameservice.ts';
import { NO_LAG } from '../../src/simulator/tailing.ts';
import { ask, asked, beginAnew, create, info, mkdirs, newNameservice, rename } from './simulator-executed.ts';

const EXISTS = 'org.apache.hadoop.fs.FileAlreadyExistsException';

beforeEach(beginAnew);

describe('a standby', () => {
  it('holds the same tree, inode ids and retry cache after a failover', () => {
    const { nameservice } = asked.namenode;
    const standby = nameservice.namenodes[1]!;
    standby.tailing.configure({ ...NO_LAG, paused: true });
    mkdirs('/a/b', 'root', 0o711);
    create('/a/f');
    asked.nowMs += 70_000;
    // Takes over a lease that is too old: followers must come to the same end.
    expect(create('/a/f', 'root', { clientName: 'c2' })).toContain(EXISTS);
    ask('delete', { src: '/a/b', recursive: true }, 'root', { clientId: Buffer.alloc(16, 1), callId: 9 });
    rename('/a/f', '/a/g');
    const before = info('/a/g');
    expect(standby.stateId(asked.nowMs)).toBe(0);
    asked.namenode.transition('standby');
    expect(mkdirs('/x')).toBe(
      'org.apache.hadoop.ipc.StandbyException: Operation category WRITE is not supported in state standby. ' +
        'Visit https://s.apache.org/sbnn-error',
    );
    standby.transition('active');
    expect(standby.namespace.txid).toBe(asked.namenode.namespace.txid);
    asked.namenode = standby;
    expect(info('/a/g')).toEqual(before);
    expect(
      ask('delete', { src: '/a/b', recursive: true }, 'root', { clientId: Buffer.alloc(16, 1), callId: 9 }),
    ).toEqual({ result: true });
  });

  it('that begins anew applies what it lost as slowly as new edits', () => {
    const nameservice = newNameservice(1000, ['active', 'standby', 'observer']);
    const [active, standby, observer] = nameservice.namenodes as [NameNode, NameNode, NameNode];
    asked.namenode = active;
    observer.tailing.configure({ ...NO_LAG, lagTime: { kind: 'constant', ms: 10_000 } });
    standby.tailing.configure({ ...NO_LAG, paused: true });
    for (const name of ['a', 'b', 'c', 'd']) mkdirs(`/${name}`);
    asked.nowMs += 20_000;
    expect([observer.stateId(asked.nowMs), standby.stateId(asked.nowMs)]).toEqual([4, 0]);
    nameservice.restart(observer, 3, asked.nowMs);
    expect([observer.stateId(asked.nowMs), observer.stateId(asked.nowMs + 9_999)]).toEqual([1, 1]);
    expect(observer.msUntilEdit(asked.nowMs + 9_999)).toBe(1);
    expect(observer.stateId(asked.nowMs + 10_000)).toBe(4);
    expect(observer.namespace.inodeCount).toBe(active.namespace.inodeCount);
    // The image has got the tree of before, and nobody goes forward by losing something.
    nameservice.restart(standby, 1, asked.nowMs);
    expect(standby.stateId(asked.nowMs)).toBe(0);
    standby.tailing.configure(NO_LAG);
    expect([standby.stateId(asked.nowMs + 10_000), standby.namespace.inodeCount]).toEqual([
      4,
      active.namespace.inodeCount,
    ]);
  });

  it('loses no more than the image lacks, and the journal stays short', () => {
    const nameservice = newNameservice(1000, ['active', 'observer']);
    const [active, observer] = nameservice.namenodes as [NameNode, NameNode];
    asked.namenode = active;
    mkdirs('/d');
    const edits = IMAGE_BEHIND_EDITS + 3000;
    for (let at = 2; at <= edits; at++) ask('setTimes', { src: '/d', mtime: at, atime: at });
    expect(nameservice.journal.kept).toBeGreaterThanOrEqual(IMAGE_BEHIND_EDITS);
    expect(nameservice.journal.kept).toBeLessThanOrEqual(IMAGE_BEHIND_EDITS + 1024);
    observer.tailing.configure({ ...NO_LAG, paused: true });
    nameservice.restart(observer, edits, asked.nowMs);
    expect(edits - observer.stateId(asked.nowMs)).toBe(nameservice.journal.kept);
    observer.tailing.configure(NO_LAG);
    expect(observer.stateId(asked.nowMs)).toBe(edits);
  });

  it('cannot become active beside another one', () => {
    expect(() => asked.namenode.nameservice.namenodes[1]!.transition('active')).toThrow('nn0 of ns0 is active');
  });
});
