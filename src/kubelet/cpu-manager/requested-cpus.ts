import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { isPodLevelResource } from '../../api/pod-resources.ts';
import { qosClass } from '../../api/qos.ts';
import { parseQuantity } from '../../base/quantity.ts';

/** The number of exclusive CPUs that a container requests; 0: it runs on the shared pool. */
export function exclusiveCpus(pod: Pod, container: Container): number {
  if (qosClass(pod) !== 'Guaranteed' || hasPodLevelResources(pod)) return 0;
  const cpu = container.resources?.requests?.['cpu'];
  if (cpu === undefined) return 0;
  const quantity = parseQuantity(cpu);
  return quantity.value() * 1000n === quantity.milliValue() ? Number(quantity.value()) : 0;
}

/**
 * The number of exclusive CPUs that all containers of a pod need together. An init container uses the CPUs of those after it,
 * a restartable one has its own.
 */
export function exclusiveCpusOfPod(pod: Pod): number {
  const { initContainers = [], containers } = pod.spec;
  let [ofInit, ofSidecars] = [0, 0];
  for (const container of initContainers) {
    const count = exclusiveCpus(pod, container);
    if (isRestartable(container)) ofSidecars += count;
    else ofInit = Math.max(ofInit, ofSidecars + count);
  }
  const ofApps = containers.reduce((sum, container) => sum + exclusiveCpus(pod, container), 0);
  return Math.max(ofInit, ofApps + ofSidecars);
}

/** Whether the CPUs of the container can be given to containers after it. */
export function runsToCompletion({ spec }: Pod, { name }: Container): boolean {
  const container = spec.initContainers?.find((each) => each.name === name);
  return container !== undefined && !isRestartable(container);
}

function isRestartable({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}

/** Such pods get no exclusive CPUs while the feature gate PodLevelResourceManagers is off. */
function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  const names = [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})];
  return names.some(isPodLevelResource);
}
