import { posix } from 'node:path';
import { textOf } from '../../base/text-of.ts';
import { UndoStack } from '../../base/undo-stack.ts';
import { within } from '../../cri/bad-field.ts';
import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { type ContainerDeps, declaredOf, idMapOf, mappedOf, rootfsOf } from '../container/container-deps.ts';
import { failureOf } from '../container/container-failure.ts';
import { imageVolumePath, mountFiles, recordedSpec, releaseFiles, writeConfig } from '../container/container-files.ts';
import { type ContainerLedger, containerName } from '../container/container-ledger.ts';
import { nanoseconds, nextLife, startFailed } from '../container/container-life.ts';
import { makeDeclaredVolumes } from '../container/declared-volumes.ts';
import { type DescribedContainer, describeContainer, readySandbox } from '../container/describe-container.ts';
import { tellPlugins } from '../container/tell-plugins.ts';
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
> & { readonly ledger: ContainerLedger; readonly applyUpdates: ApplyUpdates };

const UNDO_MS = 60_000;

export function createContainer(deps: CreateDeps): RuntimeService['createContainer'] {
  return async (request, signal) => {
    const { ledger, clock, random, sandboxes, images } = deps;
    const id = Buffer.from(random.bytes(32)).toString('hex');
    const createdAtNs = nanoseconds(clock.now());
    const described = describeContainer(request, { id, createdAtNs }, { sandboxes, containers: ledger, images });
    reserveName(described, ledger);
    await ledger.turn(id, () => create(described, deps, signal));
    return { containerId: id };
  };
}

function reserveName({ record, sandbox }: DescribedContainer, ledger: ContainerLedger): void {
  if (!record.config.metadata) return;
  const name = containerName(record.config.metadata, sandbox);
  const holder = ledger.reserve(name, record);
  if (holder === undefined) return;
  throw new CriError('AlreadyExists', `config.metadata: name ${JSON.stringify(name)} is reserved for ${holder}`);
}

async function create(described: DescribedContainer, deps: CreateDeps, signal: AbortSignal): Promise<void> {
  const { ledger, clock } = deps;
  const { id } = described.record;
  const undo = new UndoStack();
  try {
    await ledger.add(described.record);
    await make(described, undo, deps, signal);
  } catch (error) {
    // The caller's signal may be why we are here.
    const failures = await undo.run(clock.deadline(UNDO_MS));
    const left = failures.length === 0 ? await whyLeft(() => ledger.remove(id)) : new AggregateError(failures);
    if (left === undefined) throw failureOf('cannot create container', error, signal);
    // What could not be undone is there to be seen, and to be removed like any other.
    const message = `cannot create container: ${textOf(error)}; and what was made of it cannot be removed: ${textOf(left)}`;
    await whyLeft(() => ledger.change(id, startFailed(message, nanoseconds(clock.now()))));
    if (!ledger.all.has(id)) ledger.release(id);
    throw new CriError('Unknown', message, { cause: new AggregateError([error, left]) });
  }
}

async function whyLeft(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

async function make(
  described: DescribedContainer,
  undo: UndoStack,
  deps: CreateDeps,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, fs, nri, events, sandboxes, log } = deps;
  const { record, sandbox } = described;
  // After the record is there, and before anything else: a sandbox that is stopped by now would not find it any more.
  readySandbox(sandbox.id, { sandboxes });
  undo.push(() => releaseFiles(record.id, deps));
  const { imageVolumes } = described;
  await mountFiles({ id: record.id, imageId: record.imageId, idMap: idMapOf(sandbox), imageVolumes }, deps, signal);
  const spec = await adjustedSpec(described, undo, deps, signal);
  const logFolder = record.logPath && fs.makeDirectory(posix.dirname(record.logPath), 0o755);
  await Promise.all([writeConfig(record.id, spec, deps), logFolder]);
  const created = await ledger.edit(record.id, async (now) => ({
    ...now,
    spec: recordedSpec(spec),
    life: nextLife(now.life, { type: 'created' }),
  }));
  events.publish({
    type: ContainerEventType.CONTAINER_CREATED_EVENT,
    sandboxId: sandbox.id,
    containerId: record.id,
  });
  if (!created) return;
  await tellPlugins('created', record.id, log, () => nri.postCreateContainer(sandbox, created, signal));
}

async function adjustedSpec(
  described: DescribedContainer,
  undo: UndoStack,
  deps: CreateDeps,
  signal: AbortSignal,
): Promise<OciSpec> {
  const { nri, buildSpec, applyUpdates, log } = deps;
  const { record, sandbox } = described;
  const wanted = { container: record.config, namespaces: sandbox.namespaces };
  const mapped = await within('config', () => bindMappedMounts(wanted, mappedOf(deps.paths, record.id), deps));
  const request = specRequest(described, mapped, deps);
  const volumes = imageDeclaredVolumes(request);
  await within('config', () => makeDeclaredVolumes(volumes, request.rootfs, idMapOf(sandbox), deps, signal));
  const built = await within('config', () => buildSpec(request, signal));
  const { spec, updates } = await nri.createContainer(sandbox, record, built, signal);
  // Not before: plugins that one of them made give up have been told already.
  undo.push((fresh) => tellPlugins('undone', record.id, log, () => nri.removeContainer(sandbox, record, fresh)));
  await applyUpdates(updates, signal);
  return spec;
}

function specRequest(
  { record, sandbox, image, imageVolumes, targetPid }: DescribedContainer,
  mappedSources: ReadonlyMap<number, string>,
  deps: CreateDeps,
): SpecRequest {
  const { paths, sandboxes, runtimes, machine } = deps;
  const { id, config, runtimeHandler } = record;
  const features = runtimes.handlers.find(({ name }) => name === runtimeHandler);
  if (!features) throw new CriError('FailedPrecondition', `runtime handler ${JSON.stringify(runtimeHandler)} is gone`);
  return {
    id,
    container: config,
    sandboxId: sandbox.id,
    sandbox: sandbox.config,
    image: image.config,
    imageName: imageNameOf(record, image.repoTags[0]),
    imageId: image.id,
    rootfs: rootfsOf(paths, id),
    namespaces: sandbox.namespaces,
    files: sandboxes.filesOf(sandbox.id),
    imageVolumes: new Map(imageVolumes.map((volume) => [volume.index, imageVolumePath(paths, id, volume)])),
    ...(targetPid !== undefined && { targetPidNamespace: `/proc/${targetPid}/ns/pid` }),
    mappedSources,
    volumesDir: declaredOf(paths, id),
    features,
    machine,
  };
}

/** As the user wrote it, where that is known. */
function imageNameOf({ config, imageRef }: ContainerRecord, tag: string | undefined): string {
  return config.image?.userSpecifiedImage || (tag ?? imageRef);
}
