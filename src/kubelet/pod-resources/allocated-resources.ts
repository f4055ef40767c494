import type { Pod } from '../../api/generated/core-v1.ts';

/** The resources of the machine that containers were assigned: what the pod resources API shows. */
export interface AllocatedResources {
  /** Exclusive CPUs, in ascending order; none for a container of the shared pool. */
  cpus(uid: string, container: string): readonly number[];
  memory(uid: string, container: string): readonly MemoryBlock[];
  devices(uid: string, container: string): readonly AssignedDevices[];
  claims(pod: Pod, container: string): readonly AssignedClaim[];
  /** What exclusive containers could get at all. */
  allocatable(): {
    readonly cpus: readonly number[];
    readonly memory: readonly MemoryBlock[];
    readonly devices: readonly AssignedDevices[];
  };
}

export interface MemoryBlock {
  /** `memory`, or `hugepages-2Mi`. */
  readonly type: string;
  readonly bytes: number;
  readonly numaNodes: readonly number[];
}

/** Devices of one resource on the same NUMA nodes. */
export interface AssignedDevices {
  readonly resourceName: string;
  readonly deviceIds: readonly string[];
  /** Empty: the plugin did not report any. */
  readonly numaNodes: readonly number[];
}

/** A resource claim (DRA) that was prepared. */
export interface AssignedClaim {
  readonly claimName: string;
  readonly claimNamespace: string;
  readonly resources: readonly {
    readonly cdiDevices: readonly string[];
    readonly driverName: string;
    readonly poolName: string;
    readonly deviceName: string;
    readonly shareId?: string | undefined;
  }[];
}
