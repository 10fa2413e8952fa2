/** Reads the file that bench:scale writes with --json. */

import { readFileSync } from 'node:fs';
import { SCALE_VERSION, type ScaleResult } from './result.ts';

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
