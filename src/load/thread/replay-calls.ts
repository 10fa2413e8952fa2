import { isInside } from '../plan/layout.ts';
import { isChanging, OPERATION_NAMES, type OperationName } from '../plan/operations.ts';
import type { LoadPlan, ReplayCall } from '../plan/plan.ts';
import { LoadError } from '../run/load-error.ts';
import { type CallSource, GIVEN_PATHS } from './call-source.ts';
import type { PathTable } from './path-table.ts';

/** The calls of a log, as they are. */
export class ReplayCalls implements CallSource {
  operation = 0;
  target = GIVEN_PATHS;
  source = 0;
  group = 0;
  /** That of the call, for the pacer: paths of a log have no numbers. */
  number = 0;
  destination = 0;
  substituted = false;
  readonly #operations: Uint8Array;
  readonly #sources: Int32Array;
  readonly #destinations: Int32Array;

  /** Throws LoadError when a call would change something outside the own directories. */
  constructor(plan: LoadPlan, calls: readonly ReplayCall[], paths: PathTable) {
    this.#operations = new Uint8Array(calls.length);
    this.#sources = new Int32Array(calls.length);
    this.#destinations = new Int32Array(calls.length);
    const known = new Map<string, number>();
    const indexOf = (path: string): number => {
      const index = known.get(path) ?? paths.add(path);
      known.set(path, index);
      return index;
    };
    for (const [i, { operation, source, destination }] of calls.entries()) {
      if (isChanging(operation)) {
        assertOwn(plan, operation, source);
        if (operation === 'rename') assertOwn(plan, operation, destination);
      }
      this.#operations[i] = OPERATION_NAMES.indexOf(operation);
      this.#sources[i] = indexOf(source);
      this.#destinations[i] = operation === 'rename' ? indexOf(destination) : 0;
    }
  }

  choose(call: number): void {
    this.number = call;
    this.operation = this.#operations[call]!;
    this.source = this.#sources[call]!;
    this.destination = this.#destinations[call]!;
  }

  settleSuccess(): void {}

  settleUnchanged(): void {}
}

function assertOwn(plan: LoadPlan, operation: OperationName, path: string): void {
  if (plan.targets.some((target) => isInside(target, path))) return;
  throw new LoadError(`replay: ${operation} of ${path} lies outside the directories of this run and is refused`);
}
