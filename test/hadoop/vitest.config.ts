import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('../../.cache/node', import.meta.url));

/** Real Hadoop: needs a JDK 17 and Maven. One file at a time, each with NameNodes and DataNodes of its own. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../../.cache/vite', import.meta.url)),
  test: {
    name: 'hadoop',
    include: ['test/hadoop/*.test.ts'],
    reporters: ['verbose', fileURLToPath(new URL('../tally.ts', import.meta.url))],
    pool: 'forks',
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 600_000,
  },
});
