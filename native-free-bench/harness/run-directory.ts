/** The directory of a bench run: everything that the run and its children write lies in it, and goes with it however the run ends. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killAll } from './children.ts';

export interface RunDirectory {
  readonly path: string;
  /** Environment of the children: with a compile cache and a directory for temporary files in `path`. */
  readonly env: NodeJS.ProcessEnv;
}

/** `name` tells the bench. Temporary files of this process are made in it too from now on. */
export function makeRunDirectory(name: string): RunDirectory {
  const path = mkdtempSync(join(tmpdir(), `switchyard-${name}-`));
  process.env['TMPDIR'] = path;
  process.on('exit', () => {
    // First: a child that still runs would make its directory anew.
    killAll();
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  });
  return { path, env: { ...process.env, NODE_COMPILE_CACHE: join(path, 'compile-cache') } };
}
