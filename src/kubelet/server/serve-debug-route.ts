import { assertNever } from '../../base/assert-never.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import { processStartSeconds } from './process-metrics.ts';
import type { DebugRoute } from './route.ts';
import { type ContainerCallDeps, serveCheckpoint, serveRun } from './serve-container-calls.ts';
import { serveLogVerbosity } from './serve-log-verbosity.ts';
import { type ProfileDeps, serveProfile } from './serve-profile.ts';
import { type SystemLogDeps, serveSystemLogs } from './serve-system-logs.ts';
import { serveFlagz, serveStatusz } from './serve-zpages.ts';
import type { ProcessStatus } from './zpages/statusz.ts';

export interface DebugDeps {
  readonly calls: ContainerCallDeps;
  readonly logs: SystemLogDeps;
  readonly profiles: ProfileDeps;
  readonly fs: Parameters<typeof processStartSeconds>[0];
  readonly clock: ContainerCallDeps['clock'];
  /** The command line, for `/flagz`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly status: Pick<ProcessStatus, 'kubernetesVersion' | 'languageVersion' | 'paths'>;
  /** Sets the verbosity of the log. */
  setVerbosity(verbosity: number): void;
}

/** Serves what `enableDebuggingHandlers` enables beside streams and container logs. */
export async function serveDebugRoute(
  deps: DebugDeps,
  route: DebugRoute,
  request: TlsRequest,
): Promise<ServerResponse> {
  const { query, signal } = request;
  switch (route.kind) {
    case 'run':
      return serveRun(deps.calls, route.target, query, signal);
    case 'checkpoint':
      return serveCheckpoint(deps.calls, route.target, query, signal);
    case 'systemLogs':
      return serveSystemLogs(deps.logs, route.path, request);
    case 'profile':
      return serveProfile(deps.profiles, route.name, request);
    case 'logVerbosity':
      return serveLogVerbosity(request, deps.setVerbosity);
    case 'flagz':
      return serveFlagz(deps.flags, request);
    case 'statusz':
      return serveStatusz(await processStatus(deps), request);
    default:
      return assertNever(route);
  }
}

async function processStatus({ fs, clock, status }: DebugDeps): Promise<ProcessStatus> {
  const nowMs = clock.now();
  const started = await processStartSeconds(fs);
  return { ...status, nowMs, startedMs: started === undefined ? nowMs : 1000 * Math.trunc(started) };
}
