import type { RuntimeService } from '../../cri/services.ts';
import type { Host } from '../../host/host.ts';
import type { AgentView } from '../explain/agent-view.ts';
import { MediaTypes } from './logs/media-types.ts';
import type { DebugHandlers } from './route.ts';
import type { DebugDeps } from './serve-debug-route.ts';

export const ALL_HANDLERS: DebugHandlers = {
  systemLogs: true,
  profiles: true,
  flags: true,
  checkpoints: true,
  flagz: true,
  statusz: true,
};

export interface DebugWorld {
  readonly host: Pick<Host, 'fs' | 'clock' | 'processes' | 'profiler'>;
  readonly view: Pick<AgentView, 'pods'>;
  readonly runtime?: Partial<Pick<RuntimeService, 'execSync' | 'checkpointContainer'>>;
}

/** The dependencies of the debugging handlers on a machine in memory. */
export function debugDepsOf({ host, view, runtime = {} }: DebugWorld, more: Partial<DebugDeps> = {}): DebugDeps {
  const { fs, clock, processes, profiler } = host;
  const unexpected = async (): Promise<never> => {
    throw new Error('unexpected call of the runtime');
  };
  const calls = { execSync: unexpected, checkpointContainer: unexpected, ...runtime };
  return {
    calls: {
      view,
      runtime: calls,
      fs,
      clock,
      checkpointFolder: '/var/lib/kubelet/checkpoints',
      runtimeTimeoutSeconds: 120,
    },
    logs: { fs, processes, clock, mayQuery: true, mediaTypes: new MediaTypes(fs) },
    profiles: { profiler, fs },
    fs,
    clock,
    flags: { v: '2', address: '0.0.0.0' },
    status: { kubernetesVersion: 'v1.36.4', languageVersion: 'nodelet1.0.0', paths: ['/healthz', '/debug/flags/v'] },
    setVerbosity() {},
    ...more,
  };
}
