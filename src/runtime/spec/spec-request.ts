import type { ContainerConfig, PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { CgroupDriver } from '../../host/cgroups.ts';
import type { ImageConfig } from '../images/image-store.ts';
import type { HandlerFeatures } from '../oci/oci-runtime.ts';
import type { HandlerSettings } from '../settings/runtime-settings.ts';
import type { SandboxFiles, SandboxNamespaces } from '../store/sandbox-record.ts';

/** Everything that the specification of a container is built from, except the facts of the machine (spec-facts.ts). */
export interface SpecRequest {
  readonly id: string;
  readonly container: ContainerConfig;
  readonly sandboxId: string;
  readonly sandbox: PodSandboxConfig;
  /** Defaults of the image. */
  readonly image: ImageConfig;
  readonly imageName: string;
  readonly imageId: string;
  /** Mount point of the root filesystem: `<bundle>/rootfs`. */
  readonly rootfs: string;
  readonly namespaces: SandboxNamespaces;
  readonly files: SandboxFiles;
  /** Mount points of the image volumes of `container.mounts`, by index. */
  readonly imageVolumes: ReadonlyMap<number, string>;
  /**
   * Paths at which the sources of mounts are bound with mapped IDs (from `bindMappedMounts`), by index. The runtime
   * maps the others if it supports the feature.
   */
  readonly mappedSources?: ReadonlyMap<number, string>;
  /** `/proc/<pid>/ns/pid` of the container that `NamespaceMode.TARGET` names. */
  readonly targetPidNamespace?: string;
  /**
   * Parent of the directories for volumes that the image declares and the container does not mount over
   * (`imageDeclaredVolumes` has their names). On disk, removed with the container.
   */
  readonly volumesDir: string;
  /** Features of the runtime that will run it. */
  readonly features: HandlerFeatures;
  readonly handler: SpecHandler;
  readonly machine: SpecMachine;
}

/** The settings of the runtime handler that a specification depends on. */
export type SpecHandler = Pick<
  HandlerSettings,
  'cgroupDriver' | 'cgroupWritable' | 'privilegedDevices' | 'podAnnotations' | 'containerAnnotations' | 'baseSpec'
>;

/** The capabilities of the machine, read once. */
export interface SpecMachine {
  readonly cgroupVersion: 'v1' | 'v2';
  /** Of handlers that have none of their own. */
  readonly cgroupDriver: CgroupDriver;
  readonly hugePages: boolean;
  readonly appArmor: boolean;
  readonly selinux: boolean;
  /** oom_score_adj of this process, the minimum for others unless `mayLowerOomScore`. */
  readonly ownOomScoreAdj: number;
  readonly mayLowerOomScore: boolean;
  /** `amd64`, `arm64`: selects the system calls of the seccomp profile. */
  readonly architecture: string;
  readonly kernel: string;
  /** `HOSTNAME` in a sandbox without a host name. */
  readonly hostname: string;
  /** `CAP_CHOWN`, …: the capabilities that containers can be given. */
  readonly capabilities: readonly string[];
  /** Whether the kernel accounts for swap: required for a swap limit. */
  readonly swapAccounting: boolean;
  readonly seccomp: boolean;
}
