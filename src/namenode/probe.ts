import net from 'node:net';
import { NameNodeState } from '../shared/control-block.ts';
import { SCAN_OK } from '../wire/call-scan.ts';
import { encodeCall } from '../wire/encode-call.ts';
import { FRAMES_OK, FrameAssembler } from '../wire/frame.ts';
import { encodeHandshake } from '../wire/handshake.ts';
import { Status } from '../wire/reply-head.ts';
import { ReplyScan, scanReply } from '../wire/reply-scan.ts';
import type { NameNode } from './namenode.ts';

export interface ProbeOptions {
  readonly user: string;
  readonly clientId: Buffer;
  readonly timeoutMs: number;
}

/** Longest wait for the answer of a probe. */
export const PROBE_MS = 5000;
/** A claim to probe a NameNode ends by itself when nothing was heard of it. */
export const PROBE_CLAIM_MS = 2 * PROBE_MS;
const PROTOCOL = 'org.apache.hadoop.hdfs.protocol.ClientProtocol';
/** Longer than any answer to it, an exception with its stack included. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** One frame for each probe, bounded by its limit. */
const NO_BUDGET = { claim: () => true, release: () => {} };
const scan = new ReplyScan();

/**
 * Asks a NameNode for a sign of life on a fresh connection: the cheapest call that takes no lock of its namespace (getHAServiceState).
 * `answered` is called once, with the state that it tells (a NameNodeState), UNKNOWN when it lives and tells none (an exception is an answer),
 * or null: it is silent, or what it says is not Hadoop RPC.
 */
export function probeNameNode(
  namenode: NameNode,
  options: ProbeOptions,
  answered: (state: number | null) => void,
): void {
  const { user, clientId, timeoutMs } = options;
  const { host, port, hostAddress } = namenode;
  let done = false;
  const socket = net.connect({ host, port, lookup: hostAddress.lookup, noDelay: true });
  const timer = setTimeout(() => end(null), timeoutMs);
  function end(state: number | null): void {
    if (done) return;
    done = true;
    clearTimeout(timer);
    socket.destroy();
    answered(state);
  }
  function onFrame(frame: Buffer, frameStart: number, frameEnd: number): boolean {
    end(readState(frame, frameStart, frameEnd));
    return true;
  }
  const frames = new FrameAssembler({ onFrame }, MAX_ANSWER_BYTES, NO_BUDGET);
  socket.on('connect', () => {
    socket.write(encodeHandshake({ user, realUser: '', protocol: PROTOCOL, clientId }));
    const body = Buffer.alloc(0);
    const method = 'getHAServiceState';
    socket.write(encodeCall({ protocol: PROTOCOL, version: 1, method, callId: 0, clientId, body }));
  });
  socket.on('data', (bytes: Buffer) => {
    if (frames.feed(bytes, 0, bytes.length) !== FRAMES_OK) end(null);
  });
  socket.on('error', () => end(null));
  socket.on('close', () => end(null));
}

/** After the header: length · HAServiceStateResponseProto { 1 state enum }, whose values are those of NameNodeState. */
function readState(frame: Buffer, start: number, end: number): number | null {
  if (scanReply(frame, start, end, scan) !== SCAN_OK) return null;
  const at = scan.headerEnd;
  if (scan.status !== Status.SUCCESS || end - at < 3 || frame[at + 1] !== 0x08) return NameNodeState.UNKNOWN;
  const state = frame[at + 2] as number;
  return state <= NameNodeState.OBSERVER ? state : NameNodeState.UNKNOWN;
}
