import type { Pod } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import {
  areSameSources,
  type ContentVolume,
  contentOf,
  type FoundSource,
  findSources,
  type SourceOrigins,
} from './content-sources.ts';
import { type EmptyDirDeps, prepareEmptyDir } from './empty-dir.ts';
import { giveToGroup } from './fs-group.ts';
import { nestedMountPoints } from './nested-mount-points.ts';
import { type WriteContentDeps, writeContent } from './write-content.ts';

export interface ContentVolumeDeps extends EmptyDirDeps, WriteContentDeps, SourceOrigins {
  readonly allocatable: ResourceList;
}

/** A volume of files from elsewhere that is in place. */
export interface PlacedContent {
  readonly path: string;
  /** What its present content was made of. */
  readonly sources: readonly FoundSource[];
}

/** Secrets and what is told of a pod never reach the disk. */
const IN_MEMORY = { medium: 'Memory' };
const ON_DISK = {};

/** Puts the volume and its content in place. Nothing is made before the content is known. */
export async function prepareContent(
  pod: Pod,
  volume: ContentVolume,
  mountPoints: readonly string[],
  deps: ContentVolumeDeps,
  signal: AbortSignal,
): Promise<PlacedContent> {
  const sources = await findSources(volume, pod, deps, undefined, signal);
  const content = contentOf(sources, volume.defaultMode, { pod, allocatable: deps.allocatable });
  const source = volume.type === 'configMap' ? ON_DISK : IN_MEMORY;
  const path = await prepareEmptyDir(pod, { name: volume.name, type: volume.type, source }, mountPoints, deps);
  const fsGroup = pod.spec.securityContext?.fsGroup;
  for (const folder of nestedMountPoints(volume.name, pod)) {
    await deps.fs.makeDirectory(`${path}/${folder}`, 0o755);
    if (fsGroup !== undefined) await giveToGroup(deps.fs, `${path}/${folder}`, fsGroup, 'read');
  }
  await writeContent(path, content, fsGroup, deps);
  return { path, sources };
}

/** Brings the content up to date. While nothing is another, nothing is read or written. */
export async function refreshContent(
  pod: Pod,
  volume: ContentVolume,
  placed: PlacedContent,
  deps: ContentVolumeDeps,
  signal: AbortSignal,
): Promise<PlacedContent> {
  const sources = await findSources(volume, pod, deps, placed.sources, signal);
  if (areSameSources(sources, placed.sources)) return placed;
  const content = contentOf(sources, volume.defaultMode, { pod, allocatable: deps.allocatable });
  await writeContent(placed.path, content, pod.spec.securityContext?.fsGroup, deps);
  return { ...placed, sources };
}
