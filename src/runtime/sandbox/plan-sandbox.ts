import { invalidField } from '../../cri/field-error.ts';
import { NamespaceMode, type PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import { checkSandboxNamespaces, hasUserNamespace } from '../spec/namespace-rules.ts';
import type { SandboxFiles, SandboxNamespaces, SandboxRecord } from '../store/sandbox-record.ts';
import { sandboxSysctls } from './sandbox-sysctls.ts';

/** The kernel's limit for a host name. */
const MAX_HOSTNAME_BYTES = 64;

/** Namespaces, pause process and sysctls that a sandbox gets. */
export interface SandboxPlan {
  readonly namespaces: SandboxNamespaces;
  readonly pause: PauseRole;
  readonly sysctls: ReadonlyArray<readonly [path: string, value: string]>;
}

/**
 * Role of the pause process, which holds namespaces that a pinned file alone cannot hold.
 * - `none`: no pause process.
 * - `joins`: it joins the network, IPC and UTS namespaces, and holds the PID namespace that containers share.
 * - `creates`: it holds a user namespace, which must own all other namespaces: the OCI runtime creates them with it.
 */
export type PauseRole = 'none' | 'joins' | 'creates';

/** Throws a `CriError` that names the invalid field. */
export function planSandbox(id: string, config: PodSandboxConfig, paths: Pick<RuntimePaths, 'sandbox'>): SandboxPlan {
  checkSandboxNamespaces(config);
  if (Buffer.byteLength(config.hostname) > MAX_HOSTNAME_BYTES) {
    throw invalidField('hostname', `longer than ${MAX_HOSTNAME_BYTES} bytes`);
  }
  const namespaces = planNamespaces(`${paths.sandbox(id)}/ns`, config);
  const sysctls = sandboxSysctls(config.linux?.sysctls ?? {}, namespaces);
  return { namespaces, pause: pauseRole(namespaces), sysctls };
}

export function pauseRole({ user, pid }: SandboxNamespaces): PauseRole {
  if (user !== undefined) return 'creates';
  return pid === undefined ? 'none' : 'joins';
}

function planNamespaces(folder: string, { linux }: PodSandboxConfig): SandboxNamespaces {
  const options = linux?.securityContext?.namespaceOptions;
  const { network = NamespaceMode.POD, ipc = NamespaceMode.POD, pid = NamespaceMode.POD } = options ?? {};
  const { uids = [], gids = [] } = options?.usernsOptions ?? {};
  return {
    // A pod in the host network also has the host's name.
    ...(network === NamespaceMode.NODE ? {} : { network: `${folder}/net`, uts: `${folder}/uts` }),
    ...(ipc === NamespaceMode.NODE ? {} : { ipc: `${folder}/ipc` }),
    ...(pid === NamespaceMode.POD ? { pid: `${folder}/pid` } : {}),
    ...(hasUserNamespace(options) ? { user: { path: `${folder}/user`, idMap: { uids, gids } } } : {}),
  };
}

/** Every file that may pin a namespace of the sandbox. */
export function namespaceFiles(folder: string): readonly string[] {
  return ['net', 'ipc', 'uts', 'pid', 'user'].map((name) => `${folder}/ns/${name}`);
}

export function sandboxFiles(
  { id, namespaces, filesOnDisk = false }: Pick<SandboxRecord, 'id' | 'namespaces' | 'filesOnDisk'>,
  paths: Pick<RuntimePaths, 'sandbox' | 'sandboxFiles'>,
): SandboxFiles {
  const folder = filesOnDisk ? paths.sandboxFiles(id) : paths.sandbox(id);
  return {
    hosts: `${folder}/hosts`,
    hostname: `${folder}/hostname`,
    resolvConf: `${folder}/resolv.conf`,
    shm: namespaces.ipc === undefined ? '/dev/shm' : `${paths.sandbox(id)}/shm`,
  };
}

/** containerd's sandbox name, unique on the node. */
export function sandboxName({ metadata }: PodSandboxConfig): string {
  if (metadata === undefined) throw invalidField('metadata', 'sandbox config must include metadata');
  const { name, namespace, uid, attempt } = metadata;
  return `${name}_${namespace}_${uid}_${attempt}`;
}
