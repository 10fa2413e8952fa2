import { type Bean, metricsBean } from '../bean.ts';
import { floating } from '../values.ts';

export const HTTP_NOTHING = {
  AsyncDispatches: 0,
  AsyncRequests: 0,
  AsyncRequestsWaiting: 0,
  AsyncRequestsWaitingMax: 0,
  Expires: 0,
} as const;

/** The HTTP server itself. */
export function httpServerBean(port: number): Bean {
  return metricsBean(`HttpServer2-${port}`, { Context: 'http' }, ({ sources }) => {
    const { http } = sources;
    const mean = http.ended === 0 ? 0 : http.sumMs / http.ended;
    const deviation = http.ended === 0 ? 0 : Math.sqrt(Math.max(0, http.sumOfSquares / http.ended - mean * mean));
    const [, informed = 0, done = 0, redirected = 0, refused = 0, failed = 0] = http.answers;
    return {
      Dispatched: http.requests,
      DispatchedActive: http.running,
      DispatchedActiveMax: http.runningMost,
      DispatchedTimeMax: Math.round(http.longestMs),
      DispatchedTimeMean: floating(mean),
      DispatchedTimeStdDev: floating(deviation),
      DispatchedTimeTotal: Math.round(http.sumMs),
      RequestsActive: http.running,
      RequestsActiveMax: http.runningMost,
      RequestTimeMax: Math.round(http.longestMs),
      RequestTimeMean: floating(mean),
      RequestTimeStdDev: floating(deviation),
      RequestTimeTotal: Math.round(http.sumMs),
      Responses1xx: informed,
      Responses2xx: done,
      Responses3xx: redirected,
      Responses4xx: refused,
      Responses5xx: failed,
      ResponsesBytesTotal: http.bytes,
      StatsOnMs: Math.round(performance.now() - http.sinceMs),
      Requests: http.requests,
      ...HTTP_NOTHING,
    };
  });
}
