import { posix } from 'node:path';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import { type CreateContainerRequest, NamespaceMode } from '../../cri/generated/runtime-v1.ts';
import type { ImageStore, StoredImage } from '../images/image-store.ts';
import { chooseStopSignal } from '../spec/stop-signal.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { type ImageVolume, resolveImageVolumes } from './image-volumes.ts';

/** A validated request with all its references resolved. Nothing is created yet. */
export interface ResolvedContainer {
  readonly record: ContainerRecord;
  readonly sandbox: SandboxRecord;
  readonly image: StoredImage;
  readonly imageVolumes: readonly ImageVolume[];
  /** PID of the container whose PID namespace is joined. */
  readonly targetPid?: number;
}

export interface ContainerLookups {
  readonly sandboxes: { find(idOrPrefix: string): SandboxRecord | undefined };
  readonly containers: { find(idOrPrefix: string): ContainerRecord | undefined };
  readonly images: ImageStore;
}

/** Throws a `CriError` that names the invalid field or missing object. */
export function resolveContainer(
  { podSandboxId, config }: CreateContainerRequest,
  { id, createdAtNs }: { readonly id: string; readonly createdAtNs: bigint },
  view: ContainerLookups,
): ResolvedContainer {
  const sandbox = requireReadySandbox(podSandboxId, view);
  if (!config) throw invalidField('config', 'must be set');
  if (!config.metadata?.name) throw invalidField('config.metadata.name', 'must be set');
  const reference = config.image?.image ?? '';
  if (reference === '') throw invalidField('config.image.image', 'must be set');
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
    ...(sandbox.oci && { oci: sandbox.oci }),
    createdAtNs,
    stopSignal: chooseStopSignal(config.stopSignal, image.config.stopSignal),
    logPath: logDirectory && config.logPath ? posix.join(logDirectory, config.logPath) : '',
    state: { phase: 'creating' },
  };
  const targetPid = resolveTargetPid(record, view);
  const imageVolumes = resolveImageVolumes(config, view.images);
  return { record, sandbox, image, imageVolumes, ...(targetPid !== undefined && { targetPid }) };
}

export function requireReadySandbox(id: string, { sandboxes }: Pick<ContainerLookups, 'sandboxes'>): SandboxRecord {
  const sandbox = sandboxes.find(id);
  if (!sandbox) throw new CriError('NotFound', `sandbox ${JSON.stringify(id)} not found`);
  if (sandbox.state.phase === 'ready') return sandbox;
  throw new CriError('FailedPrecondition', `sandbox ${sandbox.id} is not ready`);
}

/** PID of an ephemeral container's target. Resolved again at start, because the target may have exited since. */
export function resolveTargetPid(
  { config, sandboxId }: ContainerRecord,
  { containers }: Pick<ContainerLookups, 'containers'>,
): number | undefined {
  const options = config.linux?.securityContext?.namespaceOptions;
  if (options?.pid !== NamespaceMode.TARGET) return undefined;
  const field = 'config.linux.security_context.namespace_options.target_id';
  if (options.targetId === '') throw invalidField(field, 'mode TARGET requires a container');
  const target = containers.find(options.targetId);
  if (!target) throw new CriError('NotFound', `${field}: container ${JSON.stringify(options.targetId)} not found`);
  if (target.sandboxId !== sandboxId) {
    throw invalidField(field, `container ${target.id} does not belong to sandbox ${sandboxId}`);
  }
  if (target.state.phase === 'running') return target.state.pid;
  throw new CriError('FailedPrecondition', `${field}: container ${target.id} is not running`);
}
