import type { Node, Pod } from '../../api/generated/core-v1.ts';
import { aborted } from '../../base/aborted.ts';
import type { PodSource, SourceSnapshot } from '../sources/pod-source.ts';
import { matchesNode } from './node-affinity-predicate.ts';

/** The node object at the API server. */
export interface WatchedNode {
  /** The latest version that the watch reported. */
  current(): Node | undefined;
  /** Resolves with the first answer of the API server, also when it has no such node. */
  readonly known: Promise<void>;
  /** Gets the node object ahead of the watch. */
  refresh(signal: AbortSignal): Promise<void>;
}

/**
 * Holds the pods of the API server back until the labels of the node are known: admission matches pods against them,
 * and a rejection is final. Gets the node object once more for a new pod that does not match: the label that the pod
 * was scheduled by may be newer than the last event of the watch.
 */
export function nodeAwareSource(source: PodSource, nodeName: string, node: WatchedNode): PodSource {
  async function* snapshots(signal: AbortSignal): AsyncGenerator<SourceSnapshot> {
    // One race for all snapshots: each `aborted` adds a listener that stays until the agent stops.
    const known = Promise.race([node.known, aborted(signal)]);
    let checked = new Set<string>();
    const matches = (pod: Pod): boolean => {
      const labels = node.current()?.metadata.labels;
      return !labels || matchesNode(pod, { nodeName, labels });
    };
    for await (const snapshot of source.snapshots(signal)) {
      await known;
      const added = snapshot.pods.filter(({ metadata }) => !checked.has(metadata.uid));
      if (!added.every(matches)) await node.refresh(signal);
      checked = new Set(snapshot.pods.map(({ metadata }) => metadata.uid));
      if (signal.aborted) return;
      yield snapshot;
    }
  }
  return { name: source.name, snapshots };
}
