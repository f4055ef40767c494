import type { Container, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import type { PodReport } from '../explain/agent-view.ts';
import { runningContainers } from '../pod/observed-pod.ts';

/** `/pods`: every pod that the node is to run, with its status. */
export function podList(reports: readonly PodReport[]): object {
  return listOf(
    reports.map(({ pod, status }) => {
      const { metadata, spec } = pod; // in a list they do not say what they are
      return { metadata, spec: withResources(spec), status: withProbeTimes(status) };
    }),
  );
}

/** `/runningpods`: what the runtime has of them. */
export function runningPodList(reports: readonly PodReport[]): object {
  return listOf(
    reports.flatMap(({ observed }) => {
      const running = runningContainers(observed);
      if (!observed || (running.length === 0 && !observed.sandboxes.some(({ ready }) => ready))) return [];
      const { name, namespace, uid } = observed;
      const containers = running.map(({ name: of, imageId: image }) => ({ name: of, image, resources: {} }));
      return [{ metadata: { name, namespace, uid }, spec: { containers }, status: {} }];
    }),
  );
}

/** Kubernetes writes these out where there are none, too. */
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

function listOf(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
