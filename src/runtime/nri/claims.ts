import { withoutMarker } from './adjust-keyed.ts';
import type { Claim } from './field-owners.ts';
import {
  type ContainerAdjustment,
  Field,
  type LinuxContainerAdjustment,
  type LinuxResources,
} from './generated/nri-v1alpha1.ts';

/** Returns the fields that a plugin claims with its adjustment. */
export function adjustmentClaims(adjustment: ContainerAdjustment): readonly Claim[] {
  const { annotations, mounts, env, args, hooks, rlimits, CDIDevices, linux } = adjustment;
  const hasHooks = hooks !== undefined && Object.values(hooks).some((list) => list.length > 0);
  return [
    ...marked(Field.Annotations, Object.keys(annotations)),
    ...marked(
      Field.Mounts,
      mounts.map(({ destination }) => destination),
    ),
    ...marked(
      Field.Env,
      env.map(({ key }) => key),
    ),
    ...(args[0] === '' ? [{ field: Field.Args, isRemoval: true }] : []),
    ...given(Field.Args, args.length > 0),
    ...given(Field.OciHooks, hasHooks),
    ...rlimits.map(({ type }) => ({ field: Field.Rlimits, key: type })),
    ...CDIDevices.map(({ name }) => ({ field: Field.CdiDevices, key: name })),
    ...(linux ? linuxClaims(linux) : []),
  ];
}

function linuxClaims(linux: LinuxContainerAdjustment): readonly Claim[] {
  const { rdt } = linux;
  return [
    ...marked(
      Field.Devices,
      linux.devices.map(({ path }) => path),
    ),
    ...marked(Field.Sysctl, Object.keys(linux.sysctl)),
    ...marked(Field.LinuxNetDevices, Object.keys(linux.netDevices)),
    // A removed namespace is owned too: no other plugin may set it again.
    ...linux.namespaces.map(({ type }) => ({ field: Field.Namespace, key: withoutMarker(type).key })),
    ...given(Field.CgroupsPath, linux.cgroupsPath !== ''),
    ...given(Field.OomScoreAdj, linux.oomScoreAdj),
    ...given(Field.IoPriority, linux.ioPriority),
    ...given(Field.SeccompPolicy, linux.seccompPolicy),
    ...given(Field.LinuxSched, linux.scheduler),
    ...given(Field.MemoryPolicy, linux.memoryPolicy),
    ...(rdt?.remove ? RDT_FIELDS.map((field) => ({ field, isRemoval: true })) : []),
    ...given(Field.RdtClosID, rdt?.closId),
    ...given(Field.RdtSchemata, rdt?.schemata),
    ...given(Field.RdtEnableMonitoring, rdt?.enableMonitoring),
    ...(linux.resources ? resourceClaims(linux.resources) : []),
  ];
}

const RDT_FIELDS = [Field.RdtClosID, Field.RdtSchemata, Field.RdtEnableMonitoring];

export function resourceClaims(resources: LinuxResources): readonly Claim[] {
  const { memory, cpu } = resources;
  return [
    ...given(Field.MemLimit, memory?.limit),
    ...given(Field.MemReservation, memory?.reservation),
    ...given(Field.MemSwapLimit, memory?.swap),
    ...given(Field.MemKernelLimit, memory?.kernel),
    ...given(Field.MemTCPLimit, memory?.kernelTcp),
    ...given(Field.MemSwappiness, memory?.swappiness),
    ...given(Field.MemDisableOomKiller, memory?.disableOomKiller),
    ...given(Field.MemUseHierarchy, memory?.useHierarchy),
    ...given(Field.CPUShares, cpu?.shares),
    ...given(Field.CPUQuota, cpu?.quota),
    ...given(Field.CPUPeriod, cpu?.period),
    ...given(Field.CPURealtimeRuntime, cpu?.realtimeRuntime),
    ...given(Field.CPURealtimePeriod, cpu?.realtimePeriod),
    ...given(Field.CPUSetCPUs, cpu !== undefined && cpu.cpus !== ''),
    ...given(Field.CPUSetMems, cpu !== undefined && cpu.mems !== ''),
    ...given(Field.PidsLimit, resources.pids),
    ...given(Field.BlockioClass, resources.blockioClass),
    ...given(Field.RdtClass, resources.rdtClass),
    ...resources.hugepageLimits.map(({ pageSize }) => ({ field: Field.HugepageLimits, key: pageSize })),
    ...Object.keys(resources.unified).map((key) => ({ field: Field.CgroupsUnified, key })),
  ];
}

function given(field: Field, value: object | boolean | undefined): readonly Claim[] {
  return value === undefined || value === false ? [] : [{ field }];
}

function marked(field: Field, keys: readonly string[]): readonly Claim[] {
  return keys.map((marked) => ({ field, ...withoutMarker(marked) }));
}
