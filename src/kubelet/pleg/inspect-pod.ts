import { resolve } from 'node:path/posix';
import {
  type ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  type PodSandboxStatus,
} from '../../cri/generated/runtime-v1.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type {
  ObservedContainer,
  ObservedContainerState,
  ObservedPod,
  ObservedSandbox,
  ObservedUser,
} from '../pod/observed-pod.ts';
import { stopSignalName } from '../sync/config/stop-signal.ts';
import { containerState, type ListedContainer, type ListedPod } from './list-pods.ts';
import { terminationMessage } from './termination-message.ts';

export interface InspectDeps {
  readonly runtime: RuntimeService;
  readonly fs: FileSystem;
}

/**
 * Gets the status of each sandbox and container of a pod. Those that disappear meanwhile are left out. Containers that
 * were observed as exited are not queried again: they do not change.
 */
export async function inspectPod(
  parts: ListedPod,
  before: ObservedPod | undefined,
  inspectedAt: number,
  deps: InspectDeps,
  signal: AbortSignal,
): Promise<ObservedPod> {
  const dead = new Map(before?.containers.filter(({ state }) => state === 'exited').map((each) => [each.id, each]));
  const [sandboxes, containers] = await Promise.all([
    Promise.all(parts.sandboxes.map(({ id }) => inspectSandbox(id, deps, signal))),
    Promise.all(parts.containers.map((each) => dead.get(each.id) ?? inspectContainer(each, deps, signal))),
  ]);
  return {
    uid: parts.uid,
    name: parts.name,
    namespace: parts.namespace,
    sandboxes: sandboxes.filter((each) => each !== undefined).sort((a, b) => b.attempt - a.attempt || byAge(a, b)),
    containers: containers
      .filter((each) => each !== undefined)
      .sort((a, b) => b.restartCount - a.restartCount || byAge(a, b)),
    inspectedAt,
  };
}

/** Used only between equal attempts: the runtime's clock may have jumped between two attempts. */
function byAge(a: { readonly createdAt: bigint }, b: { readonly createdAt: bigint }): number {
  if (a.createdAt === b.createdAt) return 0;
  return a.createdAt > b.createdAt ? -1 : 1;
}

async function inspectSandbox(
  podSandboxId: string,
  { runtime }: InspectDeps,
  signal: AbortSignal,
): Promise<ObservedSandbox | undefined> {
  const answer = await ignoreNotFound(runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal));
  return answer?.status && observedSandbox(answer.status);
}

export function observedSandbox(status: PodSandboxStatus): ObservedSandbox {
  const ips = [status.network?.ip ?? '', ...(status.network?.additionalIps.map(({ ip }) => ip) ?? [])];
  return {
    id: status.id,
    attempt: status.metadata?.attempt ?? 0,
    ready: status.state === PodSandboxState.SANDBOX_READY,
    createdAt: status.createdAt,
    hostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    ips: ips.filter((ip) => ip !== ''),
    runtimeHandler: status.runtimeHandler,
  };
}

async function inspectContainer(
  { id, sandboxId }: ListedContainer,
  { runtime, fs }: InspectDeps,
  signal: AbortSignal,
): Promise<ObservedContainer | undefined> {
  const answer = await ignoreNotFound(runtime.containerStatus({ containerId: id, verbose: false }, signal));
  if (!answer?.status) return undefined;
  const observed = observedContainer(answer.status, sandboxId);
  if (observed.state !== 'exited') return observed;
  const written = await terminationMessage(observed, fs, signal);
  return { ...observed, message: [observed.message, written].filter((text) => text !== '').join(': ') };
}

export function observedContainer(status: ContainerStatus, sandboxId: string): ObservedContainer {
  const { annotations, labels } = status;
  const messagePath = annotations['io.kubernetes.container.terminationMessagePath'] ?? '';
  const grace = Number.parseInt(annotations['io.kubernetes.pod.terminationGracePeriod'] ?? '', 10);
  const fallback = annotations['io.kubernetes.container.terminationMessagePolicy'] === 'FallbackToLogsOnError';
  return {
    id: status.id,
    name: labels['io.kubernetes.container.name'] ?? status.metadata?.name ?? '',
    sandboxId,
    restartCount: Number(annotations['io.kubernetes.container.restartCount'] ?? status.metadata?.attempt ?? 0),
    hash: annotations['io.kubernetes.container.hash'] ?? '',
    image: status.image?.userSpecifiedImage || status.image?.image || '',
    imageRef: status.imageRef,
    imageId: status.imageId || (status.image?.image ?? ''),
    createdAt: status.createdAt,
    logPath: status.logPath,
    terminationMessagePath: messagePath,
    terminationMessagePolicy: fallback ? 'FallbackToLogsOnError' : 'File',
    terminationGracePeriodSeconds: Number.isNaN(grace) ? undefined : grace,
    terminationMessageFile: messageFile(status, messagePath),
    stopSignal: stopSignalName(status.stopSignal),
    user: observedUser(status),
    ...observedState(status),
  };
}

/** The host path of the termination message file. The path in the spec may be relative; the mount's is absolute. */
function messageFile({ mounts }: ContainerStatus, messagePath: string): string | undefined {
  if (messagePath === '') return undefined;
  const path = resolve('/', messagePath);
  return mounts.find(({ containerPath }) => resolve('/', containerPath) === path)?.hostPath;
}

function observedUser({ user }: ContainerStatus): ObservedUser | undefined {
  if (!user?.linux) return undefined;
  const { uid, gid, supplementalGroups } = user.linux;
  const ids = { uid: Number(uid), gid: Number(gid) };
  return supplementalGroups.length === 0 ? ids : { ...ids, supplementalGroups: supplementalGroups.map(Number) };
}

function observedState(status: ContainerStatus): ObservedContainerState {
  const state = containerState(status.state);
  if (state === 'running') return { state, startedAt: status.startedAt };
  if (state !== 'exited') return { state };
  const { startedAt, finishedAt, exitCode, reason, message } = status;
  return { state, startedAt, finishedAt, exitCode, reason, message };
}
