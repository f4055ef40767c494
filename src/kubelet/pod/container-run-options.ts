import type { Device, Mount } from '../../cri/generated/runtime-v1.ts';

/**
 * What the managers of the machine's resources add to a container: CPUs, memory, devices, resource claims. kubelet's
 * `RunContainerOptions` and `PreCreateContainer`.
 */
export interface ContainerRunOptions {
  /** A list of CPUs, `0-3,8`; absent: all CPUs of the pod's cgroup. */
  readonly cpusetCpus?: string | undefined;
  /** A list of NUMA nodes, `0,1`; absent: all. */
  readonly cpusetMems?: string | undefined;
  /** No other container uses its CPUs, so that its CPU time is not limited. */
  readonly hasExclusiveCpus?: boolean | undefined;
  readonly devices?: readonly Device[] | undefined;
  /** Before the mounts of the pod's volumes. */
  readonly mounts?: readonly Mount[] | undefined;
  /** The container's own variables take precedence. */
  readonly env?: ReadonlyMap<string, string> | undefined;
  readonly annotations?: ReadonlyMap<string, string> | undefined;
  /** Fully qualified names of CDI: `vendor.com/gpu=0`. */
  readonly cdiDevices?: readonly string[] | undefined;
}

/** Joins what several managers add. A later value of the same variable or annotation replaces an earlier one. */
export function mergeRunOptions(all: readonly ContainerRunOptions[]): ContainerRunOptions {
  return {
    ...Object.assign({}, ...all),
    devices: all.flatMap(({ devices = [] }) => devices),
    mounts: all.flatMap(({ mounts = [] }) => mounts),
    env: new Map(all.flatMap(({ env = new Map() }) => [...env])),
    annotations: new Map(all.flatMap(({ annotations = new Map() }) => [...annotations])),
    cdiDevices: [...new Set(all.flatMap(({ cdiDevices = [] }) => cdiDevices))],
  };
}
