import type { Pod } from '../../api/generated/core-v1.ts';
import { configSource } from '../../api/pod-names.ts';
import { traceSyncWork, traceWork, type Work, type WorkFacts } from '../../base/trace-work.ts';
import { KUBELET_SCOPE } from '../events/trace-names.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { PodChange } from '../sources/desired-pods.ts';
import type { PodSyncer } from './pod-syncer.ts';

/**
 * The spans of a pod: how it came from its source, its admission, and kubelet's spans of its syncs.
 *
 * The first sync of a pod that does not wait for another pod starts while its addition is handled, and belongs to it: one
 * trace shows the start of the pod. All later syncs begin traces, as in kubelet.
 */
export function tracePodChange({ op, pod }: PodChange, handle: () => void): void {
  if (op !== 'ADD') return handle();
  const facts = (): WorkFacts => ({ ...podFacts(pod), 'k8s.pod.source': configSource(pod) ?? 'api' });
  return traceSyncWork(() => ({ ...podWork('HandlePodAdditions', pod), facts: facts() }), handle);
}

export function traceAdmission(admit: () => PodFailure | undefined): PodFailure | undefined {
  const factsOf = (rejection: unknown): WorkFacts => {
    const reason = isFailure(rejection) ? rejection.reason : undefined;
    return { 'k8s.pod.admitted': rejection === undefined, 'k8s.pod.rejection': reason };
  };
  return traceSyncWork(() => ({ name: 'admission', factsOf }), admit);
}

function isFailure(value: unknown): value is PodFailure {
  return typeof value === 'object' && value !== null && 'reason' in value;
}

/** Wraps a syncer so that its work is traced under kubelet's names. */
export function traceSyncer(syncer: PodSyncer): PodSyncer {
  /** The pods that were synced last, by UID; only filled while a tracer listens. */
  const synced = new Map<string, Pod>();
  const updateType = (pod: Pod): string => {
    const last = synced.get(pod.metadata.uid);
    synced.set(pod.metadata.uid, pod);
    if (last === undefined) return 'create';
    return last === pod ? 'sync' : 'update';
  };
  return {
    sync: (pod, signal) =>
      traceWork(
        () => ({
          ...podWork('syncPod', pod),
          facts: { ...podFacts(pod), 'k8s.pod.update_type': updateType(pod) },
        }),
        () => syncer.sync(pod, signal),
      ),
    terminate: (pod, ending, signal) =>
      traceWork(
        () => podWork('syncTerminatingPod', pod),
        () => syncer.terminate(pod, ending, signal),
      ),
    release: (pod, signal) =>
      traceWork(
        () => podWork('syncTerminatedPod', pod),
        () => syncer.release(pod, signal),
      ),
    purge(pod, signal) {
      synced.delete(pod.metadata.uid);
      return syncer.purge(pod, signal);
    },
    restart(pod) {
      synced.delete(pod.metadata.uid);
      syncer.restart(pod);
    },
  };
}

function podWork(name: string, pod: Pod): Work {
  return { name, scope: KUBELET_SCOPE, subject: pod.metadata.uid, facts: podFacts(pod) };
}

function podFacts({ metadata: { uid, namespace, name } }: Pod): WorkFacts {
  return {
    'k8s.pod.uid': uid,
    'k8s.pod': `${namespace}/${name}`,
    'k8s.pod.name': name,
    'k8s.namespace.name': namespace,
  };
}
