import type { Container, PodSpec } from './generated/core-v1.ts';

/** Every container of a pod: init, regular, then ephemeral ones. */
export function allContainers({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}
