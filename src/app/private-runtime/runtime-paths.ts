import { bridgeName } from '../pod-network/bridge-name.ts';

/** sun_path of unix(7) holds 108 bytes, with the zero at its end. */
const MAX_SOCKET_PATH_BYTES = 107;

/** Everything that a private runtime puts on the machine; it follows from its two folders. */
export interface RuntimePaths {
  /** Images and snapshots: outlives the daemon and the machine's next boot. */
  readonly root: string;
  /** All of the daemon's passing files; goes when it stops. */
  readonly folder: string;
  readonly state: string;
  readonly socket: string;
  readonly config: string;
  readonly cniConfDir: string;
  readonly ipamDir: string;
  readonly runcRoot: string;
  /** Which daemon runs on these paths: daemon-record.ts. */
  readonly record: string;
  readonly log: string;
  /** The bridge between the pods, and the name of their network. */
  readonly bridge: string;
}

export interface RuntimeFolders {
  readonly rootDir: string;
  readonly stateDir: string;
}

export function runtimePaths({ rootDir, stateDir }: RuntimeFolders): RuntimePaths {
  const folder = `${stateDir}/containerd`;
  return {
    root: `${rootDir}/containerd`,
    folder,
    state: `${folder}/state`,
    socket: `${folder}/containerd.sock`,
    config: `${folder}/config.toml`,
    cniConfDir: `${folder}/cni`,
    ipamDir: `${folder}/ipam`,
    runcRoot: `${folder}/runc`,
    record: `${stateDir}/containerd.json`,
    log: `${stateDir}/containerd.log`,
    bridge: bridgeName(rootDir),
  };
}

/** Why the kernel would refuse the sockets of a runtime there; `undefined` when it takes them. */
export function socketPathFault({ socket }: RuntimePaths): string | undefined {
  const longest = Buffer.byteLength(`${socket}.ttrpc`); // containerd makes a second socket beside its own
  if (longest <= MAX_SOCKET_PATH_BYTES) return undefined;
  return `the socket path ${socket} is ${longest - MAX_SOCKET_PATH_BYTES} bytes too long; choose a shorter state folder`;
}
