import type { CriMethod } from './services.ts';

/** Milliseconds after which a call is given up; `undefined`: never. */
export function deadlineFor(method: CriMethod, request: unknown, runtimeRequestTimeoutMs: number): number | undefined {
  switch (method) {
    case 'runPodSandbox':
      return 2 * runtimeRequestTimeoutMs;
    case 'stopContainer':
      return runtimeRequestTimeoutMs + ownTimeoutMs(request);
    case 'execSync': {
      const own = ownTimeoutMs(request);
      return own === 0 ? undefined : runtimeRequestTimeoutMs + own;
    }
    case 'checkpointContainer':
      return Math.max(runtimeRequestTimeoutMs, ownTimeoutMs(request));
    case 'pullImage':
    case 'getContainerEvents':
      return undefined;
    default:
      return runtimeRequestTimeoutMs;
  }
}

/** The `timeout` field is in seconds in every request that has one. */
function ownTimeoutMs(request: unknown): number {
  if (typeof request !== 'object' || request === null || !('timeout' in request)) return 0;
  return typeof request.timeout === 'bigint' ? 1000 * Number(request.timeout) : 0;
}
