/**
 * Loaded before the router's own modules in each of its threads (NODE_OPTIONS=--import): resolves the modules of one variant to their
 * replacements. The environment says which (PRELOAD_VARIANT) and where to note what was done (PRELOAD_RECORD, a file: one JSON object a
 * line for each replacement that a thread loads, see Replaced).
 */

import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { threadId } from 'node:worker_threads';
import { VARIANT_NAMES, VARIANTS } from './variants.ts';

/** Environment variables that are read here; the bench sets them. */
export const PRELOAD_VARIANT = 'SWITCHYARD_ABLATION';
export const PRELOAD_RECORD = 'SWITCHYARD_ABLATION_RECORD';

/** One line of the record. */
export interface Replaced {
  readonly module: string;
  /** 0 for the main thread. */
  readonly thread: number;
}

const ROOT = new URL('../../', import.meta.url);
const HERE = new URL('./', import.meta.url);

const name = process.env[PRELOAD_VARIANT];
if (name !== undefined) replaceModules(name);

function replaceModules(name: string): void {
  const variant = VARIANTS.find((candidate) => candidate.name === name);
  if (variant === undefined) {
    process.stderr.write(`${PRELOAD_VARIANT}=${name}: no such variant; there are ${VARIANT_NAMES.join(', ')}\n`);
    process.exit(2);
  }
  const record = process.env[PRELOAD_RECORD];
  if (record === undefined) {
    process.stderr.write(`${PRELOAD_RECORD} is not set: name the file that notes what is replaced\n`);
    process.exit(2);
  }
  const replacements = new Map(
    variant.replacements.map(({ module, by }) => [
      new URL(module, ROOT).href,
      { module, by: new URL(by, HERE).href, noted: false },
    ]),
  );
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const replacement = replacements.get(resolved.url);
      // The replacement itself may use what it replaces.
      if (replacement === undefined || context.parentURL === replacement.by) return resolved;
      return { ...resolved, url: replacement.by };
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      for (const replacement of replacements.values()) {
        if (replacement.by !== url || replacement.noted) continue;
        replacement.noted = true;
        const line: Replaced = { module: replacement.module, thread: threadId };
        appendFileSync(record, `${JSON.stringify(line)}\n`);
      }
      return loaded;
    },
  });
}
