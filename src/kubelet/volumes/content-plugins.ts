import { posix } from 'node:path';
import { allContainers } from '../../api/all-containers.ts';
import type { Container, EmptyDirVolumeSource, Pod, Volume, VolumeProjection } from '../../api/generated/core-v1.ts';
import {
  areSameSources,
  collectContent,
  type ResolvedSource,
  resolveSources,
  type VolumeSources,
} from './content-sources.ts';
import { setUpEmptyDir } from './empty-dir.ts';
import { setVolumeOwnership } from './fs-group.ts';
import {
  type RefreshableContent,
  type VolumePlugin,
  type VolumePluginDeps,
  type VolumePluginSpec,
  volumePlugin,
} from './volume-plugin.ts';
import { currentDataPath, writeContent } from './write-content.ts';

/** The content of a ConfigMap, Secret, downward API or projected volume, all as projected sources. */
interface ContentSpec extends VolumeSources {
  readonly defaultMode?: number | undefined;
}

const DEFAULT_MODE = 0o644;
const ON_DISK: EmptyDirVolumeSource = {};
/** Secrets, tokens, keys and pod fields are never written to disk. */
const IN_MEMORY: EmptyDirVolumeSource = { medium: 'Memory' };

export const configMapPlugin = contentPlugin({
  name: 'kubernetes.io/configmap',
  medium: ON_DISK,
  source: ({ volume: { name, configMap } }) =>
    configMap && { volume: name, defaultMode: configMap.defaultMode, sources: [{ configMap }] },
});

export const secretPlugin = contentPlugin({
  name: 'kubernetes.io/secret',
  medium: IN_MEMORY,
  source: ({ volume: { name, secret } }) =>
    secret && {
      volume: name,
      defaultMode: secret.defaultMode,
      sources: [{ secret: { ...secret, name: secret.secretName } }],
    },
});

export const downwardApiPlugin = contentPlugin({
  name: 'kubernetes.io/downward-api',
  medium: IN_MEMORY,
  source: ({ volume: { name, downwardAPI } }) =>
    downwardAPI && { volume: name, defaultMode: downwardAPI.defaultMode, sources: [{ downwardAPI }] },
});

export const projectedPlugin = contentPlugin({
  name: 'kubernetes.io/projected',
  medium: IN_MEMORY,
  source: ({ volume: { name, projected } }) =>
    projected && {
      volume: name,
      defaultMode: projected.defaultMode,
      sources: (projected.sources ?? []).filter(hasType),
    },
  forget(podUid, { tokens, trustBundles, podCertificates }) {
    for (const each of [tokens, trustBundles, podCertificates]) each.forget(podUid);
  },
});

/** The API server accepts projected sources without a type. */
function hasType(source: VolumeProjection): boolean {
  return Object.values(source).some((part) => part !== undefined);
}

interface ContentPluginSpec extends Pick<VolumePlugin, 'name' | 'forget'> {
  readonly medium: EmptyDirVolumeSource;
  readonly source: VolumePluginSpec<ContentSpec>['source'];
}

/** A plugin that writes the content of sources into an empty directory. Nothing is created before the content is known. */
function contentPlugin({ medium, ...spec }: ContentPluginSpec): VolumePlugin {
  return volumePlugin<ContentSpec>({
    ...spec,
    supportsRelabel: true,
    async setUp(source, setup, deps, signal) {
      const { pod, volume } = setup;
      const sources = await resolveSources(source, pod, deps, undefined, signal);
      const content = collectContent(sources, source.defaultMode ?? DEFAULT_MODE, {
        pod,
        allocatable: deps.allocatable,
      });
      const path = await setUpEmptyDir(spec.name, medium, setup, deps);
      const fsGroup = pod.spec.securityContext?.fsGroup;
      for (const folder of nestedMountPoints(volume.name, pod)) {
        await deps.fs.makeDirectory(`${path}/${folder}`, 0o755);
        if (fsGroup !== undefined) await setVolumeOwnership(deps.fs, `${path}/${folder}`, fsGroup, 'read');
      }
      await writeContent(path, content, fsGroup, deps);
      const marker = currentDataPath(path);
      return { path, readOnly: true, marker, content: new WrittenContent(path, source, sources, deps) };
    },
  });
}

/** The content of a volume and the sources that it was made of. */
class WrittenContent implements RefreshableContent {
  readonly #path: string;
  readonly #spec: ContentSpec;
  readonly #sources: readonly ResolvedSource[];
  readonly #deps: VolumePluginDeps;

  constructor(path: string, spec: ContentSpec, sources: readonly ResolvedSource[], deps: VolumePluginDeps) {
    this.#path = path;
    this.#spec = spec;
    this.#sources = sources;
    this.#deps = deps;
  }

  /** Neither reads nor writes files while the sources are the same. */
  async refresh(pod: Pod, signal: AbortSignal): Promise<RefreshableContent> {
    const { allocatable } = this.#deps;
    const { defaultMode = DEFAULT_MODE } = this.#spec;
    const sources = await resolveSources(this.#spec, pod, this.#deps, this.#sources, signal);
    if (areSameSources(sources, this.#sources)) return this;
    const content = collectContent(sources, defaultMode, { pod, allocatable });
    await writeContent(this.#path, content, pod.spec.securityContext?.fsGroup, this.#deps);
    return new WrittenContent(this.#path, this.#spec, sources, this.#deps);
  }

  invalidated(): RefreshableContent {
    return new WrittenContent(this.#path, this.#spec, [], this.#deps);
  }
}

/**
 * Directories, relative to the volume, in which a container mounts another volume. They must exist in the volume because
 * the runtime cannot create mount points in read-only content. Deeper mounts are left to the nested volume.
 */
export function nestedMountPoints(volumeName: string, { spec }: Pick<Pod, 'spec'>): readonly string[] {
  return [...new Set(allContainers(spec).flatMap((container) => nestedInContainer(volumeName, container)))];
}

function nestedInContainer(volumeName: Volume['name'], { volumeMounts = [] }: Container): string[] {
  const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: posix.resolve('/', mountPath) }));
  const paths = mounts.map(({ path }) => path);
  return mounts
    .filter(({ name }) => name === volumeName)
    .flatMap(({ path }) => {
      const inside = paths.filter((each) => isBelow(each, path));
      const outermost = inside.filter((each) => !inside.some((other) => isBelow(each, other)));
      return outermost.map((each) => posix.relative(path, each));
    });
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === '/' ? folder : `${folder}/`) && path !== folder;
}
