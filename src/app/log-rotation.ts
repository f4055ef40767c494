import { LogRotation } from '../kubelet/logs/log-rotation.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { AgentParts } from './agent.ts';

/** What keeps the logs of containers within the limits of the configuration. */
export function createLogRotation({ host, cri, log, settings }: AgentParts, observed: ObservedPods): LogRotation {
  const { fs, clock } = host;
  return new LogRotation({ fs, clock, log, runtime: cri.runtime, observed, policy: settings.containerLogs });
}
