import type { CgroupDriver } from '../../host/cgroups.ts';

/** Of the names of scopes that runtimes create: `cri-containerd-<id>.scope`. */
const SCOPE_PREFIXES = ['cri-containerd', 'cri-nodelet', 'crio'];

export interface CgroupOwner {
  /** The path of the pod's cgroup; absent: unknown. */
  readonly cgroup: string | undefined;
  readonly containers: readonly { readonly id: string }[];
}

/** The paths at which a container may have its cgroup, by container id. */
export function containerCgroups(
  { cgroup, containers }: CgroupOwner,
  driver: CgroupDriver,
): ReadonlyMap<string, readonly string[]> {
  if (cgroup === undefined) return new Map();
  return new Map(containers.map(({ id }) => [id, namesOf(id, driver).map((name) => `${cgroup}/${name}`)]));
}

function namesOf(id: string, driver: CgroupDriver): readonly string[] {
  return driver === 'systemd' ? SCOPE_PREFIXES.map((prefix) => `${prefix}-${id}.scope`) : [id];
}
