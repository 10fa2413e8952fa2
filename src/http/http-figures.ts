/** What the HTTP server has done since it began. Times in ms. */
export interface HttpFigures {
  readonly sinceMs: number;
  requests: number;
  running: number;
  runningMost: number;
  /** Of those that have ended. */
  ended: number;
  sumMs: number;
  sumOfSquares: number;
  longestMs: number;
  /** Answers by the first digit of their status. */
  readonly answers: number[];
  bytes: number;
}

export function noHttpFigures(): HttpFigures {
  return {
    sinceMs: performance.now(),
    requests: 0,
    running: 0,
    runningMost: 0,
    ended: 0,
    sumMs: 0,
    sumOfSquares: 0,
    longestMs: 0,
    answers: [0, 0, 0, 0, 0, 0],
    bytes: 0,
  };
}

export function beginRequest(figures: HttpFigures): void {
  figures.requests++;
  figures.running++;
  figures.runningMost = Math.max(figures.runningMost, figures.running);
}

/** `status` 0: the client went before the answer. */
export function endRequest(figures: HttpFigures, tookMs: number, status: number, bytes: number): void {
  figures.running--;
  figures.ended++;
  figures.sumMs += tookMs;
  figures.sumOfSquares += tookMs * tookMs;
  figures.longestMs = Math.max(figures.longestMs, tookMs);
  const digit = Math.trunc(status / 100);
  if (digit >= 1 && digit <= 5) figures.answers[digit] = (figures.answers[digit] ?? 0) + 1;
  figures.bytes += bytes;
}
