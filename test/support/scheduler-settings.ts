import type { SchedulerSettings } from '../../src/shared/settings.ts';

/** Hadoop's defaults for four levels; the period ends when the test says so. */
export const FOUR_LEVELS: SchedulerSettings = {
  periodMs: 5_000,
  factor: 0.5,
  thresholds: [0.125, 0.25, 0.5],
  serviceUsers: [],
  identity: 'user',
  weightedCost: null,
  responseTimesMs: null,
  topUsers: 10,
};
