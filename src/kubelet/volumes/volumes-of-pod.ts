import { allContainers } from '../../api/all-containers.ts';
import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import type { VolumeSpec, VolumeUse } from './volume-spec.ts';

const GID_ANNOTATION = 'pv.beta.kubernetes.io/gid';

/** The volumes that at least one container mounts or uses as a device. The others are not set up. */
export function volumesInUse({
  spec,
}: Pod): readonly { readonly name: string; readonly volume: Volume; readonly use: VolumeUse }[] {
  const containers = allContainers(spec);
  const mounted = new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const devices = new Set(containers.flatMap(({ volumeDevices = [] }) => volumeDevices.map(({ name }) => name)));
  const all = (spec.volumes ?? []).map((volume) => {
    const { name } = volume;
    return { name, volume, use: { isMounted: mounted.has(name), isDevice: devices.has(name) } };
  });
  return all.filter(({ use }) => use.isMounted || use.isDevice);
}

/** The group that may use a persistent volume; a value that is not a number is ignored, as in kubelet. */
export function extraGroup({ bound }: VolumeSpec): number | undefined {
  const value = bound?.volume.metadata.annotations?.[GID_ANNOTATION];
  return value !== undefined && /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}
