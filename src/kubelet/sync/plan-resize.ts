import type { ObservedContainer } from '../pod/observed-pod.ts';
import type { ContainerKill, ContainerStart, PodResize } from './pod-plan.ts';
import type { PodView } from './pod-view.ts';

/** Kills a container whose resize policy requires a restart. */
export function killForResize({ id, name }: ObservedContainer, { resize }: PodView): ContainerKill | undefined {
  if (resize?.containers.get(name) !== 'restart') return undefined;
  return { id, name, reason: 'resized', message: `Container ${name} resize requires restart` };
}

/** `undefined` when the pod has its allocated resources. Containers that neither run nor start now are ignored. */
export function planResize(
  { spec, containers, resize }: PodView,
  kill: readonly ContainerKill[],
  start: readonly ContainerStart[],
): PodResize | undefined {
  if (!resize) return undefined;
  const killed = new Set(kill.map(({ name }) => name));
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  const isUpdated = (name: string): boolean =>
    resize.containers.get(name) === 'update' && containers.get(name)?.state === 'running' && !killed.has(name);
  const update = all.map(({ name }) => name).filter(isUpdated);
  const starts = start.some(({ name }) => resize.containers.has(name));
  return resize.pod || starts || update.length > 0 ? { update } : undefined;
}
