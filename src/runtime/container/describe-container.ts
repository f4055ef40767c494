import { posix } from 'node:path';
import { badField } from '../../cri/bad-field.ts';
import { CriError } from '../../cri/cri-error.ts';
import { type CreateContainerRequest, NamespaceMode } from '../../cri/generated/runtime-v1.ts';
import type { ImageStore, StoredImage } from '../images/image-store.ts';
import { stopSignalOf } from '../spec/stop-signal.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { type ImageVolume, imageVolumesOf } from './image-volumes.ts';

/** A container as it was asked for, with everything that it refers to found. Nothing of it has been made. */
export interface DescribedContainer {
  readonly record: ContainerRecord;
  readonly sandbox: SandboxRecord;
  readonly image: StoredImage;
  readonly imageVolumes: readonly ImageVolume[];
  /** Of the container whose processes it is to see. */
  readonly targetPid?: number;
}

export interface DescribeView {
  readonly sandboxes: { find(idOrBeginning: string): SandboxRecord | undefined };
  readonly containers: { find(idOrBeginning: string): ContainerRecord | undefined };
  readonly images: ImageStore;
}

/** Throws a `CriError` that names what cannot be. */
export function describeContainer(
  { podSandboxId, config }: CreateContainerRequest,
  { id, createdAtNs }: { readonly id: string; readonly createdAtNs: bigint },
  view: DescribeView,
): DescribedContainer {
  const sandbox = readySandbox(podSandboxId, view);
  if (!config) throw badField('config', 'must be set');
  if (!config.metadata?.name) throw badField('config.metadata.name', 'must be set');
  const reference = config.image?.image ?? '';
  if (reference === '') throw badField('config.image.image', 'must be set');
  const image = view.images.find(reference);
  if (!image) throw new CriError('NotFound', `config.image.image: image ${JSON.stringify(reference)} not found`);
  const { logDirectory } = sandbox.config;
  const record: ContainerRecord = {
    id,
    sandboxId: sandbox.id,
    config,
    imageId: image.id,
    imageRef: image.repoDigests[0] ?? image.id,
    runtimeHandler: sandbox.runtimeHandler,
    createdAtNs,
    stopSignal: stopSignalOf(config.stopSignal, image.config.stopSignal),
    logPath: logDirectory && config.logPath ? posix.join(logDirectory, config.logPath) : '',
    life: { phase: 'creating' },
  };
  const targetPid = targetPidOf(record, view);
  const imageVolumes = imageVolumesOf(config, view.images);
  return { record, sandbox, image, imageVolumes, ...(targetPid !== undefined && { targetPid }) };
}

export function readySandbox(id: string, { sandboxes }: Pick<DescribeView, 'sandboxes'>): SandboxRecord {
  const sandbox = sandboxes.find(id);
  if (!sandbox) throw new CriError('NotFound', `sandbox ${JSON.stringify(id)} not found`);
  if (sandbox.life.phase === 'ready') return sandbox;
  throw new CriError('FailedPrecondition', `sandbox ${sandbox.id} is not ready`);
}

/** Of the container that an ephemeral one looks into. It may have ended since the creation: a start asks again. */
export function targetPidOf(
  { config, sandboxId }: ContainerRecord,
  { containers }: Pick<DescribeView, 'containers'>,
): number | undefined {
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options?.pid !== NamespaceMode.TARGET) return undefined;
  const field = 'config.linux.security_context.namespace_options.target_id';
  if (options.targetId === '') throw badField(field, 'the mode TARGET needs a container');
  const target = containers.find(options.targetId);
  if (!target) throw new CriError('NotFound', `${field}: container ${JSON.stringify(options.targetId)} not found`);
  if (target.sandboxId !== sandboxId) {
    throw badField(field, `container ${target.id} does not belong to sandbox ${sandboxId}`);
  }
  if (target.life.phase === 'running') return target.life.pid;
  throw new CriError('FailedPrecondition', `${field}: container ${target.id} is not running`);
}
