import { allContainers } from '../../../api/all-containers.ts';
import type {
  AppArmorProfile,
  Container,
  Pod,
  SeccompProfile,
  SecurityContext,
} from '../../../api/generated/core-v1.ts';
import { formatPod } from '../../../api/pod-names.ts';
import { isId } from '../../../base/numeric-id.ts';
import {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  SecurityProfile_ProfileType as ProfileType,
  SecurityProfile,
  SupplementalGroupsPolicy,
  type UserNamespace,
} from '../../../cri/generated/runtime-v1.ts';
import { CausedError } from '../../pod/pod-cause.ts';
import { namespaceOptions } from './namespaces.ts';

/** The user of an image; kubelet treats an image without a user as root. */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}

export interface SecuritySettings {
  /** Localhost seccomp profiles are in its `seccomp` directory. */
  readonly rootDir: string;
  readonly seccompDefault: boolean;
}

const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];

const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** The container's security context with defaults from the pod's. */
export function effectiveSecurityContext({ spec }: Pod, container: Container): SecurityContext {
  const own = definedFields(container.securityContext ?? {});
  const { runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions } = spec.securityContext ?? {};
  return { ...definedFields({ runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions }), ...own };
}

/** The sandbox always uses the runtime's default seccomp profile, so that containers may use stricter ones. */
export function sandboxSecurityContext(
  pod: Pod,
  userNamespace: UserNamespace | undefined,
  extraGroups: readonly number[],
): LinuxSandboxSecurityContext {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec.securityContext ?? {};
  return LinuxSandboxSecurityContext.fromPartial({
    privileged: allContainers(pod.spec).some(({ securityContext }) => securityContext?.privileged === true),
    seccomp: { profileType: ProfileType.RuntimeDefault },
    runAsUser: int64(runAsUser),
    runAsGroup: int64(runAsGroup),
    namespaceOptions: namespaceOptions(pod, userNamespace),
    selinuxOptions: seLinuxOptions && definedFields(seLinuxOptions),
    ...groups(pod, { first: extraGroups }),
  });
}

export interface ContainerSecurityInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
  /** The container whose process namespace it joins. */
  readonly targetId?: string | undefined;
  /** Of its persistent volumes. */
  readonly extraGroups: readonly number[];
  /** The sandbox's user namespace; absent: the host's. */
  readonly userNamespace?: UserNamespace | undefined;
  readonly settings: SecuritySettings;
  /** Paths of this host to mask besides the default ones. */
  readonly extraMaskedPaths: readonly string[];
}

/** The CRI security context of a container. Throws kubelet's message for an invalid user, profile or policy. */
export function containerSecurityContext(input: ContainerSecurityInput): LinuxContainerSecurityContext {
  const { pod, container, imageUser, userNamespace, extraGroups, extraMaskedPaths } = input;
  const effective = effectiveSecurityContext(pod, container);
  verifyNonRoot(input, effective);
  const { capabilities, seLinuxOptions } = effective;
  const apparmor = appArmorProfile(pod, container);
  const isUnmasked = effective.procMount === 'Unmasked';
  return LinuxContainerSecurityContext.fromPartial({
    capabilities: capabilities && {
      addCapabilities: [...(capabilities.add ?? [])],
      dropCapabilities: [...(capabilities.drop ?? [])],
    },
    selinuxOptions: seLinuxOptions && definedFields(seLinuxOptions),
    ...runAs(effective, imageUser),
    privileged: effective.privileged ?? false,
    readonlyRootfs: effective.readOnlyRootFilesystem ?? false,
    seccomp: seccompProfile(input),
    apparmor,
    apparmorProfile: apparmor ? deprecatedAppArmorName(apparmor) : '',
    namespaceOptions: namespaceOptions(pod, userNamespace, input.targetId),
    ...groups(pod, { last: extraGroups }),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : [...MASKED_PATHS, ...extraMaskedPaths],
    readonlyPaths: isUnmasked ? [] : [...READONLY_PATHS],
  });
}

function runAs({ runAsUser, runAsGroup }: SecurityContext, image: ImageUser) {
  const group = { runAsGroup: int64(runAsGroup) };
  if (runAsUser !== undefined) return { runAsUser: int64(runAsUser), ...group };
  if (image.uid !== undefined) return { runAsUser: { value: image.uid }, ...group };
  if (image.username !== '') return { runAsUsername: image.username, ...group };
  return { runAsUser: { value: 0n }, ...group };
}

/** Groups of volumes are first in a sandbox and last in a container, as kubelet has them. */
function groups(
  { spec }: Pod,
  { first = [], last = [] }: { readonly first?: readonly number[]; readonly last?: readonly number[] },
): { supplementalGroups: bigint[]; supplementalGroupsPolicy: SupplementalGroupsPolicy } {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy = 'Merge' } = spec.securityContext ?? {};
  if (supplementalGroupsPolicy !== 'Merge' && supplementalGroupsPolicy !== 'Strict') {
    throw new Error(`unsupported supplementalGroupsPolicy: ${supplementalGroupsPolicy}`);
  }
  const all = [...(fsGroup === undefined ? [] : [fsGroup]), ...first, ...supplementalGroups, ...last];
  return {
    supplementalGroups: all.map(BigInt),
    supplementalGroupsPolicy: SupplementalGroupsPolicy[supplementalGroupsPolicy],
  };
}

function verifyNonRoot({ pod, container, imageUser }: ContainerSecurityInput, effective: SecurityContext): void {
  if (!effective.runAsNonRoot) return;
  const subject = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  if (effective.runAsUser !== undefined) {
    if (effective.runAsUser !== 0) return;
    const message = `container's runAsUser breaks non-root policy ${subject}`;
    throw new CausedError(message, { kind: 'runsAsRoot', from: 'spec' });
  }
  // A runtime may treat such a number as a name, or truncate it to 32 bits: either may be root.
  const isOutOfRange = imageUser.uid !== undefined && !isId(imageUser.uid);
  const { uid, username } = isOutOfRange ? { uid: undefined, username: String(imageUser.uid) } : imageUser;
  if (uid === undefined && username !== '') {
    throw new CausedError(
      `container has runAsNonRoot and image has non-numeric user (${username}), cannot verify user is non-root ${subject}`,
      { kind: 'userNotNumeric', user: username },
    );
  }
  if (uid === undefined || uid === 0n) {
    const message = `container has runAsNonRoot and image will run as root ${subject}`;
    throw new CausedError(message, { kind: 'runsAsRoot', from: 'image' });
  }
}

function seccompProfile({ pod, container, settings }: ContainerSecurityInput): SecurityProfile {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (!profile) return typedProfile(settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined');
  if (profile.type !== 'Localhost') {
    return typedProfile(profile.type === 'RuntimeDefault' ? 'RuntimeDefault' : 'Unconfined');
  }
  return typedProfile('Localhost', `${settings.rootDir}/seccomp/${localhostSeccomp(profile)}`);
}

function localhostSeccomp({ localhostProfile }: SeccompProfile): string {
  if (localhostProfile) return localhostProfile;
  throw new Error('localhostProfile must be set if seccompProfile type is Localhost.');
}

/** Prefix of the deprecated annotations, one per container, which the API server converts to fields. */
export const DEPRECATED_APPARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** The container's field, else the deprecated annotation, else the pod's field. */
export function appArmorSetting(pod: Pod, container: Container): AppArmorProfile | undefined {
  const own = container.securityContext?.appArmorProfile;
  if (own) return own;
  const annotation = pod.metadata.annotations?.[`${DEPRECATED_APPARMOR}${container.name}`];
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation?.startsWith('localhost/')) {
    return { type: 'Localhost', localhostProfile: annotation.slice('localhost/'.length) };
  }
  return pod.spec.securityContext?.appArmorProfile;
}

function appArmorProfile(pod: Pod, container: Container): SecurityProfile | undefined {
  const setting = appArmorSetting(pod, container);
  if (!setting) return undefined;
  const { type, localhostProfile } = setting;
  if (type === 'RuntimeDefault' || type === 'Unconfined') return typedProfile(type);
  if (type !== 'Localhost') throw new Error(`unknown apparmor profile type: "${type}"`);
  if (localhostProfile === undefined) throw new Error('missing localhost apparmor profile name');
  return typedProfile(type, localhostProfile);
}

/** The profile name for runtimes that do not read the typed profile. */
function deprecatedAppArmorName({ profileType, localhostRef }: SecurityProfile): string {
  if (profileType === ProfileType.RuntimeDefault) return 'runtime/default';
  return profileType === ProfileType.Unconfined ? 'unconfined' : `localhost/${localhostRef}`;
}

function typedProfile(type: keyof typeof ProfileType, localhostRef = ''): SecurityProfile {
  return SecurityProfile.fromPartial({ profileType: ProfileType[type], localhostRef });
}

function int64(value: number | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function definedFields<T extends object>(value: T): Defined<T> {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields) as Defined<T>; // without undefined fields
}
