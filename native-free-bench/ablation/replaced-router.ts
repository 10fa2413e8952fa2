/** Starts the router with the modules of one variant replaced, and makes sure that they were. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RouterOptions, type RunningProxy, startRouter } from '../harness/proxies.ts';
import { PRELOAD_RECORD, PRELOAD_VARIANT, type Replaced } from './preload.ts';
import type { Variant } from './variants.ts';

const PRELOAD = new URL('./preload.ts', import.meta.url).href;

/**
 * Fails when a replacement was not loaded in a thread that carries calls: then the router would be measured as it is, under the name of
 * the variant.
 */
export async function startReplacedRouter(
  variant: Variant,
  options: Omit<RouterOptions, 'handoff'>,
): Promise<RunningProxy> {
  mkdirSync(options.directory, { recursive: true });
  const record = join(options.directory, 'replaced.jsonl');
  const router = await startRouter({
    ...options,
    handoff: variant.handoff,
    env: variant.replacements.length === 0 ? options.env : withPreload(options.env, variant, record),
  });
  const missing = findMissing(variant, record);
  if (missing.length > 0) {
    await router.child?.stop();
    throw new Error(`variant ${variant.name}: ${missing.join(', ')} was not replaced in any thread of the router`);
  }
  return router;
}

function withPreload(env: NodeJS.ProcessEnv, variant: Variant, record: string): NodeJS.ProcessEnv {
  return {
    ...env,
    NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} --import ${PRELOAD}`.trim(),
    [PRELOAD_VARIANT]: variant.name,
    [PRELOAD_RECORD]: record,
  };
}

/** Modules of the variant that no thread but the main one has replaced. */
export function findMissing(variant: Variant, record: string): string[] {
  const lines = existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [];
  const replaced = new Set<string>();
  for (const line of lines) {
    if (line === '') continue;
    const { module, thread } = JSON.parse(line) as Replaced;
    if (thread !== 0) replaced.add(module);
  }
  return variant.replacements.map(({ module }) => module).filter((module) => !replaced.has(module));
}
