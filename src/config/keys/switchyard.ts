import { type Key, keysOf } from '../key.ts';

/** Keys that only this router knows. Columns: key.ts. */
// biome-ignore format: a table, one key a line
export const SWITCHYARD_KEYS: readonly Key[] = [
  ...keysOf('switchyard', 'code', [
    { name: 'switchyard.acceptors', type: 'int', default: '1', status: 'used', range: [1, 64], meaning: 'Threads that own client connections' },
    { name: 'switchyard.workers', type: 'int', default: '1', status: 'used', range: [1, 64], meaning: 'Threads that own connections to NameNodes' },
    { name: 'switchyard.handoff', type: 'enum', default: 'ring', status: 'used', allowed: ['ring', 'inline'], meaning: 'How calls get from acceptors to workers: through shared memory, or both run in one thread' },
    { name: 'switchyard.drain.timeout', type: 'duration', default: '30s', unit: 'ms', status: 'used', range: [0, 3_600_000], meaning: 'Longest wait for calls in flight when the router is told to stop' },
    { name: 'switchyard.call.budget', type: 'duration', default: '110s', unit: 'ms', status: 'used', range: [1_000, 3_600_000], meaning: 'Time that one call may spend in search of a NameNode that serves it, half of it while no NameNode of its nameservice can be reached at all; not more than 11/12 of ipc.client.rpc-timeout.ms, after which clients give up' },
    { name: 'switchyard.namenode.hung-after', type: 'duration', default: '10s', unit: 'ms', status: 'used', range: [100, 3_600_000], meaning: 'Silence of a NameNode with calls waiting after which it is probed, and its calls move on if the probe fails' },
    { name: 'switchyard.observer.patience', type: 'duration', default: '2s', unit: 'ms', status: 'used', range: [10, 60_000], meaning: 'How long an observer may take for an answer, catching up included; then the call goes to the active NameNode' },
    { name: 'switchyard.window.floor', type: 'int', default: '64', status: 'used', range: [1, 1_000_000], meaning: 'Calls that a nameservice may always have in flight, without a fairness policy; not above switchyard.window.ceiling' },
    { name: 'switchyard.window.ceiling', type: 'int', default: '1024', status: 'used', range: [1, 1_000_000], meaning: 'Most calls that a nameservice may have in flight, without a fairness policy' },
    { name: 'switchyard.queue.time-limit', type: 'duration', default: '30s', unit: 'ms', status: 'used', range: [1, 3_600_000], meaning: 'Longest time that a call waits for room in the window of its nameservice, without a fairness policy; then it is refused' },
    { name: 'switchyard.coalesce.reads', type: 'bool', default: 'false', status: 'used', meaning: 'Identical reads of one user that wait for a nameservice are answered with one call to it; not those with block locations, and not where observers serve reads' },
    { name: 'switchyard.client.connections-per-address', type: 'int', default: '0', status: 'used', range: [0, 1_048_576], meaning: 'Most connections from one address to the whole router; one more is closed at once. 0: no limit, as gateways have thousands of clients behind one address' },
    { name: 'switchyard.client.connections-per-user', type: 'int', default: '0', status: 'used', range: [0, 1_048_576], meaning: 'Most connections of one effective user to the whole router; one more is told a StandbyException, with which clients go to another router. 0: no limit' },
    { name: 'switchyard.client.calls-in-flight', type: 'int', default: '4096', status: 'used', range: [1, 262_144], meaning: 'Calls of one connection that are not answered yet; with as many the connection is not read from until half of them are' },
    { name: 'switchyard.client.handshake.timeout', type: 'duration', default: '60s', unit: 'ms', status: 'used', range: [1, 3_600_000], meaning: 'Longest time from the opening of a connection until the client has said who it is' },
    { name: 'switchyard.client.frame.timeout', type: 'duration', default: '2m', unit: 'ms', status: 'used', range: [1, 3_600_000], meaning: 'Longest time for a call to arrive, from its first byte to its last; 10 s at most while more than half of switchyard.memory.limit is in use' },
    { name: 'switchyard.client.unread.limit', type: 'bytes', default: '128m', unit: 'bytes', status: 'used', range: [1_048_576, 1_099_511_627_776], meaning: 'Most answers that wait for one client because it does not read, and one answer more; beyond it the connection is closed. From 1 MiB on its calls are not read' },
    { name: 'switchyard.memory.limit', type: 'bytes', default: '512m', unit: 'bytes', status: 'used', range: [16_777_216, 1_099_511_627_776], meaning: 'Most memory for partial requests, queued calls and unsent answers of the whole process; what is handed from thread to thread comes on top: at most 64 MiB, or one longer frame, for each direction between an acceptor and a worker' },
    { name: 'switchyard.http.token.file', type: 'trimmed', default: '', status: 'used', meaning: 'File of users and tokens for changes over HTTP (`switchyard help admin`); none: over HTTP everything can be read and nothing changed' },
    { name: 'switchyard.log.level', type: 'enum', default: 'info', status: 'used', allowed: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], meaning: 'Least important lines that are logged' },
  ]),
];
