/** Listens and then never comes back to its event loop, until it is woken: nobody accepts. */
import { createServer } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { host, port, wake } = workerData as { host: string; port: number; wake: Int32Array };
const server = createServer();
server.listen({ host, port, backlog: 1 }, () => {
  parentPort?.postMessage('listening');
  Atomics.wait(wake, 0, 0);
  server.close();
});
