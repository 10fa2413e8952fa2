/**
 * Client connections that have each made one call and stay open, for the memory of an idle connection.
 *
 *   node hold.ts --port P --connections N
 *
 * Prints {"held":N} when all are answered, and keeps them until it is told to end. Exit 1 when one fails.
 */

import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { readArguments, readWhole } from './arguments.ts';
import { benchPaths } from './drive.ts';
import { bytesField, CallId, encodeCall, encodeHandshake } from './frames.ts';

/** Connections that are opened at once. */
const MAX_CONNECTING = 64;
const MAX_CONNECTIONS = 60_000;

const values = readArguments({ port: { type: 'string' }, connections: { type: 'string' } });
const port = readWhole(values, 'port', 1, 65535, 0);
const count = readWhole(values, 'connections', 1, MAX_CONNECTIONS, 1);
const [path] = benchPaths(1) as [string];
const held: net.Socket[] = [];
let begun = 0;

process.on('disconnect', () => process.exit(0));
while (begun < Math.min(count, MAX_CONNECTING)) open();

function open(): void {
  begun++;
  const clientId = randomBytes(16);
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true }, () => {
    const call = encodeCall('getFileInfo', bytesField(1, path), clientId, CallId.FIRST);
    socket.write(Buffer.concat([encodeHandshake('bench', clientId), call]));
  });
  socket.once('data', () => {
    held.push(socket);
    if (held.length === count) process.stdout.write(`${JSON.stringify({ held: count })}\n`);
    else if (begun < count) open();
  });
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => fail('the other end closed a connection'));
}

function fail(reason: string): never {
  process.stderr.write(`connections on port ${port}: ${reason} (${held.length} of ${count} are held)\n`);
  process.exit(1);
}
