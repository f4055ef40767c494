import type { Container, Pod } from '../api/generated/core-v1.ts';
import type { Part } from '../base/supervise.ts';
import { type ContainerRunOptions, mergeRunOptions } from '../kubelet/pod/container-run-options.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';

/** The managers of the machine's resources: CPUs, memory, devices, resource claims. */
export interface ResourceManagers {
  /** What pods are assigned before anything else of them is prepared, and keep until nothing of them runs. */
  readonly steps: readonly PodStep[];
  /** What the managers add to a container. */
  runOptions(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerRunOptions>;
  readonly parts: readonly Part[];
}

/** A manager that adds something to containers. */
export type RunOptionsOf = (pod: Pod, container: Container, signal: AbortSignal) => Promise<ContainerRunOptions>;

export interface ResourceManagerDeps {
  /** Absent: pods have no resource claims. */
  readonly dra?: { readonly runOptions: RunOptionsOf } | undefined;
}

export function buildResourceManagers({ dra }: ResourceManagerDeps): ResourceManagers {
  const contributions: readonly RunOptionsOf[] = [...(dra ? [dra.runOptions] : [])];
  return {
    steps: [],
    runOptions: async (pod, container, signal) =>
      mergeRunOptions(await Promise.all(contributions.map((each) => each(pod, container, signal)))),
    parts: [],
  };
}
