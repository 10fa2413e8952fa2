/** The other thread of hops.ts: answers each call with its own frame. */

import { workerData } from 'node:worker_threads';
import type { AcceptorLink, WorkerSide } from '../../src/handoff/link.ts';
import { RingAcceptorLink, type RingPlumbing } from '../../src/handoff/ring-link.ts';
import { RingAcceptorLink as MessageAcceptorLink } from '../ablation/message/ring-link.ts';

export interface EchoStart {
  readonly via: 'ring' | 'message';
  readonly plumbing: RingPlumbing;
}

const NOTHING = Buffer.alloc(0);

const side: WorkerSide = {
  onOpen: () => {},
  onClose: () => {},
  onCall: (link, fields, frame, start, end) => {
    link.reply(fields.connection, fields.generation, fields.slot, 0, NOTHING, 0, 0, frame, start, end);
  },
  onReplySpace: () => {},
  onDrained: (link: AcceptorLink) => link.flush(),
};

const { via, plumbing } = workerData as EchoStart;
if (via === 'ring') new RingAcceptorLink(0, plumbing, side);
else new MessageAcceptorLink(0, plumbing, side);
