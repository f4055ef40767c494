import type { Container, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import type { PodReport } from '../explain/agent-view.ts';
import { runningContainers } from '../pod/observed-pod.ts';

/** `/pods`: all desired pods of the node with their status. */
export function podList(reports: readonly PodReport[]): object {
  return asPodList(
    reports.map(({ pod, status }) => {
      const { metadata, spec } = pod; // items of a list have no kind and apiVersion
      return { metadata, spec: withResources(spec), status: withProbeTimes(status) };
    }),
  );
}

/** `/runningpods`: the pods that run, as the runtime reports them. */
export function runningPodList(reports: readonly PodReport[]): object {
  return asPodList(
    reports.flatMap(({ observed }) => {
      const running = runningContainers(observed);
      if (!observed || (running.length === 0 && !observed.sandboxes.some(({ ready }) => ready))) return [];
      const { name, namespace, uid } = observed;
      const containers = running.map(({ name: of, imageId: image }) => ({ name: of, image, resources: {} }));
      return [{ metadata: { name, namespace, uid }, spec: { containers }, status: {} }];
    }),
  );
}

/** Kubernetes writes empty `resources` too. */
function withResources(spec: PodSpec): PodSpec {
  const { containers, initContainers } = spec;
  const complete = (all: readonly Container[]) => all.map((container) => ({ resources: {}, ...container }));
  return {
    ...spec,
    containers: complete(containers),
    ...(initContainers && { initContainers: complete(initContainers) }),
  };
}

function withProbeTimes(status: PodStatus): object {
  const { conditions } = status;
  return { ...status, ...(conditions && { conditions: conditions.map((each) => ({ lastProbeTime: null, ...each })) }) };
}

function asPodList(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
