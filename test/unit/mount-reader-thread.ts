/**
 * Thread of mount-publishing.test.ts: looks paths up without pause in the newest snapshot it has been handed and checks that each
 * answer belongs to that one table. Reports each epoch once it has moved on to it, and what it found at the end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { MountSnapshot } from '../../src/mount/snapshot.ts';
import { announceEpoch, type EpochWords, type SharedBytes } from '../../src/shared/epochs.ts';

/** Lookups between two looks at the messages that have arrived. */
const LOOKUPS_PER_TURN = 500;

const { words, thread, first } = workerData as { words: EpochWords; thread: number; first: SharedBytes };
const port = parentPort;
if (port === null) throw new Error('runs as a worker thread only');

let snapshot = MountSnapshot.from(first);
let stopped = false;
let lookups = 0;
let epochs = 1;
const mismatches: string[] = [];

port.on('message', (message: { buffer: SharedBytes; epoch: number } | 'stop') => {
  if (message === 'stop') {
    stopped = true;
    return;
  }
  snapshot = MountSnapshot.from(message.buffer);
  if (snapshot.epoch !== message.epoch) mismatches.push(`epoch ${snapshot.epoch} in the memory of ${message.epoch}`);
  announceEpoch(words, thread, message.epoch);
  epochs++;
  port.postMessage({ moved: message.epoch });
});

const path = Buffer.alloc(64);

/** Every mount /m/N of the table of epoch e leads to /eE/N in nameservice ns(E % 3); nothing else is in it. */
function checkOne(): void {
  const { epoch, mountCount } = snapshot;
  const number = lookups++ % mountCount;
  const end = path.write(`/m/${number}/file`, 0);
  const mount = snapshot.find(path, 0, end);
  const target =
    mount < 0
      ? 'none'
      : `${snapshot.nameserviceName(snapshot.destinationNameservice(mount, 0))}:${snapshot.bytes.toString('latin1', snapshot.destinationStart(mount, 0), snapshot.destinationEnd(mount, 0))}${path.toString('latin1', snapshot.matchedEnd, end)}`;
  const expected = `ns${epoch % 3}:/e${epoch}/${number}/file`;
  if (target !== expected && mismatches.length < 5) mismatches.push(`${target} instead of ${expected}`);
}

function turn(): void {
  for (let i = 0; i < LOOKUPS_PER_TURN; i++) checkOne();
  if (stopped) {
    port?.postMessage({ lookups, epochs, mismatches });
    port?.close();
    return;
  }
  setImmediate(turn);
}
port.postMessage({ moved: snapshot.epoch });
turn();
