import { rangeErrors } from '../../base/name-syntax.ts';
import { MAX_ID } from '../../base/numeric-id.ts';
import { containersWithPath } from '../containers-with-path.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../generated/core-v1.ts';
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  oneOf,
  required,
  tooLong,
} from './field-error.ts';
import { descendingPath } from './validate-paths.ts';

const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const PROFILE_PATH_MAX = 4095;

const SYSCTL_MAX = 253;
const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL = new RegExp(`^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`);
const NET_SYSCTL = /^net[./]/;
const IPC_SYSCTL = /^(kernel[./](sem|shm.*|msg.*)|fs[./]mqueue[./].*)$/;

export function* validateSecurityContext(path: string, context: SecurityContext, spec: PodSpec): FieldErrors {
  yield* validateId(`${path}.runAsUser`, context.runAsUser);
  yield* validateId(`${path}.runAsGroup`, context.runAsGroup);
  const { procMount, allowPrivilegeEscalation, privileged, capabilities } = context;
  if (procMount !== undefined) {
    yield* oneOf(`${path}.procMount`, procMount, ['Default', 'Unmasked']);
    if (procMount === 'Unmasked' && spec.hostUsers !== false) {
      yield invalid(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`');
    }
  }
  yield* validateSeccomp(`${path}.seccompProfile`, context.seccompProfile);
  if (allowPrivilegeEscalation === false && privileged) {
    yield invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  }
  if (allowPrivilegeEscalation === false && capabilities?.add?.includes('CAP_SYS_ADMIN')) {
    yield invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN');
  }
  yield* validateAppArmor(`${path}.appArmorProfile`, context.appArmorProfile);
}

export function* validatePodSecurity(spec: PodSpec): FieldErrors {
  const path = 'spec.securityContext';
  const context: PodSecurityContext = spec.securityContext ?? {};
  yield* validateId(`${path}.fsGroup`, context.fsGroup);
  yield* validateId(`${path}.runAsUser`, context.runAsUser);
  yield* validateId(`${path}.runAsGroup`, context.runAsGroup);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    yield* validateId(`${path}.supplementalGroups[${index}]`, group);
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    yield invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  yield* validateSysctls(`${path}.sysctls`, context.sysctls ?? [], spec);
  const { fsGroupChangePolicy, supplementalGroupsPolicy, seLinuxChangePolicy } = context;
  if (fsGroupChangePolicy !== undefined) {
    yield* oneOf(`${path}.fsGroupChangePolicy`, fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  }
  yield* validateSeccomp(`${path}.seccompProfile`, context.seccompProfile);
  yield* validateAppArmor(`${path}.appArmorProfile`, context.appArmorProfile);
  if (supplementalGroupsPolicy !== undefined) {
    yield* oneOf(`${path}.supplementalGroupsPolicy`, supplementalGroupsPolicy, ['Merge', 'Strict']);
  }
  if (seLinuxChangePolicy !== undefined) {
    yield* oneOf(`${path}.seLinuxChangePolicy`, seLinuxChangePolicy, ['Recursive']);
  }
}

/** A user namespace of its own goes with no namespace of the host's, and with no raw devices. */
export function* validateHostUsers(spec: PodSpec): FieldErrors {
  if (spec.hostUsers !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.hostNetwork) yield forbidden('spec.hostNetwork', why);
  if (spec.hostPID) yield forbidden('spec.HostPID', why);
  if (spec.hostIPC) yield forbidden('spec.HostIPC', why);
  for (const { path, container } of containersWithPath(spec)) {
    if ((container.volumeDevices ?? []).length > 0) yield forbidden(`${path}.volumeDevices`, why);
  }
}

function* validateId(path: string, id: number | undefined): FieldErrors {
  if (id !== undefined) yield* invalidFor(path, id, rangeErrors(id, 0, MAX_ID));
}

function* validateSysctls(path: string, sysctls: readonly Sysctl[], spec: PodSpec): FieldErrors {
  const names = new Set<string>();
  for (const [index, { name }] of sysctls.entries()) {
    const at = `${path}[${index}].name`;
    if (name === '') yield required(at);
    else if (name.length > SYSCTL_MAX || !SYSCTL.test(name)) {
      yield invalid(at, name, `must have at most ${SYSCTL_MAX} characters and match regex ${SYSCTL.source}`);
    } else if (names.has(name)) yield duplicate(at, name);
    if (spec.hostNetwork && NET_SYSCTL.test(name)) {
      yield invalid(at, name, "may not be specified when 'hostNetwork' is true");
    }
    if (spec.hostIPC && IPC_SYSCTL.test(name)) yield invalid(at, name, "may not be specified when 'hostIPC' is true");
    names.add(name);
  }
}

function* validateSeccomp(path: string, profile: SeccompProfile | undefined): FieldErrors {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  if (type === '') yield required(`${path}.type`, 'type is required when seccompProfile is set');
  else yield* oneOf(`${path}.type`, type, PROFILE_TYPES);
  if (type !== 'Localhost') {
    if (localhostProfile !== undefined) {
      yield invalid(`${path}.localhostProfile`, profile, 'can only be set when seccomp type is Localhost');
    }
  } else if (localhostProfile === undefined) {
    yield required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost');
  } else {
    yield* descendingPath(`${path}.localhostProfile`, localhostProfile);
  }
}

function* validateAppArmor(path: string, profile: AppArmorProfile | undefined): FieldErrors {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  const at = `${path}.localhostProfile`;
  if (type === '') yield required(`${path}.type`, 'type is required when appArmorProfile is set');
  else if (!PROFILE_TYPES.includes(type)) yield* oneOf(`${path}.type`, type, PROFILE_TYPES);
  else if (type !== 'Localhost') {
    if (localhostProfile !== undefined) {
      yield invalid(at, localhostProfile, 'can only be set when AppArmor type is Localhost');
    }
  } else if (localhostProfile === undefined || localhostProfile === '') {
    yield required(at, 'must be set when AppArmor type is Localhost');
  } else {
    if (localhostProfile.trim() !== localhostProfile) {
      yield invalid(at, localhostProfile, 'must not be padded with whitespace');
    }
    if (Buffer.byteLength(localhostProfile) > PROFILE_PATH_MAX) yield tooLong(at, PROFILE_PATH_MAX);
  }
}
