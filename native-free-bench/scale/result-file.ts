/** Reads the file that bench:scale writes with --json. */

import { readFileSync } from 'node:fs';
import { AXES, HELD_OUT, MEMORY_HELD_OUT, MEMORY_POINTS } from './points.ts';
import { SCALE_VERSION, type ScaleResult } from './result.ts';

/** What the page of the manual is made from has at least these. */
const LEAST_ROUNDS = 3;
const LEAST_SECONDS = 1;

/** An Error that says what to do when the file is missing, no JSON, or something else. */
export function readScaleResult(file: string): ScaleResult | Error {
  const remedy = 'make one with `npm run bench:scale -- --json FILE` and name it with --model FILE';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return new Error(`${file}: it cannot be read; ${remedy}`);
  }
  try {
    const result = JSON.parse(text) as Partial<ScaleResult> | null;
    if (result?.version === SCALE_VERSION && Array.isArray(result.axes) && result.model !== undefined) {
      return result as ScaleResult;
    }
  } catch {
    return new Error(`${file}: it is not JSON; ${remedy}`);
  }
  return new Error(`${file}: it is no result of the scale bench of this version; ${remedy}`);
}

/** Why the page of the manual cannot be made from the result; '' when it can. */
export function findGap(result: ScaleResult): string {
  const { rounds, seconds, axes, failures, heldOut, memory, memoryHeldOut, model, modelMissing } = result;
  if (rounds < LEAST_ROUNDS || seconds < LEAST_SECONDS) {
    return `${rounds} rounds of ${seconds} s are too short (--quick?): at least ${LEAST_ROUNDS} of ${LEAST_SECONDS} s are wanted`;
  }
  if (failures.length > 0) return `${failures.length} loads could not be measured; the first: ${failures[0]}`;
  const faulty = [...axes.flatMap(({ points }) => points), ...heldOut].find(({ errors }) => errors > 0);
  if (faulty !== undefined) return `calls failed at ${faulty.point.name}: ${faulty.firstError}`;
  const missing = AXES.find(
    ({ name, points }) => (axes.find(({ axis }) => axis === name)?.points.length ?? 0) < points.length,
  );
  if (missing !== undefined) return `axis ${missing.name} is not there as a whole (--only?)`;
  if (heldOut.length < HELD_OUT.length) return 'heldOut is not there as a whole (--only?)';
  if (memory.length < MEMORY_POINTS.length || memoryHeldOut.length < MEMORY_HELD_OUT.length) {
    return 'memory is not there as a whole (--only?)';
  }
  return model === null ? `it has no capacity model: ${modelMissing}` : '';
}
