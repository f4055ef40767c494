import { withoutMarker } from './adjust-keyed.ts';
import type { ContainerAdjustment, Hooks, LinuxContainerAdjustment, LinuxResources } from './generated/nri-v1alpha1.ts';

/** Merges the adjustments of two plugins for validating plugins. Conflicts are excluded before. */
export function mergeAdjustments(first: ContainerAdjustment, second: ContainerAdjustment): ContainerAdjustment {
  return {
    annotations: mergeMaps(first.annotations, second.annotations),
    mounts: mergeLists(first.mounts, second.mounts, ({ destination }) => destination),
    env: mergeLists(first.env, second.env, ({ key }) => key),
    hooks: first.hooks && second.hooks ? mergeHooks(first.hooks, second.hooks) : (second.hooks ?? first.hooks),
    linux: first.linux && second.linux ? mergeLinux(first.linux, second.linux) : (second.linux ?? first.linux),
    rlimits: mergeLists(first.rlimits, second.rlimits, ({ type }) => type),
    CDIDevices: [...first.CDIDevices, ...second.CDIDevices],
    args: second.args.length > 0 ? second.args : first.args,
  };
}

function mergeLinux(first: LinuxContainerAdjustment, second: LinuxContainerAdjustment): LinuxContainerAdjustment {
  return {
    devices: mergeLists(first.devices, second.devices, ({ path }) => path),
    resources:
      first.resources && second.resources
        ? mergeResources(first.resources, second.resources)
        : (second.resources ?? first.resources),
    cgroupsPath: second.cgroupsPath === '' ? first.cgroupsPath : second.cgroupsPath,
    oomScoreAdj: second.oomScoreAdj ?? first.oomScoreAdj,
    ioPriority: second.ioPriority ?? first.ioPriority,
    seccompPolicy: second.seccompPolicy ?? first.seccompPolicy,
    namespaces: mergeLists(first.namespaces, second.namespaces, ({ type }) => type),
    sysctl: mergeMaps(first.sysctl, second.sysctl),
    netDevices: mergeMaps(first.netDevices, second.netDevices),
    scheduler: second.scheduler ?? first.scheduler,
    rdt: second.rdt ?? first.rdt,
    memoryPolicy: second.memoryPolicy ?? first.memoryPolicy,
  };
}

export function mergeResources(first: LinuxResources, second: LinuxResources): LinuxResources {
  return {
    memory: mergeGiven(first.memory, second.memory),
    cpu: mergeGiven(first.cpu, second.cpu),
    hugepageLimits: mergeLists(first.hugepageLimits, second.hugepageLimits, ({ pageSize }) => pageSize),
    blockioClass: second.blockioClass ?? first.blockioClass,
    rdtClass: second.rdtClass ?? first.rdtClass,
    unified: { ...first.unified, ...second.unified },
    devices: [...first.devices, ...second.devices],
    pids: second.pids ?? first.pids,
  };
}

/** Merges field by field; the first applies where the second is unset. */
function mergeGiven<T extends object>(first: T | undefined, second: T | undefined): T | undefined {
  if (first === undefined || second === undefined) return second ?? first;
  const given = Object.entries(second).filter(([, value]) => value !== undefined && value !== '');
  return { ...first, ...Object.fromEntries(given) };
}

function mergeHooks(first: Hooks, second: Hooks): Hooks {
  return {
    prestart: [...first.prestart, ...second.prestart],
    createRuntime: [...first.createRuntime, ...second.createRuntime],
    createContainer: [...first.createContainer, ...second.createContainer],
    startContainer: [...first.startContainer, ...second.startContainer],
    poststart: [...first.poststart, ...second.poststart],
    poststop: [...first.poststop, ...second.poststop],
  };
}

/** The second's entry for a key, set or removed, replaces the first's. */
function mergeLists<T>(first: readonly T[], second: readonly T[], keyOf: (item: T) => string): T[] {
  const replaced = new Set(second.map((item) => withoutMarker(keyOf(item)).key));
  return [...first.filter((item) => !replaced.has(withoutMarker(keyOf(item)).key)), ...second];
}

function mergeMaps<V>(first: Record<string, V>, second: Record<string, V>): Record<string, V> {
  return Object.fromEntries(mergeLists(Object.entries(first), Object.entries(second), ([key]) => key));
}
