import type { HandlerFeatures } from './oci-runtime.ts';
import type { OciIdMapping, OciMount, OciNamespace, OciSpec } from './oci-spec.ts';

/** Any range will do, because the container is removed. */
export const PROBE_HOST_ID = 100_000;
export const READ_ONLY_PATH = '/read-only';
export const IDMAPPED_PATH = '/idmapped';

export const NO_FEATURES: HandlerFeatures = {
  recursiveReadOnlyMounts: false,
  userNamespaces: false,
  idmappedMounts: false,
};
export const ALL_FEATURES: HandlerFeatures = {
  recursiveReadOnlyMounts: true,
  userNamespaces: true,
  idmappedMounts: true,
};

const ID_MAPPINGS: readonly OciIdMapping[] = [{ containerID: 0, hostID: PROBE_HOST_ID, size: 65_536 }];

export interface ProbePaths {
  readonly rootfs: string;
  /** A directory owned by root. */
  readonly source: string;
  readonly pauseProgram: string;
  readonly cgroupsPath: string;
}

/** Returns the smallest container that shows whether a runtime supports these features. */
export function probeSpec(
  { rootfs, source, pauseProgram, cgroupsPath }: ProbePaths,
  features: HandlerFeatures,
): OciSpec {
  const { recursiveReadOnlyMounts, userNamespaces, idmappedMounts } = features;
  const namespaces: OciNamespace[] = [{ type: 'pid' }, { type: 'ipc' }, { type: 'uts' }, { type: 'mount' }];
  const mounts: OciMount[] = [
    { destination: '/proc', type: 'proc', source: 'proc', options: [] },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
    { destination: '/pause', type: 'bind', source: pauseProgram, options: ['bind', 'ro'] },
  ];
  const bind = { type: 'bind', source };
  if (recursiveReadOnlyMounts) mounts.push({ ...bind, destination: READ_ONLY_PATH, options: ['rbind', 'rro'] });
  if (idmappedMounts) {
    const mappings = { uidMappings: ID_MAPPINGS, gidMappings: ID_MAPPINGS };
    mounts.push({ ...bind, ...mappings, destination: IDMAPPED_PATH, options: ['bind'] });
  }
  const inUserNamespace = userNamespaces || idmappedMounts;
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: 0, gid: 0, additionalGids: [] },
      args: ['/pause', '-P'],
      env: [],
      cwd: '/',
      capabilities: { bounding: [], effective: [], permitted: [] },
      rlimits: [],
      noNewPrivileges: true,
    },
    root: { path: rootfs, readonly: false },
    mounts,
    annotations: {},
    linux: {
      namespaces: inUserNamespace ? [...namespaces, { type: 'user' }] : namespaces,
      ...(inUserNamespace ? { uidMappings: ID_MAPPINGS, gidMappings: ID_MAPPINGS } : {}),
      devices: [],
      cgroupsPath,
      resources: { devices: [] },
      maskedPaths: [],
      readonlyPaths: [],
    },
  };
}
