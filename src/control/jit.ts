import { setFlagsFromString } from 'node:v8';

/**
 * Larger bounds for inlining in V8's optimising compiler. The path of a call is many small functions; with the default bounds (460 bytes of
 * bytecode in one, 920 in all) part of them stay calls. Measured with 8 clients × 64 calls in flight: 9 % less CPU per call. Flags hold for
 * all threads of the process, so they are set before the threads of the router start.
 */
export function raiseInlining(): void {
  setFlagsFromString('--max-inlined-bytecode-size=1000');
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000');
}
