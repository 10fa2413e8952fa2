/**
 * Thread of observer-state-words.test.ts: merges answers into one word as fast as it can, at the same time as another thread, and looks that
 * whatever it reads was written as one piece. Posts its WordsReport at the end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Answer, EPOCHS, NO_TXID, Proof, State } from '../../src/observer/rules.ts';
import { StateWords } from '../../src/observer/shared/state-words.ts';

export interface WordsOrder {
  readonly shared: SharedArrayBuffer;
  /** A word in which each thread counts itself before it begins. */
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
  /** Its index; also that of the NameNode whose answers it merges. */
  readonly thread: number;
  readonly merges: number;
}

export interface WordsReport {
  /** Merges that began an epoch, that raised within one, and that changed nothing. */
  readonly begun: number;
  readonly raised: number;
  readonly unchanged: number;
  /** '' when all was as it must be. */
  readonly fault: string;
}

const NAMESERVICE = 1;
/** Txids whose upper and lower half are the same number: a torn one shows. */
const HIGHEST_HALF = 60_000;
const BOTH_HALVES = 2 ** 32 + 1;

const { shared, gate, threads, thread, merges } = workerData as WordsOrder;
const words = new StateWords(shared, NAMESERVICE + 1);
const waiting = new Int32Array(gate);
const state = new State();
const before = new State();
const answer = new Answer();
let fault = '';
let begun = 0;
let raised = 0;
let unchanged = 0;

Atomics.add(waiting, 0, 1);
while (Atomics.load(waiting, 0) < threads);

for (let i = 0; i < merges && fault === ''; i++) {
  words.read(NAMESERVICE, before);
  look(before);
  answer.namenode = thread;
  answer.proof = Proof.ACTIVE;
  answer.txid = ((i * threads + thread) % HIGHEST_HALF) * BOTH_HALVES;
  answer.sentEpoch = before.epoch;
  const isChanged = words.merge(NAMESERVICE, answer, 1, 1, state);
  look(state);
  if (!isChanged) unchanged++;
  else if (state.txid !== answer.txid) fault = `merged ${answer.txid}, and ${state.txid} came of it`;
  else if (state.epoch === before.epoch) raised++;
  else if (state.epoch === (before.epoch + 1) % EPOCHS) begun++;
  else fault = `epoch ${before.epoch} became ${state.epoch}`;
}
const report: WordsReport = { begun, raised, unchanged, fault };
parentPort?.postMessage(report);

function look({ txid, active }: State): void {
  if (txid !== NO_TXID && txid % BOTH_HALVES !== 0) fault = `${txid} was never written`;
  if (active < -1 || active >= threads) fault = `NameNode ${active} was never written`;
}
