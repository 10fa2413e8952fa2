import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));

// Child processes and threads strip the types of every file they load; a shared cache makes all but the first start cheap.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('../.cache/node', import.meta.url));

export const TEST_TIMEOUT_MS = 30_000;

export default defineConfig({
  root,
  cacheDir: fileURLToPath(new URL('../.cache/vite', import.meta.url)),
  test: {
    reporters: ['default', fileURLToPath(new URL('./tally.ts', import.meta.url))],
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts', 'native-free-bench/**/*.test.ts'], pool: 'threads' },
      },
      { extends: true, test: { name: 'wire', include: ['test/wire/**/*.test.ts'], pool: 'forks' } },
      { extends: true, test: { name: 'fuzz', include: ['test/fuzz/**/*.test.ts'], pool: 'forks' } },
      { extends: true, test: { name: 'methods', include: ['test/methods/**/*.test.ts'], pool: 'forks' } },
      { extends: true, test: { name: 'history', include: ['test/history/**/*.test.ts'], pool: 'forks' } },
      { extends: true, test: { name: 'fault', include: ['test/fault/**/*.test.ts'], pool: 'forks' } },
      {
        extends: true,
        // One file at a time: the resident size of a process is compared, and other load must not disturb the collector.
        test: {
          name: 'memory',
          include: ['test/memory/**/*.test.ts'],
          pool: 'forks',
          fileParallelism: false,
          execArgv: ['--expose-gc'],
          testTimeout: 120_000,
        },
      },
    ],
  },
});
