import { posix } from 'node:path';
import { errorText } from '../../base/error-text.ts';
import { UndoStack } from '../../base/undo-stack.ts';
import { CriError } from '../../cri/cri-error.ts';
import { withFieldPrefix } from '../../cri/field-error.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import {
  type ContainerDeps,
  declaredVolumesPath,
  idMapForSandbox,
  mappedMountsPath,
  rootfsPath,
} from '../container/container-deps.ts';
import { asCriError } from '../container/container-errors.ts';
import {
  imageVolumePath,
  mountBundle,
  releaseBundle,
  specForRecord,
  writeBundleConfig,
} from '../container/container-files.ts';
import { failedStart, nanoseconds, nextContainerState } from '../container/container-state.ts';
import { type ContainerStore, containerName } from '../container/container-store.ts';
import { makeDeclaredVolumes } from '../container/declared-volumes.ts';
import { notifyPlugins } from '../container/notify-plugins.ts';
import { type ResolvedContainer, requireReadySandbox, resolveContainer } from '../container/resolve-container.ts';
import type { ApplyUpdates } from '../container/update-resources.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import { bindMappedMounts } from '../spec/bind-mapped-mounts.ts';
import { imageDeclaredVolumes } from '../spec/image-volumes.ts';
import type { SpecRequest } from '../spec/spec-request.ts';
import type { ContainerRecord } from '../store/container-record.ts';

export type CreateDeps = Pick<
  ContainerDeps,
  | 'clock'
  | 'random'
  | 'fs'
  | 'mounts'
  | 'log'
  | 'paths'
  | 'sandboxes'
  | 'runtimes'
  | 'snapshots'
  | 'images'
  | 'nri'
  | 'events'
  | 'machine'
  | 'buildSpec'
> & { readonly store: ContainerStore; readonly applyUpdates: ApplyUpdates };

const UNDO_TIMEOUT_MS = 60_000;

export function createContainer(deps: CreateDeps): RuntimeService['createContainer'] {
  return async (request, signal) => {
    const { store, clock, random, sandboxes, images } = deps;
    const id = Buffer.from(random.bytes(32)).toString('hex');
    const createdAtNs = nanoseconds(clock.now());
    const described = resolveContainer(request, { id, createdAtNs }, { sandboxes, containers: store, images });
    reserveName(described, store);
    await store.withLock(id, () => create(described, deps, signal));
    return { containerId: id };
  };
}

function reserveName({ record, sandbox }: ResolvedContainer, store: ContainerStore): void {
  if (!record.config.metadata) return;
  const name = containerName(record.config.metadata, sandbox);
  const holder = store.reserveName(name, record);
  if (holder === undefined) return;
  throw new CriError('AlreadyExists', `config.metadata: name ${JSON.stringify(name)} is reserved for ${holder}`);
}

async function create(described: ResolvedContainer, deps: CreateDeps, signal: AbortSignal): Promise<void> {
  const { store, clock } = deps;
  const { id } = described.record;
  const undo = new UndoStack();
  try {
    await store.add(described.record);
    await createResources(described, undo, deps, signal);
  } catch (error) {
    // A fresh deadline: the caller's signal may have aborted.
    const failures = await undo.run(clock.deadline(UNDO_TIMEOUT_MS));
    const left = failures.length === 0 ? await captureError(() => store.remove(id)) : new AggregateError(failures);
    if (left === undefined) throw asCriError('cannot create container', error, signal);
    // Listed as exited, so that it can be removed like any other container.
    const message = `cannot create container: ${errorText(error)}; cleanup failed: ${errorText(left)}`;
    await captureError(() => store.applyEvent(id, failedStart(message, nanoseconds(clock.now()))));
    if (!store.all.has(id)) store.releaseName(id);
    throw new CriError('Unknown', message, { cause: new AggregateError([error, left]) });
  }
}

async function captureError(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function createResources(
  described: ResolvedContainer,
  undo: UndoStack,
  deps: CreateDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, fs, nri, events, sandboxes, log } = deps;
  const { record, sandbox } = described;
  // After the record is written, and first: a sandbox stopped in the meantime did not see this container.
  requireReadySandbox(sandbox.id, { sandboxes });
  undo.push(() => releaseBundle(record.id, deps));
  const { imageVolumes } = described;
  await mountBundle(
    { id: record.id, imageId: record.imageId, idMap: idMapForSandbox(sandbox), imageVolumes },
    deps,
    signal,
  );
  const spec = await adjustedSpec(described, undo, deps, signal);
  const logFolder = record.logPath && fs.makeDirectory(posix.dirname(record.logPath), 0o755);
  await Promise.all([writeBundleConfig(record.id, spec, deps), logFolder]);
  const created = await store.update(record.id, async (now) => ({
    ...now,
    spec: specForRecord(spec),
    state: nextContainerState(now.state, { type: 'created' }),
  }));
  events.publish({
    type: ContainerEventType.CONTAINER_CREATED_EVENT,
    sandboxId: sandbox.id,
    containerId: record.id,
  });
  if (!created) return;
  await notifyPlugins('created', record.id, log, () => nri.postCreateContainer(sandbox, created, signal));
}

async function adjustedSpec(
  described: ResolvedContainer,
  undo: UndoStack,
  deps: CreateDeps,
  signal: AbortSignal,
): Promise<OciSpec> {
  const { nri, buildSpec, applyUpdates, log } = deps;
  const { record, sandbox } = described;
  const wanted = { container: record.config, namespaces: sandbox.namespaces };
  const mapped = await withFieldPrefix('config', () =>
    bindMappedMounts(wanted, mappedMountsPath(deps.paths, record.id), deps),
  );
  const request = specRequest(described, mapped, deps);
  const volumes = imageDeclaredVolumes(request);
  await withFieldPrefix('config', () =>
    makeDeclaredVolumes(volumes, request.rootfs, idMapForSandbox(sandbox), deps, signal),
  );
  const built = await withFieldPrefix('config', () => buildSpec(request, signal));
  const { spec, updates } = await nri.createContainer(sandbox, record, built, signal);
  // Pushed after the call: if a plugin rejects the container, NRI has already notified the others.
  undo.push((fresh) => notifyPlugins('undone', record.id, log, () => nri.removeContainer(sandbox, record, fresh)));
  await applyUpdates(updates, signal);
  return spec;
}

function specRequest(
  { record, sandbox, image, imageVolumes, targetPid }: ResolvedContainer,
  mappedSources: ReadonlyMap<number, string>,
  deps: CreateDeps,
): SpecRequest {
  const { paths, sandboxes, runtimes, machine } = deps;
  const { id, config, runtimeHandler } = record;
  const handler = runtimes.handlers.find(({ name }) => name === runtimeHandler);
  if (!handler) throw new CriError('FailedPrecondition', `runtime handler ${JSON.stringify(runtimeHandler)} is gone`);
  return {
    id,
    container: config,
    sandboxId: sandbox.id,
    sandbox: sandbox.config,
    image: image.config,
    imageName: imageName(record, image.repoTags[0]),
    imageId: image.id,
    rootfs: rootfsPath(paths, id),
    namespaces: sandbox.namespaces,
    files: sandboxes.filesOf(sandbox.id),
    imageVolumes: new Map(imageVolumes.map((volume) => [volume.index, imageVolumePath(paths, id, volume)])),
    ...(targetPid !== undefined && { targetPidNamespace: `/proc/${targetPid}/ns/pid` }),
    mappedSources,
    volumesDir: declaredVolumesPath(paths, id),
    features: handler,
    handler: handler.settings,
    machine,
  };
}

/** The name that the user specified, if known. */
function imageName({ config, imageRef }: ContainerRecord, tag: string | undefined): string {
  return config.image?.userSpecifiedImage || (tag ?? imageRef);
}
