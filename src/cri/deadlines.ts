import type { CriMethod } from './services.ts';

/** Timeout of a call in milliseconds; `undefined`: none. */
export function deadlineFor(method: CriMethod, request: unknown, runtimeRequestTimeoutMs: number): number | undefined {
  switch (method) {
    case 'runPodSandbox':
      return 2 * runtimeRequestTimeoutMs;
    case 'stopContainer':
      return runtimeRequestTimeoutMs + requestTimeoutMs(request);
    case 'execSync': {
      const own = requestTimeoutMs(request);
      return own === 0 ? undefined : runtimeRequestTimeoutMs + own;
    }
    case 'checkpointContainer':
      return Math.max(runtimeRequestTimeoutMs, requestTimeoutMs(request));
    case 'pullImage':
    case 'getContainerEvents':
      return undefined;
    default:
      return runtimeRequestTimeoutMs;
  }
}

/** The `timeout` field is in seconds in every request that has one. */
function requestTimeoutMs(request: unknown): number {
  if (typeof request !== 'object' || request === null || !('timeout' in request)) return 0;
  return typeof request.timeout === 'bigint' ? 1000 * Number(request.timeout) : 0;
}
