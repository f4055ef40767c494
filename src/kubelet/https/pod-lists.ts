import { runningContainers } from '../observe/observed-pod.ts';
import type { PodReport } from '../server/agent-view.ts';

/** `/pods`: every pod that the node is to run, with its status. */
export function podList(reports: readonly PodReport[]): object {
  return listOf(
    reports.map(({ pod, status }) => {
      const { metadata, spec } = pod; // in a list they do not say what they are
      return { metadata, spec, status };
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
      const containers = running.map(({ name: of, image }) => ({ name: of, image, resources: {} }));
      return [{ metadata: { name, namespace, uid }, spec: { containers }, status: {} }];
    }),
  );
}

function listOf(items: readonly object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
