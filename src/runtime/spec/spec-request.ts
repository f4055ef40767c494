import type { ContainerConfig, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { ImageConfig } from '../images/image-store.ts';
import type { HandlerFeatures } from '../oci/oci-runtime.ts';
import type { SandboxFiles, SandboxNamespaces } from '../store/sandbox-record.ts';

/** All that the specification of a container is made from, apart from what has to be looked up (spec-facts.ts). */
export interface SpecRequest {
  readonly id: string;
  readonly container: ContainerConfig;
  readonly sandboxId: string;
  readonly sandbox: PodSandboxConfig;
  /** Of the image: what the container does not say for itself. */
  readonly image: ImageConfig;
  readonly imageName: string;
  readonly imageId: string;
  /** Where the root file system is mounted: `<bundle>/rootfs`. */
  readonly rootfs: string;
  readonly namespaces: SandboxNamespaces;
  readonly files: SandboxFiles;
  /** Where each image volume of `container.mounts` is mounted, by the index of its mount. */
  readonly imageVolumes: ReadonlyMap<number, string>;
  /**
   * Where the source of a mount is bound with its ids mapped already (what `bindMappedMounts` answers), by the index of its
   * mount. The others are left to the runtime, if it has the feature.
   */
  readonly mappedSources?: ReadonlyMap<number, string>;
  /** `/proc/<pid>/ns/pid` of the container that `NamespaceMode.TARGET` names. */
  readonly targetPidNamespace?: string;
  /**
   * Below it lies a folder for each volume that the image declares and nothing is mounted on: `imageDeclaredVolumes` has
   * their names. On a disk, and gone with the container.
   */
  readonly volumesDir: string;
  /** Of the runtime that will run it. */
  readonly features: HandlerFeatures;
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
  /** What `HOSTNAME` says in a sandbox that has no name of its own. */
  readonly hostname: string;
  /** `CAP_CHOWN`, …: all that a container can be given, for nobody can give what he has not. */
  readonly capabilities: readonly string[];
  /** Whether the kernel counts swap: only then a limit on it may be set. */
  readonly swapAccounting: boolean;
  readonly seccomp: boolean;
}
