import type { Container, Pod, ResourceStatus } from '../api/generated/core-v1.ts';
import type { Part } from '../base/supervise.ts';
import { type ContainerRunOptions, mergeRunOptions } from '../kubelet/pod/container-run-options.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import type { AgentDevices } from './build-device-manager.ts';

/** The managers of the machine's resources: CPUs, memory, devices, resource claims. */
export interface ResourceManagers {
  /** What pods are assigned before anything else of them is prepared, and keep until nothing of them runs. */
  readonly steps: readonly PodStep[];
  /** What the managers add to a container. */
  runOptions(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerRunOptions>;
  /** The field `allocatedResourcesStatus` of a container. */
  resourceHealth(uid: string, container: string): readonly ResourceStatus[];
  readonly parts: readonly Part[];
}

export interface ManagerDeps {
  readonly devices: AgentDevices;
}

/** A manager that adds something to containers. */
export type RunOptionsOf = (pod: Pod, container: Container, signal: AbortSignal) => Promise<ContainerRunOptions>;

export function buildResourceManagers({ devices }: ManagerDeps): ResourceManagers {
  const { manager } = devices;
  const contributions: readonly RunOptionsOf[] = [manager.runOptions.bind(manager)];
  return {
    steps: [devices.step],
    runOptions: async (pod, container, signal) =>
      mergeRunOptions(await Promise.all(contributions.map((each) => each(pod, container, signal)))),
    resourceHealth: (uid, container) => manager.resourceHealth(uid, container),
    parts: devices.parts,
  };
}
