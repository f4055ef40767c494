import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { SpecRequest } from './spec-request.ts';

const PREFIX = 'io.kubernetes.cri';

/** Annotations that programs below CRI (kata, NRI, monitoring) use. */
export function containerAnnotations({
  sandboxId,
  sandbox,
  container,
  imageName,
}: SpecRequest): Record<string, string> {
  return {
    ...podAnnotations(sandboxId, sandbox),
    [`${PREFIX}.container-name`]: container.metadata?.name ?? '',
    [`${PREFIX}.image-name`]: imageName,
    [`${PREFIX}.container-type`]: 'container',
  };
}

export function pauseAnnotations(sandboxId: string, sandbox: PodSandboxConfig): Record<string, string> {
  const resources = sandbox.linux?.resources;
  return {
    ...podAnnotations(sandboxId, sandbox),
    ...(resources && {
      [`${PREFIX}.sandbox-cpu-period`]: String(resources.cpuPeriod),
      [`${PREFIX}.sandbox-cpu-quota`]: String(resources.cpuQuota),
      [`${PREFIX}.sandbox-cpu-shares`]: String(resources.cpuShares),
      [`${PREFIX}.sandbox-memory`]: String(resources.memoryLimitInBytes),
    }),
    [`${PREFIX}.sandbox-log-directory`]: sandbox.logDirectory,
    [`${PREFIX}.container-type`]: 'sandbox',
  };
}

function podAnnotations(sandboxId: string, { metadata }: PodSandboxConfig): Record<string, string> {
  return {
    [`${PREFIX}.sandbox-id`]: sandboxId,
    [`${PREFIX}.sandbox-namespace`]: metadata?.namespace ?? '',
    [`${PREFIX}.sandbox-uid`]: metadata?.uid ?? '',
    [`${PREFIX}.sandbox-name`]: metadata?.name ?? '',
  };
}
