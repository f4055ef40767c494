import type { Pod, Volume } from '../../api/generated/core-v1.ts';
import { qualifiedName } from './measured-plugin.ts';
import type { VolumePlugin } from './volume-plugin.ts';
import { findVolumePlugin } from './volume-plugins.ts';
import type { VolumeSpec } from './volume-spec.ts';
import { volumesInUse } from './volumes-of-pod.ts';

/** Volumes by plugin. */
export interface VolumeCounts {
  readonly wanted: ReadonlyMap<string, number>;
  readonly ready: ReadonlyMap<string, number>;
}

/** Volumes that are set up, by the name in the pod. */
type ReadyVolumes = ReadonlyMap<string, { readonly spec: VolumeSpec }>;

/** The number of volumes that pods need and that are set up; both are by UID. */
export function countVolumes(
  wanted: ReadonlyMap<string, Pod>,
  ready: ReadonlyMap<string, ReadyVolumes>,
  plugins: readonly VolumePlugin[],
): VolumeCounts {
  const nameOf = (spec: VolumeSpec): string => {
    const plugin = findVolumePlugin(spec, plugins);
    return plugin ? qualifiedName(plugin.name, spec) : 'N/A';
  };
  const countBy = (specs: readonly VolumeSpec[]): ReadonlyMap<string, number> =>
    new Map([...Map.groupBy(specs, nameOf)].map(([name, { length }]) => [name, length]));
  const ofPods = [...wanted].flatMap(([uid, pod]) =>
    volumesInUse(pod).map(({ volume }) => ready.get(uid)?.get(volume.name)?.spec ?? unresolved(volume)),
  );
  const setUp = [...ready.values()].flatMap((volumes) => [...volumes.values()].map(({ spec }) => spec));
  return { wanted: countBy(ofPods), ready: countBy(setUp) };
}

/** A volume whose claim is not looked up yet. */
function unresolved(volume: Volume): VolumeSpec {
  return { name: volume.name, volume, readOnly: false, mode: 'Filesystem' };
}
