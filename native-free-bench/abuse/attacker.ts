/**
 * An attack in a process of its own, with the least claim to its core: what it does must not slow down the load that measures.
 *
 *   node attacker.ts --attack NAME --port P --path PATH --connections N --rate R
 *
 * Begins at once; ends when it is sent the message 'end', and answers with what was done.
 */

import { setPriority } from 'node:os';
import { readArguments, readNames, readWhole } from '../harness/arguments.ts';
import { ATTACKS, runAttack } from './attacks.ts';

const LEAST_PRIORITY = 19;
const MOST = 1_000_000;

const values = readArguments({
  attack: { type: 'string' },
  port: { type: 'string' },
  path: { type: 'string' },
  connections: { type: 'string' },
  rate: { type: 'string' },
});
setPriority(LEAST_PRIORITY);
const ended = new AbortController();
const [attack = 'storm'] = readNames(values, 'attack', ATTACKS);
const running = runAttack(
  {
    attack,
    port: readWhole(values, 'port', 1, 65_535, 0),
    path: String(values['path']),
    connections: readWhole(values, 'connections', 1, MOST, 1),
    ratePerSecond: readWhole(values, 'rate', 1, MOST, 1),
  },
  ended.signal,
);
process.on('disconnect', () => process.exit(0));
process.on('message', () => {
  ended.abort();
  void running.then((done) => process.send?.(done, () => process.exit(0)));
});
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
