import type { Container, Pod, Volume } from '../../src/api/generated/core-v1.ts';
import type { FakeContainer } from '../../src/cri/fake/records.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import { EMPTY_DIR_PLUGIN, volumePath } from '../../src/kubelet/volumes/volume-paths.ts';
import { currentDataPath } from '../../src/kubelet/volumes/write-content.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import type { CheckContext } from './check-context.ts';
import { isInPostStart } from './invariants-of-hooks.ts';
import { isGoodLogin, type ObjectResource, PULL_SECRET, textsOf, versionIn } from './plan-objects.ts';
import { PRIVATE_IMAGE } from './plan-pods.ts';
import type { PodRecord } from './pod-records.ts';
import type { KnownVersion, SimObjects } from './sim-objects.ts';
import type { World } from './world.ts';

/** Without faults, a change of an object reaches a volume within this time if the pod worker is idle. */
const REACH_MS = 15_000;
/** A pod worker is idle when its pod has not changed for this long. */
const IDLE_MS = 120_000;

/** A reference of a pod to an object. */
interface Reference {
  readonly resource: ObjectResource;
  readonly name: string;
  readonly optional: boolean;
}

function reference(resource: ObjectResource, name: string | undefined, optional: boolean | undefined): Reference {
  return { resource, name: name ?? '', optional: optional ?? false };
}

function volumeReferences({ configMap, secret, projected }: Volume): Reference[] {
  if (configMap) return [reference('configmaps', configMap.name, configMap.optional)];
  if (secret) return [reference('secrets', secret.secretName, secret.optional)];
  return (projected?.sources ?? []).flatMap(({ configMap: map, secret: keys }) => {
    if (map) return [reference('configmaps', map.name, map.optional)];
    return keys ? [reference('secrets', keys.name, keys.optional)] : [];
  });
}

function envReferences({ env = [], envFrom = [] }: Container): Reference[] {
  return [
    ...env.flatMap(({ valueFrom }) => {
      const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom ?? {};
      if (map) return [reference('configmaps', map.name, map.optional)];
      return secret ? [reference('secrets', secret.name, secret.optional)] : [];
    }),
    ...envFrom.map(({ configMapRef }) => reference('configmaps', configMapRef?.name, configMapRef?.optional)),
  ];
}

function isMissing(
  { namespace }: Pod['metadata'],
  { resource, name, optional }: Reference,
  objects: SimObjects,
): boolean {
  return !optional && objects.newest(resource, namespace, name)?.version === undefined;
}

/** The pod cannot start because an object that it mounts is missing. */
export function isMissingVolumes({ metadata, spec }: Pod, objects: SimObjects): boolean {
  return (spec.volumes ?? []).flatMap(volumeReferences).some((each) => isMissing(metadata, each, objects));
}

/** The container cannot be created because a variable's object or a pull secret is missing. */
export function isMissingInputs({ metadata, spec }: Pod, container: Container, objects: SimObjects): boolean {
  if (envReferences(container).some((each) => isMissing(metadata, each, objects))) return true;
  if (container.image !== PRIVATE_IMAGE) return false;
  return !spec.imagePullSecrets || !isGoodLogin(objects.newest('secrets', metadata.namespace, PULL_SECRET)?.version);
}

/** A container's variables come from some version of their objects; without faults, from the newest. */
export function checkEnvironment(pod: PodRecord, { config }: Readonly<FakeContainer>, context: CheckContext): void {
  const { fail, objects } = context;
  const latest = pod.versions.at(-1);
  if (!latest) return;
  const name = config.metadata?.name ?? '';
  const spec = [...(latest.spec.initContainers ?? []), ...latest.spec.containers].find((each) => each.name === name);
  const isPrivate = config.image?.userSpecifiedImage === PRIVATE_IMAGE;
  if (isPrivate && !latest.spec.imagePullSecrets && !context.hasLostPull()) {
    fail(20, `${pod.uid}/${name} was created from an image that the pod may not use`);
  }
  const { namespace } = latest.metadata;
  for (const { name: variable, valueFrom } of spec?.env ?? []) {
    const { configMapKeyRef: map, secretKeyRef: secret } = valueFrom ?? {};
    const resource = map ? 'configmaps' : 'secrets';
    const object = (map ?? secret)?.name ?? '';
    const value = config.envs.find(({ key }) => key === variable)?.value;
    const text = value && new TextDecoder().decode(value);
    const what = `${variable} of ${pod.uid}/${name}`;
    if (text === undefined) {
      if (!(map ?? secret)?.optional) fail(17, `${what} is missing`);
      continue;
    }
    if (!objects.has(resource, namespace, object, versionIn(text)))
      fail(17, `${what} is ${text}, which no version contains`);
    const newest = objects.newest(resource, namespace, object);
    if (isStale(newest, versionIn(text), context)) fail(17, `${what} is still ${text}`);
  }
}

function isStale(newest: KnownVersion | undefined, version: number, { now, quietAt }: CheckContext): boolean {
  if (newest?.version === undefined || newest.version === version) return false;
  return now() >= quietAt && now() - newest.at > REACH_MS;
}

/** Volume types and the names of their plugins. */
const PLUGINS = [
  ['configMap', 'kubernetes.io/configmap'],
  ['secret', 'kubernetes.io/secret'],
  ['projected', 'kubernetes.io/projected'],
] as const;
const ALL_PLUGINS = [...PLUGINS, ['emptyDir', EMPTY_DIR_PLUGIN]] as const;

/** A volume always shows one complete version of its object. */
export async function checkVolumesComplete(world: World): Promise<void> {
  for (const { pod, volume, path } of mountedVolumes(world, PLUGINS)) {
    const shown = await contentOf(path, world.host.fs);
    if (!shown || volume.projected) continue;
    const first = [...shown.values()][0];
    const [source] = volumeReferences(volume);
    if (!source || (first === undefined && source.optional)) continue;
    const expected = textsOf(source.name, versionIn(first ?? ''));
    if (!isSame(shown, expected)) world.fail(18, `${volume.name} of ${pod.uid} is torn: ${[...shown.values()]}`);
  }
}

/** The volumes of a running pod belong to its `fsGroup`, with all their files. */
export async function checkVolumeGroups(world: World): Promise<void> {
  const { fs } = world.host;
  for (const { pod, path } of mountedVolumes(world, ALL_PLUGINS)) {
    const group = pod.versions.at(-1)?.spec.securityContext?.fsGroup;
    if (group === undefined) continue;
    for (const each of [path, ...(await filesAt(currentDataPath(path), fs))]) {
      const { gid } = (await fs.stat(each)) ?? {};
      if (gid !== undefined && gid !== group)
        world.fail(32, `${each} of ${pod.uid} belongs to group ${gid}, not ${group}`);
    }
  }
}

/** The files below a folder, which may be missing, and the folder itself. */
async function filesAt(folder: string, fs: MemoryFileSystem): Promise<string[]> {
  if ((await fs.stat(folder))?.kind !== 'directory') return [];
  const entries = (await fs.readDirectory(folder)).map(async ({ name, kind }) =>
    kind === 'directory' ? filesAt(`${folder}/${name}`, fs) : [`${folder}/${name}`],
  );
  return [folder, ...(await Promise.all(entries)).flat()];
}

/** Without faults, all files of a volume show the newest versions. */
export async function checkVolumesUpToDate(world: World): Promise<void> {
  const { context, host } = world;
  for (const { pod, volume, path } of mountedVolumes(world, PLUGINS)) {
    const since = context.now() - IDLE_MS;
    if (pod.changedAt > since || isInPostStart(pod, since)) continue;
    const { namespace } = pod.versions.at(-1)?.metadata ?? { namespace: '' };
    const found = volumeReferences(volume).map((each) => ({
      ...each,
      newest: context.objects.newest(each.resource, namespace, each.name),
    }));
    const isSettled = ({ newest }: { newest: KnownVersion | undefined }): boolean =>
      newest?.version !== undefined && context.now() - newest.at > REACH_MS;
    if (!found.every(isSettled)) continue;
    const expected = new Map(
      found.flatMap(({ name, resource, newest }) => expectedFiles(volume, resource, name, newest?.version ?? 0)),
    );
    for (const [file, text] of expected) {
      const seen = await textAt(`${path}/${file}`, host.fs);
      if (seen !== text) context.fail(17, `${file} in ${volume.name} of ${pod.uid} is ${seen} instead of ${text}`);
    }
  }
}

function expectedFiles(volume: Volume, resource: ObjectResource, name: string, version: number): [string, string][] {
  const texts = textsOf(name, version);
  if (!volume.projected) return [...texts];
  return resource === 'configmaps' ? [['settings/a', texts.get('a') ?? '']] : [['keys/b', texts.get('b') ?? '']];
}

interface MountedVolume {
  readonly pod: PodRecord;
  readonly volume: Volume;
  readonly path: string;
}

/** Volumes of running pods, of the types of these plugins. */
function mountedVolumes(
  { context, runtime }: World,
  plugins: readonly (typeof ALL_PLUGINS)[number][],
): MountedVolume[] {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const pods = new Set(running.map((each) => context.records.podOf(each)).filter((pod) => pod?.isWanted));
  return [...pods].flatMap((pod) =>
    (pod?.versions.at(-1)?.spec.volumes ?? []).flatMap((volume) => {
      const [, plugin] = plugins.find(([type]) => volume[type] !== undefined) ?? [];
      if (!pod || plugin === undefined) return [];
      return [{ pod, volume, path: volumePath(SETTINGS.rootDir, pod.uid, plugin, volume.name) }];
    }),
  );
}

/** The current version's texts by file name; undefined before the first version. */
async function contentOf(path: string, fs: MemoryFileSystem): Promise<ReadonlyMap<string, string> | undefined> {
  if (!(await fs.lstat(`${path}/..data`))) return undefined;
  if (!(await fs.stat(`${path}/..data`))) return new Map();
  const version = `${path}/${await fs.readLink(`${path}/..data`)}`;
  const names = (await fs.readDirectory(version)).filter(({ kind }) => kind === 'file').map(({ name }) => name);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await fs.readText(`${version}/${name}`)] as const)),
  );
}

async function textAt(path: string, fs: MemoryFileSystem): Promise<string | undefined> {
  return (await fs.stat(path)) ? fs.readText(path) : undefined;
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
