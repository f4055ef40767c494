import { pathMatches } from '../../base/go/path-match.ts';
import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import { isCrunAnnotation } from '../settings/crun-annotations.ts';
import type { SpecHandler, SpecRequest } from './spec-request.ts';

const PREFIX = 'io.kubernetes.cri';

/**
 * Annotations that programs below CRI (kata, NRI, monitoring) use: those of the base spec, those that the handler passes
 * on, and containerd's own, each over the previous ones.
 */
export function containerAnnotations({
  sandboxId,
  sandbox,
  container,
  imageName,
  handler,
}: SpecRequest): Record<string, string> {
  return {
    ...handler.baseSpec?.annotations,
    ...passedAnnotations(sandbox.annotations, handler.podAnnotations),
    ...passedAnnotations(container.annotations, handler.containerAnnotations),
    ...podAnnotations(sandboxId, sandbox),
    [`${PREFIX}.container-name`]: container.metadata?.name ?? '',
    [`${PREFIX}.image-name`]: imageName,
    [`${PREFIX}.container-type`]: 'container',
  };
}

export function pauseAnnotations(
  sandboxId: string,
  sandbox: PodSandboxConfig,
  handler: Pick<SpecHandler, 'podAnnotations'>,
): Record<string, string> {
  const resources = sandbox.linux?.resources;
  return {
    ...passedAnnotations(sandbox.annotations, handler.podAnnotations),
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

/** No pattern matches an annotation that controls crun: only the runtime sets those. */
function passedAnnotations(
  annotations: Readonly<Record<string, string>>,
  patterns: readonly string[],
): Record<string, string> {
  const isPassed = (name: string): boolean =>
    !isCrunAnnotation(name) && patterns.some((pattern) => pathMatches(pattern, name));
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => isPassed(name)));
}

function podAnnotations(sandboxId: string, { metadata }: PodSandboxConfig): Record<string, string> {
  return {
    [`${PREFIX}.sandbox-id`]: sandboxId,
    [`${PREFIX}.sandbox-namespace`]: metadata?.namespace ?? '',
    [`${PREFIX}.sandbox-uid`]: metadata?.uid ?? '',
    [`${PREFIX}.sandbox-name`]: metadata?.name ?? '',
  };
}
