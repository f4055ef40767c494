import type { Pod } from '../api/generated/core-v1.ts';
import { aborted } from '../base/aborted.ts';
import { matchesNode } from '../kubelet/admission/node-affinity.ts';
import type { PodSource, SourceSnapshot } from '../kubelet/sources/pod-source.ts';
import type { ClusterNode } from './cluster-node.ts';

/**
 * The pods of the API server, told only when the node's labels there are known: by them pods are admitted, and a pod that is
 * refused stays so. For a pod that does not fit the labels they are asked for once more, since the label that it is here
 * for may be newer than what the watch of the node has told.
 */
export function nodeAwareSource(
  source: PodSource,
  nodeName: string,
  node: Pick<ClusterNode, 'known' | 'refresh' | 'current'>,
): PodSource {
  async function* snapshots(signal: AbortSignal): AsyncGenerator<SourceSnapshot> {
    // The source may work meanwhile. Once for all: a listener of the signal stays for as long as the agent lives.
    const known = Promise.race([node.known, aborted(signal)]);
    let looked = new Set<string>();
    const fits = (pod: Pod): boolean => {
      const labels = node.current()?.metadata.labels;
      return !labels || matchesNode(pod, { nodeName, labels });
    };
    for await (const snapshot of source.snapshots(signal)) {
      await known;
      const fresh = snapshot.pods.filter(({ metadata }) => !looked.has(metadata.uid));
      if (!fresh.every(fits)) await node.refresh(signal);
      looked = new Set(snapshot.pods.map(({ metadata }) => metadata.uid));
      if (signal.aborted) return;
      yield snapshot;
    }
  }
  return { name: source.name, snapshots };
}
