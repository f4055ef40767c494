import { assertNever } from '../../base/assert-never.ts';
import {
  Container,
  type ContainerFilter,
  ContainerResources,
  ContainerState,
  ContainerStatus,
  ContainerUser,
  ImageSpec,
} from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from '../images/image-store.ts';
import type { OciSpec } from '../oci/oci-spec.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { signalForCri } from './stop-signal.ts';

export function toCriState({ state }: ContainerRecord): ContainerState {
  switch (state.phase) {
    case 'creating':
    case 'created':
    case 'starting':
      return ContainerState.CONTAINER_CREATED;
    case 'running':
      return ContainerState.CONTAINER_RUNNING;
    case 'exited':
      return ContainerState.CONTAINER_EXITED;
    default:
      return assertNever(state);
  }
}

/** `CONTAINER_RUNNING` */
export function criStateName(record: ContainerRecord): string {
  const state = toCriState(record);
  return Object.entries(ContainerState).find(([, value]) => value === state)?.[0] ?? '';
}

export function containerMessage(record: ContainerRecord): Container {
  const { id, sandboxId, config, imageRef, imageId, createdAtNs } = record;
  return Container.create({
    id,
    podSandboxId: sandboxId,
    metadata: config.metadata,
    image: config.image,
    imageRef,
    imageId,
    state: toCriState(record),
    createdAt: createdAtNs,
    labels: config.labels,
    annotations: config.annotations,
  });
}

/** `image` is the current one; it may have been removed since the container was created. */
export function containerStatusMessage(record: ContainerRecord, image: StoredImage | undefined): ContainerStatus {
  const { id, config, imageRef, imageId, createdAtNs, logPath, stopSignal, spec, state } = record;
  const tag = image?.repoTags[0];
  return ContainerStatus.create({
    id,
    metadata: config.metadata,
    state: toCriState(record),
    createdAt: createdAtNs,
    ...startAndFinish(state),
    ...(state.phase === 'exited' && { exitCode: state.exitCode, reason: state.reason, message: state.message }),
    image: tag === undefined ? config.image : ImageSpec.create({ ...config.image, image: tag }),
    imageRef: image?.repoDigests[0] ?? imageRef,
    imageId,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath,
    stopSignal: signalForCri(stopSignal),
    resources: spec && resourcesMessage(spec),
    user: spec && userMessage(spec),
  });
}

function startAndFinish(state: ContainerRecord['state']): {
  readonly startedAt?: bigint;
  readonly finishedAt?: bigint;
} {
  if (state.phase === 'running') return { startedAt: state.startedAtNs };
  if (state.phase !== 'exited') return {};
  return { startedAt: state.startedAtNs ?? 0n, finishedAt: state.finishedAtNs };
}

/** Resources as last requested from the OCI runtime; kubelet compares a resize with them. */
function resourcesMessage({ process, linux }: OciSpec): ContainerResources {
  const { cpu, memory, hugepageLimits, unified } = linux.resources;
  const big = (value: number | undefined): bigint => BigInt(value ?? 0);
  return ContainerResources.fromPartial({
    linux: {
      cpuPeriod: big(cpu?.period),
      cpuQuota: big(cpu?.quota),
      cpuShares: big(cpu?.shares),
      cpusetCpus: cpu?.cpus ?? '',
      cpusetMems: cpu?.mems ?? '',
      memoryLimitInBytes: big(memory?.limit),
      memorySwapLimitInBytes: big(memory?.swap),
      oomScoreAdj: big(process.oomScoreAdj),
      hugepageLimits: hugepageLimits?.map(({ pageSize, limit }) => ({ pageSize, limit: big(limit) })) ?? [],
      unified: { ...unified },
    },
  });
}

function userMessage({ process: { user } }: OciSpec): ContainerUser {
  return ContainerUser.fromPartial({
    linux: { uid: BigInt(user.uid), gid: BigInt(user.gid), supplementalGroups: user.additionalGids.map(BigInt) },
  });
}

/** Filter ids may be prefixes; `fullId` holds the ids they resolve to. */
export function matchesFilter(
  record: ContainerRecord,
  filter: ContainerFilter | undefined,
  fullId: { readonly container: string; readonly sandbox: string },
): boolean {
  if (!filter) return true;
  if (filter.id !== '' && record.id !== fullId.container) return false;
  if (filter.podSandboxId !== '' && record.sandboxId !== fullId.sandbox) return false;
  if (filter.state && toCriState(record) !== filter.state.state) return false;
  return Object.entries(filter.labelSelector).every(([key, value]) => record.config.labels[key] === value);
}
