import type { ContainerConfig, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { ImageConfig } from '../images/image-store.ts';
import type { SandboxFiles, SandboxNamespaces } from '../sandbox/sandbox-record.ts';

/** All that the specification of a container is made from, apart from what has to be looked up (spec-facts.ts). */
export interface SpecRequest {
  readonly id: string;
  readonly container: ContainerConfig;
  readonly sandboxId: string;
  readonly sandbox: PodSandboxConfig;
  /** Of the image: what the container does not say for itself. */
  readonly image: ImageConfig;
  readonly imageName: string;
  /** Where the root file system is mounted: `<bundle>/rootfs`. */
  readonly rootfs: string;
  readonly namespaces: SandboxNamespaces;
  readonly files: SandboxFiles;
  /** Where each image volume of `container.mounts` is mounted, by the index of its mount. */
  readonly imageVolumes: ReadonlyMap<number, string>;
  /** `/proc/<pid>/ns/pid` of the container that `NamespaceMode.TARGET` names. */
  readonly targetPidNamespace?: string;
  readonly machine: SpecMachine;
}

/** What the machine can do, read once. */
export interface SpecMachine {
  readonly cgroupVersion: 'v1' | 'v2';
  readonly hugePages: boolean;
  readonly appArmor: boolean;
  readonly selinux: boolean;
  /** Our own oom_score_adj, below which nothing may go unless `mayLowerOomScore`. */
  readonly ownOomScoreAdj: number;
  readonly mayLowerOomScore: boolean;
  /** `amd64`, `arm64`: which system calls the seccomp profile means. */
  readonly architecture: string;
  readonly kernel: string;
}
