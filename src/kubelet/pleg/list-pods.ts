import { type Container, ContainerState, type PodSandbox, PodSandboxState } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';

/** One pod in the runtime's lists: enough to decide whether it has to be inspected. */
export interface ListedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
}

export interface ListedSandbox {
  readonly id: string;
  readonly ready: boolean;
}

export interface ListedContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly state: ObservedContainer['state'];
}

const UID = 'io.kubernetes.pod.uid';
const NAME = 'io.kubernetes.pod.name';
const NAMESPACE = 'io.kubernetes.pod.namespace';

/** All pods in the runtime, by UID. Sandboxes and containers without Kubernetes labels are ignored. */
export async function listPods(runtime: RuntimeService, signal: AbortSignal): Promise<ReadonlyMap<string, ListedPod>> {
  return list(runtime, undefined, signal);
}

export async function listPod(
  runtime: RuntimeService,
  uid: string,
  signal: AbortSignal,
): Promise<ListedPod | undefined> {
  return (await list(runtime, uid, signal)).get(uid);
}

async function list(
  runtime: RuntimeService,
  uid: string | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ListedPod>> {
  const labelSelector: Record<string, string> = uid === undefined ? {} : { [UID]: uid };
  // Containers first: a listed sandbox may lack its newest containers, but a listed container never lacks its sandbox.
  const { containers } = await runtime.listContainers(
    { filter: { id: '', state: undefined, podSandboxId: '', labelSelector } },
    signal,
  );
  const { items } = await runtime.listPodSandbox({ filter: { id: '', state: undefined, labelSelector } }, signal);

  const pods = new Map<string, { uid: string; name: string; namespace: string } & Parts>();
  for (const part of [...items, ...containers]) {
    const owner = part.labels[UID];
    if (owner === undefined || pods.has(owner)) continue;
    const name = part.labels[NAME] ?? '';
    pods.set(owner, { uid: owner, name, namespace: part.labels[NAMESPACE] ?? '', sandboxes: [], containers: [] });
  }
  for (const sandbox of items) pods.get(sandbox.labels[UID] ?? '')?.sandboxes.push(listedSandbox(sandbox));
  for (const container of containers)
    pods.get(container.labels[UID] ?? '')?.containers.push(listedContainer(container));
  return pods;
}

interface Parts {
  readonly sandboxes: ListedSandbox[];
  readonly containers: ListedContainer[];
}

function listedSandbox(sandbox: PodSandbox): ListedSandbox {
  return { id: sandbox.id, ready: sandbox.state === PodSandboxState.SANDBOX_READY };
}

function listedContainer(container: Container): ListedContainer {
  return { id: container.id, sandboxId: container.podSandboxId, state: containerState(container.state) };
}

export function containerState(state: ContainerState): ObservedContainer['state'] {
  switch (state) {
    case ContainerState.CONTAINER_CREATED:
      return 'created';
    case ContainerState.CONTAINER_RUNNING:
      return 'running';
    case ContainerState.CONTAINER_EXITED:
      return 'exited';
    default:
      return 'unknown';
  }
}
