import { invalidField } from '../../cri/field-error.ts';
import { NamespaceMode, type PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { OciLinux, OciNamespace, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import type { SandboxNamespaces } from '../store/sandbox-record.ts';
import { pauseAnnotations } from './annotations.ts';
import { cgroupPath } from './cgroup-path.ts';
import { checkId } from './check-id.ts';
import { OCI_VERSION } from './container-spec.ts';
import { DEV, PROC } from './default-mounts.ts';
import { hasUserNamespace, ociMappings } from './namespace-rules.ts';
import { reachableOomScore } from './oom-score.ts';
import { applySeccompProfile } from './seccomp.ts';
import { selinuxLabels } from './selinux.ts';
import type { SeccompProfile } from './spec-facts.ts';
import type { SpecHandler, SpecMachine } from './spec-request.ts';

/** Path of the program in its otherwise empty root. */
const PROGRAM = '/pause';
const OOM_SCORE_ADJ = -998;
const CPU_SHARES = 2;

export interface PauseRequest {
  readonly sandboxId: string;
  readonly config: PodSandboxConfig;
  /**
   * An empty directory owned by the container's root, mode 0755, because mount points are created in it. The
   * container's root must be able to enter its parents.
   */
  readonly rootfs: string;
  /** A static program that waits and reaps: catatonit. */
  readonly pauseProgram: string;
  /** The pinned namespaces. None with a user namespace: all must belong to it. */
  readonly pinned: Pick<SandboxNamespaces, 'network' | 'ipc' | 'uts'>;
  readonly machine: SpecMachine;
  readonly handler: Pick<SpecHandler, 'cgroupDriver' | 'podAnnotations'>;
  /** Result of `loadSeccompProfile` for the sandbox's security context. */
  readonly seccomp?: SeccompProfile;
}

/** Returns the spec of the container that holds the PID or user namespace of a sandbox. */
export function buildPauseSpec(request: PauseRequest): OciSpec {
  const { sandboxId, config, rootfs, pauseProgram, machine } = request;
  const context = config.linux?.securityContext;
  const enabled = machine.selinux && !context?.privileged;
  const labels = selinuxLabels(context?.selinuxOptions, undefined, { sandboxId, enabled });
  const ownsUts = hasUserNamespace(context?.namespaceOptions);
  return {
    ociVersion: OCI_VERSION,
    process: { ...pauseProcess(request), ...(labels && { selinuxLabel: labels.selinuxLabel }) },
    root: { path: rootfs, readonly: true },
    ...(ownsUts && { hostname: config.hostname || machine.hostname }),
    mounts: [PROC, DEV, { destination: PROGRAM, type: 'bind', source: pauseProgram, options: ['bind', 'ro'] }],
    annotations: pauseAnnotations(sandboxId, config, request.handler),
    linux: { ...pauseLinux(request), ...(labels && { mountLabel: labels.mountLabel }) },
  };
}

function pauseProcess({ config, machine }: PauseRequest): OciProcess {
  const context = config.linux?.securityContext;
  if (context?.runAsGroup && !context.runAsUser) {
    const why = `user group "${context.runAsGroup.value}" is specified without user`;
    throw invalidField('linux.security_context.run_as_group', why);
  }
  const gid = id('run_as_group', context?.runAsGroup?.value);
  const groups = context?.supplementalGroups.map((group, index) => id(`supplemental_groups[${index}]`, group)) ?? [];
  const additionalGids = [...new Set([gid, ...groups])].sort((a, b) => a - b);
  return {
    terminal: false,
    user: { uid: id('run_as_user', context?.runAsUser?.value), gid, additionalGids },
    args: [PROGRAM, '-P'],
    env: ['PATH=/'],
    cwd: '/',
    capabilities: { bounding: [], effective: [], permitted: [] },
    rlimits: [],
    noNewPrivileges: true,
    oomScoreAdj: reachableOomScore(OOM_SCORE_ADJ, machine),
  };
}

function id(field: string, value = 0n): number {
  return checkId(`linux.security_context.${field}`, value);
}

function pauseLinux({ sandboxId, config, pinned, machine, handler, seccomp }: PauseRequest): OciLinux {
  const options = config.linux?.securityContext?.namespaceOptions;
  const users = hasUserNamespace(options) ? options?.usernsOptions : undefined;
  const kinds = { network: options?.network, ipc: options?.ipc, uts: options?.network };
  const namespaces: OciNamespace[] = [{ type: 'mount' }];
  for (const kind of ['network', 'ipc', 'uts'] as const) {
    const path = pinned[kind];
    if (path !== undefined) namespaces.push({ type: kind, path });
    else if (users && kinds[kind] !== NamespaceMode.NODE) namespaces.push({ type: kind });
  }
  if (options?.pid !== NamespaceMode.NODE) namespaces.push({ type: 'pid' });
  if (users) namespaces.push({ type: 'user' });
  return {
    namespaces,
    ...(users && { uidMappings: ociMappings(users.uids), gidMappings: ociMappings(users.gids) }),
    // Sysctls of pinned namespaces are set when they are created.
    ...(users && { sysctl: config.linux?.sysctls ?? {} }),
    devices: [],
    cgroupsPath: cgroupPath(config, sandboxId, handler.cgroupDriver ?? machine.cgroupDriver),
    resources: { devices: [{ allow: false, access: 'rwm' }], cpu: { shares: CPU_SHARES } },
    ...(seccomp && { seccomp: applySeccompProfile(seccomp, [], machine) }),
    maskedPaths: ['/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware'],
    readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
  };
}
