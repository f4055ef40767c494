import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { formatPod } from '../../api/pod-names.ts';
import { assertNever } from '../../base/assert-never.ts';
import { formatDurationMs } from '../../base/duration.ts';
import type { Clock } from '../../host/clock.ts';
import { currentSandbox, type ObservedPod } from '../observe/observed-pod.ts';
import { ownGraceOf } from '../workers/pod-grace.ts';
import { containerHash } from './config/container-hash.ts';
import { containerFieldPath } from './container-field-path.ts';
import type { CrashBackoff } from './crash-backoff.ts';
import { eventOf, PodError } from './pod-error.ts';
import type { ContainerKill, ContainerStart, PodPlan } from './pod-plan.ts';
import { podSandboxConfig, runSandbox, type SandboxDeps } from './run-sandbox.ts';
import { type ContainerPlace, type StartDeps, startContainer } from './start-container.ts';
import { removeInitContainers, type StopDeps, stopContainer, stopPod } from './stop-pod.ts';

export interface ExecuteDeps extends Omit<SandboxDeps, 'settings'>, Omit<StartDeps, 'settings'>, StopDeps {
  readonly clock: Clock;
  readonly backoff: CrashBackoff;
  readonly settings: SandboxDeps['settings'] & StartDeps['settings'];
  /** Looks at the pod now. */
  readonly refresh: (uid: string, signal: AbortSignal) => Promise<ObservedPod | undefined>;
}

/** What did not come up, by container name; the sandbox's own failure is thrown. */
export type StartFailures = ReadonlyMap<string, PodError>;

/** Carries a plan out. A container that cannot start does not keep the others from it. */
export async function executePodPlan(
  pod: Pod,
  plan: PodPlan,
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const grace = ownGraceOf(pod);
  switch (plan.kind) {
    case 'end':
      await stopPod(pod, observed, grace, deps, signal);
      return new Map();
    case 'newSandbox': {
      await stopPod(pod, observed, grace, deps, signal);
      // In the new sandbox they all run again; what they did in the old one must not be taken for it.
      await removeInitContainers(pod, observed, deps, signal);
      if (observed && observed.sandboxes.length > 0) {
        const message = 'Pod sandbox changed, it will be killed and re-created.';
        deps.events.record(pod, 'Normal', 'SandboxChanged', message);
      }
      await runSandbox(pod, plan.attempt, deps, signal);
      return startAll(pod, plan.start, await deps.refresh(pod.metadata.uid, signal), deps, signal);
    }
    case 'adjust':
      for (const kill of plan.kill) await stopContainer(pod, kill, kill.message, killGrace(pod, kill), deps, signal);
      return startAll(pod, plan.start, observed, deps, signal);
    default:
      return assertNever(plan);
  }
}

/** A probe may have a grace period of its own. */
function killGrace({ spec }: Pod, kill: ContainerKill): number {
  const container = containerOf(spec, kill.name);
  const ofPod = ownGraceOf({ spec });
  if (kill.reason === 'livenessFailed') return container?.livenessProbe?.terminationGracePeriodSeconds ?? ofPod;
  if (kill.reason === 'startupFailed') return container?.startupProbe?.terminationGracePeriodSeconds ?? ofPod;
  return ofPod;
}

async function startAll(
  pod: Pod,
  starts: readonly ContainerStart[],
  observed: ObservedPod | undefined,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<StartFailures> {
  const failures = new Map<string, PodError>();
  const sandbox = currentSandbox(observed);
  if (starts.length === 0 || !sandbox) return failures;
  const { config: sandboxConfig } = await podSandboxConfig(pod, sandbox.attempt, deps);
  const podIPs = pod.spec.hostNetwork ? deps.settings.hostIPs : sandbox.ips;
  const place: ContainerPlace = { pod, sandboxId: sandbox.id, sandboxConfig, podIPs, observed };
  for (const { name } of starts) {
    const container = containerOf(pod.spec, name);
    if (!container) continue;
    try {
      leaveInPeace(place, container, deps);
      await startContainer(place, container, deps, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof PodError)) throw error;
      failures.set(name, error);
      tell(pod, container, error, deps);
    }
  }
  return failures;
}

/** Throws while a container that keeps ending is in its pause. */
function leaveInPeace({ pod, observed }: ContainerPlace, container: Container, { backoff, clock }: ExecuteDeps): void {
  const endedMs = lastEnd(container.name, observed);
  if (endedMs === undefined) return;
  const key = `${pod.metadata.uid}/${container.name}/${containerHash(container)}`;
  const pause = backoff.pause(key, endedMs, clock);
  if (!pause) {
    backoff.started(key, endedMs, clock);
    return;
  }
  const message = `back-off ${formatDurationMs(pause.delayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`;
  const eventMessage = `Back-off restarting failed container ${container.name} in pod ${formatPod(pod)}`;
  throw new PodError('CrashLoopBackOff', message, { eventMessage, retryAfterMs: pause.leftMs });
}

/**
 * When the container last came to nothing: it ended, or was made and could not be started. One that was killed just now
 * is still seen running: then the one before it counts, as with kubelet.
 */
function lastEnd(name: string, observed: ObservedPod | undefined): number | undefined {
  for (const seen of observed?.containers ?? []) {
    if (seen.name !== name) continue;
    if (seen.state === 'exited') return Number(seen.finishedAt / 1_000_000n);
    if (seen.state === 'created') return Number(seen.createdAt / 1_000_000n);
  }
  return undefined;
}

function tell(pod: Pod, container: Container, error: PodError, { events }: ExecuteDeps): void {
  if (error.silent) return;
  const { type, reason, message } = eventOf(error);
  events.record(pod, type, reason, message, containerFieldPath(pod, container.name));
}

function containerOf({ containers, initContainers = [] }: Pod['spec'], name: string): Container | undefined {
  return [...initContainers, ...containers].find((container) => container.name === name);
}
