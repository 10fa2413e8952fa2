import type { Reporter, TestModule } from 'vitest/node';

/**
 * Prints `tests: N passed, N failed, N skipped` as the very last line of a run. Files that do not load, failed hooks and unhandled
 * rejections count as failures, so a run that could not run its tests never looks green.
 */
export default class Tally implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    process.once('exit', () => {
      process.stdout.write(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    });
  }
}
