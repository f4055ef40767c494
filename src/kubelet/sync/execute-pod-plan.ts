import type { Pod } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { RemovalDeps } from '../gc/remove-dead-container.ts';
import { findContainer } from '../pod/find-container.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { currentSandbox, type ObservedPod } from '../pod/observed-pod.ts';
import type { ContainerKill, ContainerRemoval, ContainerStart, PodPlan, SandboxChangeReason } from './pod-plan.ts';
import { pruneInitContainers, removeContainer, removeInitContainers } from './remove-containers.ts';
import { type ResizeDeps, tryResize } from './resize-pod.ts';
import { podSandboxConfig, runSandbox, type SandboxDeps } from './run-sandbox.ts';
import { type StartAllDeps, type StartFailures, startContainers } from './start-containers.ts';
import { type StopDeps, type StopOptions, stopContainer, stopPod } from './stop-pod.ts';
import { waitForAll } from './wait-for-all.ts';

export interface ExecuteDeps
  extends Omit<SandboxDeps, 'settings'>,
    Omit<StartAllDeps, 'settings' | 'records'>,
    Omit<ResizeDeps, 'settings'>,
    StopDeps {
  readonly settings: SandboxDeps['settings'] &
    StartAllDeps['settings'] &
    ResizeDeps['settings'] &
    RemovalDeps['settings'];
  /** Inspects the pod now. */
  readonly refresh: (uid: string, signal: AbortSignal) => Promise<ObservedPod | undefined>;
}

/** Executes a plan and returns the containers that did not start. Errors of the sandbox and of kills are thrown. */
export async function executePodPlan(
  pod: Pod,
  plan: PodPlan,
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  switch (plan.kind) {
    case 'end':
      await stopPod(pod, observed, specGracePeriod(pod), deps, signal);
      return new Map();
    case 'newSandbox':
      return startAll(pod, plan.start, await replaceSandbox(pod, plan, observed, deps, signal), deps, signal);
    case 'removeAll':
      for (const group of plan.groups) await waitForAll(group.map((each) => killAndRemove(pod, each, deps, signal)));
      return new Map();
    case 'adjust':
      return adjust(pod, plan, observed, deps, signal);
    default:
      return assertNever(plan);
  }
}

/** A failed resize does not prevent the other changes; it is thrown last. */
async function adjust(
  pod: Pod,
  { kill: kills, resize, start }: Extract<PodPlan, { readonly kind: 'adjust' }>,
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  await waitForAll(kills.map((kill) => stopContainer(pod, kill, killOptions(pod, kill), deps, signal)));
  const failure = resize && (await tryResize(pod, resize, observed, deps, signal));
  await pruneInitContainers(pod, observed, deps, signal);
  const failures = await startAll(pod, start, observed, deps, signal);
  if (failure) throw failure;
  return failures;
}

/**
 * Returns the pod with its new sandbox and with its containers as observed before. A container that exited with its
 * sandbox did not crash, and removed init containers keep their restart count, as in kubelet.
 */
async function replaceSandbox(
  pod: Pod,
  { attempt, reason }: Extract<PodPlan, { readonly kind: 'newSandbox' }>,
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<ObservedPod | undefined> {
  if (isReportedToUsers(reason)) {
    deps.events.record(pod, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
  }
  await stopPod(pod, observed, specGracePeriod(pod), deps, signal);
  // Init containers run again in the new sandbox; their old results must not count.
  await removeInitContainers(pod, observed, deps, signal);
  await runSandbox(pod, attempt, deps, signal);
  try {
    const refreshed = await deps.refresh(pod.metadata.uid, signal);
    return refreshed && { ...refreshed, containers: observed?.containers ?? [] };
  } catch (error) {
    signal.throwIfAborted();
    const text = goErrorText(error);
    deps.events.record(pod, 'Warning', 'FailedPodSandBoxStatus', `Unable to get pod sandbox status: ${text}`);
    throw error;
  }
}

/** kubelet records no event for the first sandbox, nor for a changed network mode. */
function isReportedToUsers(reason: SandboxChangeReason): boolean {
  return reason !== 'none yet' && reason !== 'network mode changed';
}

/** Kills without a grace period, as in kubelet. The log stays: the next instance continues its restart count. */
async function killAndRemove(
  pod: Pod,
  { id, name, stopFirst }: ContainerRemoval,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<void> {
  const ending = { message: 'killing', cause: 'restartingAll', graceSeconds: 0 } as const;
  if (stopFirst) await stopContainer(pod, { id, name }, ending, deps, signal);
  await removeContainer(id, deps.runtime, signal);
}

/** A probe may set its own grace period. */
function killOptions(pod: Pod, { name, reason, message }: ContainerKill): StopOptions {
  const container = findContainer(pod.spec, name);
  const own = {
    livenessFailed: container?.livenessProbe,
    startupFailed: container?.startupProbe,
    definitionChanged: undefined,
    unknownState: undefined,
    resized: undefined,
  }[reason]?.terminationGracePeriodSeconds;
  return { message, cause: reason, graceSeconds: own ?? specGracePeriod(pod) };
}

async function startAll(
  pod: Pod,
  starts: readonly ContainerStart[],
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const sandbox = currentSandbox(observed);
  if (starts.length === 0 || !sandbox) return new Map();
  const { config: sandboxConfig } = await podSandboxConfig(pod, sandbox, deps, signal);
  const podIPs = pod.spec.hostNetwork ? deps.settings.hostIPs : sandbox.ips;
  return startContainers({ pod, sandboxId: sandbox.id, sandboxConfig, podIPs, observed }, starts, deps, signal);
}
