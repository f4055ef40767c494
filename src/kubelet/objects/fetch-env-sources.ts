import type { Container, FileKeySelector, Pod } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { type EnvFile, type EnvironmentSources, envFileId, type ObjectLookup } from '../sync/config/env-sources.ts';
import { ObjectError, type PodObjects } from './pod-objects.ts';
import { referencedByEnv } from './referenced-objects.ts';
import type { Services } from './services.ts';

/** The kernel allows at most 128 KiB for a variable, so a larger file is a mistake. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export interface EnvSourcesDeps {
  readonly objects: PodObjects;
  /** Absent: standalone, without services. */
  readonly services: Services | undefined;
  readonly fs: FileSystem;
  readonly log: Log;
}

/**
 * Looks up everything that the environment of a container refers to. A failed lookup is part of the result; the call
 * rejects only when the services are not known.
 */
export async function fetchEnvSources(
  pod: Pod,
  container: Container,
  volumes: ReadonlyMap<string, { readonly path?: string | undefined }>,
  deps: EnvSourcesDeps,
  signal: AbortSignal,
): Promise<EnvironmentSources> {
  const { objects } = deps;
  const { namespace } = pod.metadata;
  const services = (await deps.services?.variables(pod, signal)) ?? new Map<string, string>();
  const { configMaps, secrets } = referencedByEnv(container);
  const refs = (container.env ?? []).flatMap(({ valueFrom }) => valueFrom?.fileKeyRef ?? []);
  const [foundMaps, foundSecrets, foundFiles] = await Promise.all([
    fetchAll(configMaps, (name) => lookUp(objects.configMap(namespace, name, signal), signal)),
    fetchAll(secrets, (name) => lookUp(objects.secret(namespace, name, signal), signal)),
    Promise.all(refs.map(async (ref) => [envFileId(ref), await readEnvFile(pod, ref, volumes, deps)] as const)),
  ]);
  return { services, configMaps: foundMaps, secrets: foundSecrets, files: new Map(foundFiles) };
}

async function fetchAll<T>(
  names: Iterable<string>,
  fetch: (name: string) => Promise<T>,
): Promise<ReadonlyMap<string, T>> {
  return new Map(await Promise.all(Array.from(names, async (name) => [name, await fetch(name)] as const)));
}

async function lookUp<T>(asked: Promise<T>, signal: AbortSignal): Promise<ObjectLookup<T>> {
  try {
    return { kind: 'found', value: await asked };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ObjectError)) throw error;
    return { kind: 'failed', message: error.message, isMissing: error.isMissing, cause: error };
  }
}

async function readEnvFile(
  pod: Pod,
  ref: FileKeySelector,
  volumes: ReadonlyMap<string, { readonly path?: string | undefined }>,
  { fs, log }: EnvSourcesDeps,
): Promise<EnvFile> {
  const root = volumes.get(ref.volumeName)?.path;
  if (root === undefined) return { kind: 'noVolume' };
  try {
    await using file = await fs.openFileBeneath(root, ref.path);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error('the file is too large');
    return { kind: 'found', path: `${root}/${ref.path}`, bytes: await file.read(0, size) };
  } catch (error) {
    const { namespace, name } = pod.metadata;
    log.warn('cannot read environment file', { pod: `${namespace}/${name}`, path: ref.path, error });
    return { kind: 'unreadable' };
  }
}
