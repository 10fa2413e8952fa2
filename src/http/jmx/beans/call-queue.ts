import { type Bean, classBean, metricsBean } from '../bean.ts';
import type { Scrape } from '../scrape.ts';
import { type Attributes, floating, jsonText, type Value } from '../values.ts';

/** Beans of Hadoop's call queue and scheduler, of all nameservices' queues together; none with a queue of one level and no scheduler. */
export function callQueueBeans(rpcPort: number, hasLevels: boolean, hasScheduler: boolean): Bean[] {
  const namespace = `ipc.${rpcPort}`;
  return [...(hasLevels ? queueBeans(namespace) : []), ...(hasScheduler ? schedulerBeans(namespace) : [])];
}

function levelsOf({ admission }: Scrape): { readonly waiting: number; readonly overflowed: number }[] {
  const count = Math.max(0, ...admission.map(({ levels }) => levels.length));
  return Array.from({ length: count }, (_, level) => ({
    waiting: admission.reduce((sum, { levels }) => sum + (levels[level]?.waiting ?? 0), 0),
    overflowed: admission.reduce((sum, { levels }) => sum + (levels[level]?.overflowed ?? 0), 0),
  }));
}

function queueBeans(namespace: string): Bean[] {
  const source = metricsBean(`${namespace}.FairCallQueue`, { Context: 'rpc', namespace }, (scrape) => {
    const attributes: Record<string, Value> = {};
    for (const [level, { waiting, overflowed }] of levelsOf(scrape).entries()) {
      attributes[`FairCallQueueSize_p${level}`] = waiting;
      attributes[`FairCallQueueOverflowedCalls_p${level}`] = overflowed;
    }
    return attributes;
  });
  const bean: Bean = classBean(
    `Hadoop:service=${namespace},name=FairCallQueue`,
    'org.apache.hadoop.ipc.FairCallQueue$MetricsProxy',
    (scrape) => {
      const levels = levelsOf(scrape);
      return {
        Revision: 1,
        QueueSizes: levels.map(({ waiting }) => waiting),
        OverflowedCalls: levels.map(({ overflowed }) => overflowed),
      };
    },
  );
  return [bean, source];
}

function schedulerBeans(namespace: string): Bean[] {
  const bean: Bean = classBean(
    `Hadoop:service=${namespace},name=DecayRpcScheduler`,
    'org.apache.hadoop.ipc.DecayRpcScheduler$MetricsProxy',
    ({ scheduler }) => {
      const top = scheduler?.top ?? [];
      return {
        UniqueIdentityCount: scheduler?.callers ?? 0,
        TotalCallVolume: Math.round(scheduler?.decayedVolume ?? 0),
        ResponseTimeCountInLastWindow: [...(scheduler?.completed ?? [])],
        AverageResponseTime: (scheduler?.responseMs ?? []).map(floating),
        SchedulingDecisionSummary: jsonText(Object.fromEntries(top.map(({ name, level }) => [name, level]))),
        CallVolumeSummary: jsonText(Object.fromEntries(top.map(({ name, volume }) => [name, Math.round(volume)]))),
      };
    },
  );
  const metrics = metricsBean(`DecayRpcSchedulerMetrics2.${namespace}`, { Context: namespace }, ({ scheduler }) => {
    const attributes: Record<string, Value> = {
      DecayedCallVolume: Math.round(scheduler?.decayedVolume ?? 0),
      UniqueCallers: scheduler?.callers ?? 0,
      CallVolume: Math.round(scheduler?.volume ?? 0),
      ServiceUserDecayedCallVolume: Math.round(scheduler?.serviceDecayedVolume ?? 0),
      ServiceUserCallVolume: Math.round(scheduler?.serviceVolume ?? 0),
    };
    // As the Java Router leaves out what no address could name.
    for (const { name, volume, level } of scheduler?.top ?? []) {
      if (/[=: ]/.test(name)) continue;
      attributes[`Caller(${name}).Volume`] = Math.round(volume);
      attributes[`Caller(${name}).Priority`] = level;
    }
    for (const [level, completed] of (scheduler?.completed ?? []).entries()) {
      attributes[`Priority.${level}.AvgResponseTime`] = floating(scheduler?.responseMs[level] ?? 0);
      attributes[`Priority.${level}.CompletedCallVolume`] = completed;
    }
    return attributes;
  });
  return [bean, metrics, detailedBean(namespace)];
}

/** Times by level of the last period; those in the queue are not measured apart. The levels are counted from 1. */
function detailedBean(namespace: string): Bean {
  const tags = { port: namespace, Context: 'decayrpcschedulerdetailed' };
  return metricsBean(`DecayRpcSchedulerDetailedMetrics.${namespace}`, tags, ({ scheduler }): Attributes => {
    const attributes: Record<string, Value> = {};
    for (const [level, completed] of (scheduler?.completed ?? []).entries()) {
      const stem = `DecayRPCSchedulerPriority.${level + 1}.Rpc`;
      attributes[`${stem}ProcessingTimeNumOps`] = completed;
      attributes[`${stem}ProcessingTimeAvgTime`] = floating(scheduler?.responseMs[level] ?? 0);
      attributes[`${stem}QueueTimeNumOps`] = completed;
      attributes[`${stem}QueueTimeAvgTime`] = floating(0);
    }
    return attributes;
  });
}
