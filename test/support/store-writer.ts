/**
 * A process that works on a State Store of the file driver: `store-writer.ts ROOT [UID]`. Takes a JSON array of steps on its standard input
 * and prints one line for each.
 */
import { text } from 'node:stream/consumers';
import type { PutOptions } from '../../src/state-store/driver.ts';
import { FileDriver } from '../../src/state-store/file-driver.ts';
import { isRecord, type RecordType } from '../../src/state-store/records.ts';

interface Step {
  /** Type, name, base64 of the record, options. */
  readonly put?: readonly [RecordType, string, string, PutOptions];
  readonly remove?: readonly [RecordType, string];
  readonly read?: RecordType;
}

const [, , root = '', uid = ''] = process.argv;
const steps = JSON.parse(await text(process.stdin)) as Step[];
// The definitions of the records are read before the rights are given up.
isRecord('MountTable', Buffer.from([0]));
if (uid !== '') {
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}
const driver = new FileDriver(root);
for (const step of steps) console.log(await run(step).catch((error: Error) => `error ${error.message}`));

async function run({ put, remove, read }: Step): Promise<string> {
  if (put !== undefined) {
    const [type, name, bytes, options] = put;
    return `put ${await driver.put(type, name, Buffer.from(bytes, 'base64'), options)}`;
  }
  if (remove !== undefined) return `removed ${await driver.remove(...remove)}`;
  if (read !== undefined) return `names ${(await driver.readAll(read)).records.map(({ name }) => name).join(' ')}`;
  return 'nothing';
}
