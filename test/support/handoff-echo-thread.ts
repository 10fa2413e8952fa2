/** A worker thread that answers each call with its own frame; a call with flags 1 makes it die without ringing, one with flags 2 throw. */

import { workerData } from 'node:worker_threads';
import type { WorkerSide } from '../../src/handoff/link.ts';
import type { RingPlumbing } from '../../src/handoff/ring-end.ts';
import { RingAcceptorLink } from '../../src/handoff/ring-link.ts';

const NOTHING = Buffer.alloc(0);

const side: WorkerSide = {
  onOpen: () => {},
  onClose: () => {},
  onCall: (link, fields, frame, start, end) => {
    if (fields.flags === 1) process.exit(7);
    if (fields.flags === 2) throw new Error('thrown by the worker');
    link.reply(fields.connection, fields.generation, fields.slot, 0, frame, start, end, NOTHING, 0, 0);
  },
  onReplySpace: () => {},
  onDrained: (link) => link.flush(),
};

new RingAcceptorLink(0, workerData as RingPlumbing, side);
