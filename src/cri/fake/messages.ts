import {
  Container,
  ContainerState,
  ContainerStatus,
  Image,
  NamespaceMode,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
} from '../generated/runtime-v1.ts';
import type { FakeContainer, FakeImage, FakeSandbox } from './records.ts';

interface Images {
  readonly images: ReadonlyMap<string, FakeImage>;
}

const SANDBOX_STATES = { ready: PodSandboxState.SANDBOX_READY, notReady: PodSandboxState.SANDBOX_NOTREADY } as const;

const CONTAINER_STATES = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;

export function criSandboxState({ state }: FakeSandbox): PodSandboxState {
  return SANDBOX_STATES[state];
}

export function criContainerState({ state: phase }: FakeContainer): ContainerState {
  return CONTAINER_STATES[phase.phase];
}

export function sandboxMessage(sandbox: FakeSandbox): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = sandbox;
  const { metadata, labels, annotations } = config;
  return PodSandbox.fromPartial({
    id,
    metadata,
    state: criSandboxState(sandbox),
    createdAt,
    labels,
    annotations,
    runtimeHandler,
  });
}

export function sandboxStatusMessage(sandbox: FakeSandbox): PodSandboxStatus {
  const options = sandbox.config.linux?.securityContext?.namespaceOptions;
  const { network = NamespaceMode.POD, pid = NamespaceMode.POD, ipc = NamespaceMode.POD } = options ?? {};
  return PodSandboxStatus.fromPartial({
    ...sandboxMessage(sandbox),
    network: { ip: sandbox.ip ?? '' },
    linux: { namespaces: { options: { network, pid, ipc } } },
  });
}

/** Caches the last listed message of each container: lists are requested often. */
const listed = new WeakMap<FakeContainer, { readonly phase: string; readonly imageRef: string; message: Container }>();

export function containerMessage(world: Images, container: FakeContainer): Container {
  const { phase } = container.state;
  const names = imageNames(world, container);
  const known = listed.get(container);
  if (known?.phase === phase && known.imageRef === names.imageRef && known.message.image?.image === names.image) {
    return { ...known.message };
  }
  const message = newContainerMessage(container, names);
  listed.set(container, { phase, imageRef: names.imageRef, message });
  return { ...message };
}

function newContainerMessage(container: FakeContainer, { image, imageRef }: ReturnType<typeof imageNames>): Container {
  const { id, sandboxId, config, createdAt, imageId } = container;
  const { metadata, labels, annotations } = config;
  return Container.fromPartial({
    id,
    podSandboxId: sandboxId,
    metadata,
    image: { image },
    imageRef,
    imageId,
    state: criContainerState(container),
    createdAt,
    labels,
    annotations,
  });
}

export function containerStatusMessage(world: Images, container: FakeContainer): ContainerStatus {
  const { id, config, createdAt, imageId, state: phase } = container;
  const { metadata, labels, annotations, mounts, stopSignal } = config;
  const { image, imageRef } = imageNames(world, container);
  const times = phase.phase === 'running' ? { startedAt: phase.startedAt } : {};
  const end = phase.phase === 'exited' ? phase : {};
  return ContainerStatus.fromPartial({
    id,
    metadata,
    state: criContainerState(container),
    createdAt,
    image: { image },
    imageRef,
    imageId,
    labels,
    annotations,
    mounts,
    logPath: container.logPath,
    resources: { linux: config.linux?.resources ?? {} },
    stopSignal,
    ...times,
    ...end,
  });
}

export function imageMessage({ id, tags, digests, sizeBytes, uid, username, pinned }: FakeImage): Image {
  return Image.fromPartial({
    id,
    repoTags: [...tags],
    repoDigests: [...digests],
    size: BigInt(sizeBytes),
    uid: uid === undefined ? undefined : { value: BigInt(uid) },
    username,
    pinned,
  });
}

/** The first tag, and the reference by digest if there is one. */
function imageNames({ images }: Images, { config, imageId }: FakeContainer): { image: string; imageRef: string } {
  const image = images.get(imageId);
  const [tag] = image?.tags ?? [];
  const [digest] = image?.digests ?? [];
  return { image: tag ?? digest ?? config.image?.image ?? '', imageRef: digest ?? imageId };
}
