import type { RuntimeSettings } from './runtime-settings.ts';

/** All paths of the embedded runtime below its two directories. */
export interface RuntimePaths {
  /** One file per sandbox or container: `<id>.json`. */
  readonly sandboxRecords: string;
  readonly containerRecords: string;
  /** Changed records while the disk is full. */
  readonly sandboxOverflow: string;
  readonly containerOverflow: string;
  /** Images, blobs and unpacked layers, laid out by storage/ and images/. */
  readonly storage: string;
  /** Results of CNI ADD, kept until DEL has succeeded. */
  readonly cniCache: string;
  /** State of the OCI runtimes, one directory per program: `crun --root`. */
  readonly ociState: string;
  /** The default AppArmor profile as this runtime loaded it. */
  readonly appArmorProfile: string;
  /** conmon writes an exit file named after the container here. */
  readonly exits: string;
  /** Sockets of conmon (`attach`). Short, because a socket path has at most 107 bytes. */
  readonly sockets: string;
  /** Pinned namespaces and shm of one sandbox. */
  sandbox(id: string): string;
  /**
   * hosts, hostname and resolv.conf of one sandbox. They are on disk, as in containerd, because containers may write to
   * them: on the state tmpfs, a container could exhaust the machine's memory and the space of all other pods.
   */
  sandboxFiles(id: string): string;
  /** The bundle of one container (or pause container): config.json, rootfs. */
  bundle(id: string): string;
}

export function runtimePaths({ rootDir, stateDir }: Pick<RuntimeSettings, 'rootDir' | 'stateDir'>): RuntimePaths {
  return {
    sandboxRecords: `${rootDir}/sandboxes`,
    containerRecords: `${rootDir}/containers`,
    sandboxOverflow: `${stateDir}/overflow/sandboxes`,
    containerOverflow: `${stateDir}/overflow/containers`,
    storage: `${rootDir}/storage`,
    cniCache: `${rootDir}/cni`,
    ociState: `${stateDir}/oci`,
    appArmorProfile: `${stateDir}/apparmor-profile`,
    exits: `${stateDir}/exits`,
    sockets: `${stateDir}/s`,
    sandbox: (id) => `${stateDir}/sandboxes/${id}`,
    sandboxFiles: (id) => `${rootDir}/sandbox-files/${id}`,
    bundle: (id) => `${stateDir}/containers/${id}`,
  };
}
