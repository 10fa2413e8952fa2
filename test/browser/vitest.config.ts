import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Pages in a real browser: needs Chromium (see browser.ts). */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../../.cache/vite', import.meta.url)),
  test: {
    name: 'browser',
    include: ['test/browser/*.test.ts'],
    reporters: ['default', fileURLToPath(new URL('../tally.ts', import.meta.url))],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
