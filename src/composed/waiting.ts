/**
 * How long a nameservice that cannot be reached is waited for by a call that needs its answer: about as long as a failover takes. Where others can
 * answer instead it is `dfs.federation.router.client.mount-status.time-out`.
 */
export const FAILOVER_WAIT_MS = 20_000;
