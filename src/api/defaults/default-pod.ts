import { deepFreeze } from '../../base/deep-freeze.ts';
import type { Container, Pod, PodSpec } from '../generated/core-v1.ts';
import { defaultContainer, defaultEphemeralContainer } from './default-container.ts';
import { milliResources, podLevelResources, requestsFromLimits } from './default-resources.ts';
import { defaultVolume } from './default-volume.ts';

/**
 * The pod with everything filled in that the API server would fill in (not what admission plugins add). As there, an
 * empty text counts as left out. Safe to repeat. The result is deeply frozen.
 */
export function defaultPod(pod: Pod): Pod {
  return deepFreeze({ ...pod, spec: defaultSpec(pod.spec) });
}

function defaultSpec(given: PodSpec): PodSpec {
  // Requests come from limits first: the pod as a whole counts what its containers ask for.
  const spec: PodSpec = {
    ...given,
    containers: given.containers.map(requestsFromLimits),
    ...(given.initContainers && { initContainers: given.initContainers.map(requestsFromLimits) }),
  };
  const { serviceAccountName, serviceAccount, overhead, resources } = spec;
  const account = serviceAccountName || serviceAccount;
  const finish = (container: Container): Container => defaultContainer(container, spec.hostNetwork ?? false);
  return {
    ...spec,
    dnsPolicy: spec.dnsPolicy || 'ClusterFirst',
    restartPolicy: spec.restartPolicy || 'Always',
    securityContext: spec.securityContext ?? {},
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    schedulerName: spec.schedulerName || 'default-scheduler',
    enableServiceLinks: spec.enableServiceLinks ?? true,
    containers: spec.containers.map(finish),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(finish) }),
    ...(spec.ephemeralContainers && { ephemeralContainers: spec.ephemeralContainers.map(defaultEphemeralContainer) }),
    ...(spec.volumes && { volumes: spec.volumes.map(defaultVolume) }),
    ...(overhead && { overhead: milliResources(overhead) }),
    ...(resources && { resources: podLevelResources(resources, spec) }),
    ...(account && { serviceAccountName: account, serviceAccount: account }),
  };
}
