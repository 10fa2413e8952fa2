/** The files that go into every page: the chart library, the script of the page and its style. They are read once. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface Assets {
  readonly chartLibrary: string;
  readonly chartLibraryLicense: string;
  readonly script: string;
  readonly style: string;
}

/** The modules of the script; each imports only from those before it. */
const SCRIPT_MODULES = ['format.js', 'scales.js', 'legend.js', 'points.js', 'chart.js', 'start.js'];

let assets: Assets | null = null;

export function readAssets(): Assets {
  if (assets !== null) return assets;
  const library = createRequire(import.meta.url).resolve('uplot');
  const readLibrary = (name: string): string => readFileSync(join(library, '..', name), 'utf8');
  const readOwn = (name: string): string => readFileSync(join(import.meta.dirname, 'client', name), 'utf8');
  assets = {
    chartLibrary: refuseEndTags(readLibrary('uPlot.iife.min.js').trim()),
    chartLibraryLicense: readLibrary('../LICENSE').trim(),
    script: refuseEndTags(joinModules(SCRIPT_MODULES.map(readOwn))),
    style: refuseEndTags(`${readLibrary('uPlot.min.css').trim()}\n${readOwn('style.css').trim()}`),
  };
  return assets;
}

/**
 * Makes one classic script of modules that import only from each other, with one-line imports of the same name: all share one scope, so
 * the imports and the word `export` go away.
 */
export function joinModules(modules: readonly string[]): string {
  const bodies = modules.map((text) =>
    text
      .replace(/^import \{[^}]*\} from '\.\/[a-z-]+\.js';\n/gm, '')
      .replace(/^export (?=(?:async )?function |const |let |class )/gm, '')
      .trim(),
  );
  return `(() => {\n'use strict';\n${bodies.join('\n\n')}\n})();`;
}

/** Text of a script or style element cannot be escaped: it must not have what would end it. */
function refuseEndTags(text: string): string {
  if (/<\/(?:script|style)|<!--/i.test(text))
    throw new Error('a file of the report would end the element that holds it');
  return text;
}

/** Source expression of a content security policy that allows exactly this text. */
export function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
