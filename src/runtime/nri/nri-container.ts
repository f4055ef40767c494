import type { OciHook, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord, ContainerRecordState } from '../store/container-record.ts';
import {
  Container,
  ContainerState,
  type Hooks,
  IOPrioClass,
  LinuxContainer,
  LinuxScheduler,
  LinuxSchedulerFlag,
  LinuxSchedulerPolicy,
  type SecurityProfile,
} from './generated/nri-v1alpha1.ts';
import { nriResources } from './nri-resources.ts';

/** Converts a container for plugins; `spec` is its specification so far. */
export function nriContainer(record: ContainerRecord, spec: OciSpec | undefined = record.spec): Container {
  const { config, state } = record;
  const base = Container.create({
    id: record.id,
    podSandboxId: record.sandboxId,
    name: config.metadata?.name ?? '',
    state: STATES[state.phase],
    labels: config.labels,
    annotations: { ...spec?.annotations, ...config.annotations },
    createdAt: record.createdAtNs,
    CDIDevices: config.CDIDevices.map(({ name }) => ({ name })),
    ...lifeFields(state),
  });
  return spec === undefined ? base : { ...base, ...specFields(record, spec) };
}

const STATES: Record<ContainerRecordState['phase'], ContainerState> = {
  creating: ContainerState.CONTAINER_UNKNOWN,
  created: ContainerState.CONTAINER_CREATED,
  starting: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_STOPPED,
};

function lifeFields(life: ContainerRecordState): Partial<Container> {
  if (life.phase === 'running') return { pid: life.pid, startedAt: life.startedAtNs };
  if (life.phase !== 'exited') return {};
  return {
    startedAt: life.startedAtNs ?? 0n,
    finishedAt: life.finishedAtNs,
    exitCode: life.exitCode,
    statusReason: life.reason,
    statusMessage: life.message,
  };
}

function specFields(record: ContainerRecord, spec: OciSpec) {
  const { args, env, rlimits, user } = spec.process;
  return {
    args: [...args],
    env: [...env],
    mounts: spec.mounts.map(({ destination, type = '', source = '', options }) => ({
      destination,
      type,
      source,
      options: [...options],
    })),
    hooks: nriHooks(spec.hooks),
    rlimits: rlimits.map(({ type, soft, hard }) => ({ type, soft: BigInt(soft), hard: BigInt(hard) })),
    user: { uid: user.uid, gid: user.gid, additionalGids: [...user.additionalGids] },
    linux: nriLinux(record, spec),
  };
}

function nriHooks(hooks: OciSpec['hooks']): Hooks | undefined {
  const nri = (list: readonly OciHook[] = []) =>
    list.map(({ path, args = [], env = [], timeout }) => ({
      path,
      args: [...args],
      env: [...env],
      timeout: timeout === undefined ? undefined : { value: BigInt(timeout) },
    }));
  return (
    hooks && {
      prestart: nri(hooks.prestart),
      createRuntime: nri(hooks.createRuntime),
      createContainer: nri(hooks.createContainer),
      startContainer: nri(hooks.startContainer),
      poststart: nri(hooks.poststart),
      poststop: nri(hooks.poststop),
    }
  );
}

/** The seccomp policy itself is not sent, as in containerd: it is longer than all the rest. */
function nriLinux({ config }: ContainerRecord, { linux, process }: OciSpec): LinuxContainer {
  const { oomScoreAdj, ioPriority, scheduler } = process;
  return LinuxContainer.create({
    namespaces: linux.namespaces.map(({ type, path = '' }) => ({ type, path })),
    devices: linux.devices.map(({ path, type, major = 0, minor = 0, fileMode, uid, gid }) => ({
      path,
      type,
      major: BigInt(major),
      minor: BigInt(minor),
      fileMode: fileMode === undefined ? undefined : { value: fileMode },
      uid: uid === undefined ? undefined : { value: uid },
      gid: gid === undefined ? undefined : { value: gid },
    })),
    resources: nriResources(linux.resources),
    oomScoreAdj: oomScoreAdj === undefined ? undefined : { value: BigInt(oomScoreAdj) },
    cgroupsPath: linux.cgroupsPath,
    ioPriority: ioPriority && { class: enumValue(IOPrioClass, ioPriority.class), priority: ioPriority.priority },
    seccompProfile: seccompProfile(config.linux?.securityContext?.seccomp),
    sysctl: linux.sysctl ?? {},
    scheduler: scheduler && nriScheduler(scheduler),
  });
}

/** NRI and CRI number the profile types alike. */
function seccompProfile(profile: SecurityProfile | undefined): SecurityProfile | undefined {
  return profile && { profileType: profile.profileType, localhostRef: profile.localhostRef };
}

function nriScheduler(scheduler: NonNullable<OciProcess['scheduler']>): LinuxScheduler {
  const number = (key: string): number => Number(scheduler[key] ?? 0);
  const flags = Array.isArray(scheduler['flags']) ? scheduler['flags'] : [];
  return LinuxScheduler.create({
    policy: enumValue(LinuxSchedulerPolicy, String(scheduler['policy'])),
    nice: number('nice'),
    priority: number('priority'),
    flags: flags.map((flag) => enumValue(LinuxSchedulerFlag, String(flag))),
    runtime: BigInt(number('runtime')),
    deadline: BigInt(number('deadline')),
    period: BigInt(number('period')),
  });
}

/** A name that NRI does not have becomes the zero value. */
function enumValue<V extends number>(values: Readonly<Record<string, V>>, name: string): V {
  return values[name] ?? (0 as V); // proto3: every enum has a value 0
}
