import { bucketOfMs, createCounts } from '../histogram/latency-buckets.ts';
import { OPERATION_NAMES } from '../plan/operations.ts';
import type { CellReport, SecondReport } from '../plan/plan.ts';

/** Error classes that one cell tells apart; errors of further ones count as OTHER_CLASS. */
export const MAX_ERROR_CLASSES = 64;
export const OTHER_CLASS = 'other';
export const TIMEOUT_CLASS = 'timeout';
export const CONNECTION_CLASS = 'connection';
/** The call was answered, with false. */
export const FALSE_CLASS = 'false';
/** A read of a file that this run has made was answered with nothing. */
export const MISSING_CLASS = 'missing';
/** A reply that breaks the protocol. */
export const PROTOCOL_CLASS = 'protocol';
const MAX_MESSAGE_CHARACTERS = 300;

interface ErrorCount {
  count: number;
  readonly firstMessage: string;
}

class Cell {
  readonly corrected: Uint32Array = createCounts();
  readonly service: Uint32Array = createCounts();
  correctedMaxMs = 0;
  serviceMaxMs = 0;
  successes = 0;
  readonly errors = new Map<string, ErrorCount>();
}

/** Latencies and errors by operation and target, and those of the present second. Cell = operation · (targets + 1) + target + 1. */
export class Recorder {
  /** Since the second began. */
  replies = 0;
  errors = 0;
  sent = 0;
  readonly #targets: number;
  readonly #cells: (Cell | null)[];
  readonly #corrected: Uint32Array = createCounts();
  readonly #service: Uint32Array = createCounts();
  /** Of these, calls that are not measured. */
  readonly #otherCorrected: Uint32Array = createCounts();
  readonly #otherService: Uint32Array = createCounts();
  #others = 0;
  #correctedMaxMs = 0;
  #serviceMaxMs = 0;

  constructor(targets: number) {
    this.#targets = targets;
    this.#cells = new Array(OPERATION_NAMES.length * (targets + 1)).fill(null);
  }

  /** Something happened in the present second. */
  get hasCounts(): boolean {
    return this.replies + this.errors + this.sent > 0;
  }

  /** `target` -1: no target. */
  cellOf(operation: number, target: number): number {
    return operation * (this.#targets + 1) + target + 1;
  }

  operationOf(cell: number): number {
    return Math.floor(cell / (this.#targets + 1));
  }

  /** Index in plan.targets, or -1. */
  targetOf(cell: number): number {
    return (cell % (this.#targets + 1)) - 1;
  }

  /** Service times of the measured calls so far. Not for each call: it adds up all cells. */
  serviceCounts(): Uint32Array {
    const counts = createCounts();
    for (const cell of this.#cells) {
      if (cell !== null) for (let i = 0; i < counts.length; i++) counts[i] = counts[i]! + cell.service[i]!;
    }
    return counts;
  }

  recordLatency(cell: number, isMeasured: boolean, correctedMs: number, serviceMs: number): void {
    const service = bucketOfMs(serviceMs);
    const corrected = correctedMs === serviceMs ? service : bucketOfMs(correctedMs);
    countOne(this.#corrected, corrected);
    countOne(this.#service, service);
    if (correctedMs > this.#correctedMaxMs) this.#correctedMaxMs = correctedMs;
    if (serviceMs > this.#serviceMaxMs) this.#serviceMaxMs = serviceMs;
    if (!isMeasured) {
      countOne(this.#otherCorrected, corrected);
      countOne(this.#otherService, service);
      this.#others++;
      return;
    }
    const into = this.#cells[cell] ?? this.#open(cell);
    countOne(into.corrected, corrected);
    countOne(into.service, service);
    if (correctedMs > into.correctedMaxMs) into.correctedMaxMs = correctedMs;
    if (serviceMs > into.serviceMaxMs) into.serviceMaxMs = serviceMs;
  }

  /** A measured call was answered as it should be. */
  recordSuccess(cell: number): void {
    (this.#cells[cell] ?? this.#open(cell)).successes++;
  }

  recordError(cell: number, isMeasured: boolean, errorClass: string, message: string): void {
    this.errors++;
    if (!isMeasured) return;
    const { errors } = this.#cells[cell] ?? this.#open(cell);
    const isNew = !errors.has(errorClass);
    const named = isNew && errors.size >= MAX_ERROR_CLASSES ? OTHER_CLASS : errorClass;
    const known = errors.get(named);
    if (known === undefined) errors.set(named, { count: 1, firstMessage: shorten(message) });
    else known.count++;
  }

  /** The counts since the last call, which begins the next second. */
  takeSecond(second: number, measured: boolean, waiting: number, inFlight: number): SecondReport {
    const report: SecondReport = {
      kind: 'second',
      second,
      measured,
      replies: this.replies,
      errors: this.errors,
      waiting,
      inFlight,
      corrected: this.#corrected.slice(),
      service: this.#service.slice(),
      measuredCalls:
        this.#others === 0
          ? null
          : {
              corrected: subtract(this.#corrected, this.#otherCorrected),
              service: subtract(this.#service, this.#otherService),
            },
      correctedMaxMs: this.#correctedMaxMs,
      serviceMaxMs: this.#serviceMaxMs,
    };
    this.replies = 0;
    this.errors = 0;
    this.sent = 0;
    this.#corrected.fill(0);
    this.#service.fill(0);
    if (this.#others > 0) {
      this.#otherCorrected.fill(0);
      this.#otherService.fill(0);
      this.#others = 0;
    }
    this.#correctedMaxMs = 0;
    this.#serviceMaxMs = 0;
    return report;
  }

  reportCells(): CellReport[] {
    const reports: CellReport[] = [];
    for (const [index, cell] of this.#cells.entries()) {
      const operation = OPERATION_NAMES[this.operationOf(index)];
      if (cell === null || operation === undefined) continue;
      reports.push({
        operation,
        target: this.targetOf(index),
        corrected: cell.corrected,
        service: cell.service,
        correctedMaxMs: cell.correctedMaxMs,
        serviceMaxMs: cell.serviceMaxMs,
        successes: cell.successes,
        errors: Object.fromEntries(cell.errors),
      });
    }
    return reports;
  }

  #open(cell: number): Cell {
    const opened = new Cell();
    this.#cells[cell] = opened;
    return opened;
  }
}

function countOne(counts: Uint32Array, bucket: number): void {
  counts[bucket] = counts[bucket]! + 1;
}

function subtract(all: Uint32Array, some: Uint32Array): Uint32Array {
  return all.map((count, bucket) => count - some[bucket]!);
}

/** The first line: Java appends a stack trace. */
function shorten(message: string): string {
  const lineEnd = message.indexOf('\n');
  return (lineEnd < 0 ? message : message.slice(0, lineEnd)).slice(0, MAX_MESSAGE_CHARACTERS);
}
