import type { Configuration } from '../../config/configuration.ts';
import type { Settings } from '../../shared/settings.ts';
import type { HeartbeatOptions } from './heartbeats.ts';

const ROUTER = 'dfs.federation.router';
/** Longest time a Node timer can wait; a longer one would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

export interface MembershipSettings {
  /** NameNodes are asked for their state, and the answers are written to the State Store. */
  readonly enabled: boolean;
  readonly heartbeats: HeartbeatOptions;
  /** How often the figures for LOCAL and SPACE are gathered. */
  readonly figuresPeriodMs: number;
}

/** `namenode.heartbeat.enable` is as `heartbeat.enable` when it is not set. Throws ConfigError. */
export function readMembershipSettings(
  configuration: Configuration,
  { routerId, routerUser, connectTimeoutMs }: Settings,
): MembershipSettings {
  const own = `${ROUTER}.namenode.heartbeat.enable`;
  const isSet = (configuration.get(own) ?? '').trim() !== '';
  return {
    enabled: configuration.readBoolean(isSet ? own : `${ROUTER}.heartbeat.enable`),
    heartbeats: {
      routerId,
      user: routerUser,
      connectTimeoutMs,
      intervalMs: configuration.readDurationMs(`${ROUTER}.heartbeat.interval`),
      jmxIntervalMs: configuration.readDurationMs(`${ROUTER}.namenode.heartbeat.jmx.interval`),
      healthTimeoutMs: configuration.readDurationMs(`${ROUTER}.health.monitor.timeout`),
    },
    figuresPeriodMs: Math.min(
      MAX_TIMER_MS,
      Math.max(1, configuration.readDurationMs(`${ROUTER}.router-resolver.update-period`)),
    ),
  };
}
