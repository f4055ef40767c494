import type { OciHook, OciHooks, OciLinux, OciNamespace, OciProcess, OciSeccomp, OciSpec } from '../oci/oci-spec.ts';
import { adjustKeyed, adjustMap, markedChanges } from './adjust-keyed.ts';
import { AdjustmentError } from './adjustment-error.ts';
import { adjustDevices } from './apply-devices.ts';
import { adjustMounts, rootfsPropagation } from './apply-mounts.ts';
import { applyResources } from './apply-resources.ts';
import {
  type ContainerAdjustment,
  type Hook,
  type Hooks,
  IOPrioClass,
  type KeyValue,
  type LinuxContainerAdjustment,
  type LinuxIOPriority,
  type LinuxNamespace,
  type LinuxScheduler,
  LinuxSchedulerFlag,
  LinuxSchedulerPolicy,
  type LinuxSeccomp,
  type LinuxSeccompArg,
  type POSIXRlimit,
} from './generated/nri-v1alpha1.ts';
import { enumName, omitUndefined, optionalNumber, toNumber } from './plain-values.ts';

/**
 * Applies one plugin's adjustment to the specification. Nothing is ignored silently: anything unsupported throws
 * `AdjustmentError`. CDI devices must be resolved before (they need files).
 */
export function applyAdjustment(spec: OciSpec, adjustment: ContainerAdjustment): OciSpec {
  rejectUnsupported(adjustment);
  const { linux, mounts } = adjustment;
  const adjusted = linux ? adjustLinux(spec.linux, linux) : spec.linux;
  return {
    ...spec,
    process: adjustProcess(spec.process, adjustment),
    mounts: adjustMounts(spec.mounts, mounts),
    annotations: adjustMap(spec.annotations, adjustment.annotations),
    linux: { ...adjusted, ...rootfsPropagation(adjusted.rootfsPropagation, mounts) },
    ...(adjustment.hooks ? { hooks: addHooks(spec.hooks, adjustment.hooks) } : {}),
  };
}

function rejectUnsupported({ CDIDevices, linux }: ContainerAdjustment): void {
  if (CDIDevices.length > 0) throw new AdjustmentError('CDI_devices', 'CDI devices are not resolved');
  if (!linux) return;
  const { rdt, netDevices, memoryPolicy } = linux;
  if (rdt && (rdt.closId || rdt.schemata || rdt.enableMonitoring)) {
    throw new AdjustmentError('linux.rdt', 'RDT is not supported');
  }
  if (Object.keys(netDevices).some((name) => !name.startsWith('-'))) {
    throw new AdjustmentError('linux.net_devices', 'network devices are not supported');
  }
  if (memoryPolicy) throw new AdjustmentError('linux.memory_policy', 'memory policies are not supported');
}

function adjustProcess(process: OciProcess, { env, args, rlimits, linux }: ContainerAdjustment): OciProcess {
  const { ioPriority, scheduler, ...rest } = process;
  return {
    ...rest,
    args: args.length > 0 ? newArgs(args) : process.args,
    env: adjustEnv(process.env, env),
    rlimits: adjustKeyed(process.rlimits, ({ type }) => type, rlimits.map(rlimitChange)),
    ...omitUndefined({
      oomScoreAdj: optionalNumber(linux?.oomScoreAdj, 'linux.oom_score_adj') ?? process.oomScoreAdj,
      ioPriority: linux?.ioPriority ? ociIoPriority(linux.ioPriority) : ioPriority,
      scheduler: linux?.scheduler ? ociScheduler(linux.scheduler) : scheduler,
    }),
  };
}

/** An empty first argument marks a deliberate replacement of an earlier plugin's arguments. */
function newArgs(args: readonly string[]): readonly string[] {
  return args[0] === '' ? args.slice(1) : args;
}

function adjustEnv(env: readonly string[], requested: readonly KeyValue[]): readonly string[] {
  const changes = markedChanges(
    requested,
    ({ key }) => key,
    ({ key, value }) => `${key}=${value}`,
  );
  return adjustKeyed(env, (variable) => variable.split('=', 1)[0] ?? '', changes);
}

/** The largest JavaScript number below 2⁶⁴; RLIM_INFINITY itself cannot be represented. */
const MAX_RLIMIT = 2 ** 64 - 2048;

function rlimitChange({ type, soft, hard }: POSIXRlimit) {
  const limit = (value: bigint): number => Math.min(Number(value), MAX_RLIMIT);
  return { key: type, item: { type, soft: limit(soft), hard: limit(hard) } };
}

function ociIoPriority({ class: prioClass, priority }: LinuxIOPriority): OciProcess['ioPriority'] {
  if (prioClass === IOPrioClass.IOPRIO_CLASS_NONE) return undefined;
  return { class: enumName(IOPrioClass, prioClass, 'linux.io_priority.class'), priority };
}

function ociScheduler(scheduler: LinuxScheduler): OciProcess['scheduler'] {
  if (scheduler.policy === LinuxSchedulerPolicy.SCHED_NONE) return undefined;
  const field = 'linux.scheduler';
  const values = {
    policy: enumName(LinuxSchedulerPolicy, scheduler.policy, `${field}.policy`),
    nice: scheduler.nice,
    priority: scheduler.priority,
    runtime: toNumber(scheduler.runtime, `${field}.runtime`),
    deadline: toNumber(scheduler.deadline, `${field}.deadline`),
    period: toNumber(scheduler.period, `${field}.period`),
  };
  const flags = scheduler.flags.map((flag) => enumName(LinuxSchedulerFlag, flag, `${field}.flags`));
  const set = Object.entries(values).filter(([, value]) => value !== 0);
  return { ...Object.fromEntries(set), ...(flags.length > 0 ? { flags } : {}) };
}

function adjustLinux(linux: OciLinux, change: LinuxContainerAdjustment): OciLinux {
  const { devices, rules } = adjustDevices(linux.devices, change.devices);
  const resources = { ...linux.resources, devices: [...linux.resources.devices, ...rules] };
  const namespaces = markedChanges(change.namespaces, ({ type }) => type, ociNamespace);
  const isSysctlChanged = Object.keys(change.sysctl).length > 0;
  return {
    ...linux,
    devices,
    resources: change.resources ? applyResources(resources, change.resources) : resources,
    namespaces: adjustKeyed(linux.namespaces, ({ type }) => type, namespaces),
    cgroupsPath: change.cgroupsPath === '' ? linux.cgroupsPath : change.cgroupsPath,
    ...omitUndefined({
      sysctl: isSysctlChanged ? adjustMap(linux.sysctl ?? {}, change.sysctl) : linux.sysctl,
      seccomp: change.seccompPolicy ? ociSeccomp(change.seccompPolicy) : linux.seccomp,
    }),
  };
}

const NAMESPACE_TYPES: readonly OciNamespace['type'][] = ['pid', 'network', 'ipc', 'uts', 'mount', 'user', 'cgroup'];

function ociNamespace({ type, path }: LinuxNamespace): OciNamespace {
  const known = NAMESPACE_TYPES.find((each) => each === type);
  if (known === undefined) throw new AdjustmentError('linux.namespaces', `unknown type "${type}"`);
  return path === '' ? { type: known } : { type: known, path };
}

function addHooks(hooks: OciHooks = {}, added: Hooks): OciHooks {
  const both = (old: readonly OciHook[] | undefined, more: readonly Hook[]): readonly OciHook[] | undefined =>
    more.length === 0 ? old : [...(old ?? []), ...more.map(ociHook)];
  return omitUndefined({
    prestart: both(hooks.prestart, added.prestart),
    createRuntime: both(hooks.createRuntime, added.createRuntime),
    createContainer: both(hooks.createContainer, added.createContainer),
    startContainer: both(hooks.startContainer, added.startContainer),
    poststart: both(hooks.poststart, added.poststart),
    poststop: both(hooks.poststop, added.poststop),
  });
}

function ociHook({ path, args, env, timeout }: Hook): OciHook {
  return { path, args, env, ...omitUndefined({ timeout: optionalNumber(timeout, 'hooks.timeout') }) };
}

function ociSeccomp(policy: LinuxSeccomp): OciSeccomp {
  return {
    defaultAction: policy.defaultAction,
    architectures: policy.architectures,
    flags: policy.flags,
    syscalls: policy.syscalls.map(({ names, action, errnoRet, args }) => ({
      names,
      action,
      args: args.map(ociArgument),
      ...omitUndefined({ errnoRet: errnoRet?.value }),
    })),
    ...omitUndefined({
      defaultErrnoRet: policy.defaultErrno?.value,
      listenerPath: policy.listenerPath === '' ? undefined : policy.listenerPath,
      listenerMetadata: policy.listenerMetadata === '' ? undefined : policy.listenerMetadata,
    }),
  };
}

function ociArgument({ index, value, valueTwo, op }: LinuxSeccompArg) {
  const field = 'linux.seccomp_policy.syscalls.args';
  return { index, value: toNumber(value, field), valueTwo: toNumber(valueTwo, field), op };
}
