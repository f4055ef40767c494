import type { RuntimeSettings } from './runtime-settings.ts';

/** Where everything of the embedded runtime lies: every path below its two folders is made here. */
export interface RuntimePaths {
  /** One file for each sandbox and container: `<id>.json`. */
  readonly sandboxRecords: string;
  readonly containerRecords: string;
  /** The same for changes of records while the disk is full. */
  readonly sandboxOverflow: string;
  readonly containerOverflow: string;
  /** Images, blobs and unpacked layers; storage/ and images/ divide it among themselves. */
  readonly storage: string;
  /** Results of CNI ADD, kept until DEL has succeeded. */
  readonly cniCache: string;
  /** State of the OCI runtimes, one folder for each program: `crun --root`. */
  readonly ociState: string;
  /** conmon writes a file named after the container here when it ends. */
  readonly exits: string;
  /** The sockets of conmon (`attach`); short, for a socket's path has at most 107 bytes. */
  readonly sockets: string;
  /** Pinned namespaces and shm of one sandbox. */
  sandbox(id: string): string;
  /**
   * hosts, hostname and resolv.conf of one sandbox. Containers may write into them, so they lie on the disk, as in
   * containerd: on the state tmpfs a container could use up the memory of the machine and the space of every other pod.
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
    exits: `${stateDir}/exits`,
    sockets: `${stateDir}/s`,
    sandbox: (id) => `${stateDir}/sandboxes/${id}`,
    sandboxFiles: (id) => `${rootDir}/sandbox-files/${id}`,
    bundle: (id) => `${stateDir}/containers/${id}`,
  };
}
