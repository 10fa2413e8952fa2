import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The State Store in a real ZooKeeper: needs Java and the server (see support/zookeeper-server.ts). */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  cacheDir: fileURLToPath(new URL('../../.cache/vite', import.meta.url)),
  test: {
    name: 'zookeeper',
    include: ['test/zookeeper/*.test.ts'],
    reporters: ['default', fileURLToPath(new URL('../tally.ts', import.meta.url))],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
