import type { Container } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { isSidecar, restartsAfter } from '../pod/restart-rules.ts';
import { containerHash } from './config/container-hash.ts';
import { planInitContainers } from './plan-init-containers.ts';
import { planRemoval } from './plan-removal.ts';
import { killForResize, planResize } from './plan-resize.ts';
import type { ContainerKill, ContainerStart, KillReason, PodPlan, SandboxChangeReason } from './pod-plan.ts';
import { exitCodeOf, type PodView, restartPolicyOf, restartsWhenKilled } from './pod-view.ts';

/** Whether the pod keeps its sandbox or needs a new one, and why. kubelet's PodSandboxChanged. */
type SandboxChange =
  | { readonly kind: 'keep'; readonly id: string }
  | { readonly kind: 'create'; readonly attempt: number; readonly reason: SandboxChangeReason };

type SandboxNeed = Extract<SandboxChange, { readonly kind: 'create' }>;

/** Computes what a pod needs now. Pure. */
export function computePodActions(view: PodView): PodPlan {
  const sandbox = podSandboxChanged(view);
  if (sandbox.kind === 'create') return planNewSandbox(view, sandbox);
  if (view.restartsAll) return planRemoval(view);

  const init = planInitContainers(view);
  if (init.progress === 'failed') return { kind: 'end' };
  const ephemeral = ephemeralStarts(view);
  if (init.progress === 'running') return adjust(view, init.kill, [...ephemeral, ...init.start]);

  const decisions = view.spec.containers.map((container) => decideContainer(container, view));
  const start = decisions.flatMap((decision) => (decision.start ? [mainStart(decision.name)] : []));
  const anyKept = decisions.some((decision) => decision.keep);
  // Sidecars alone do not keep a pod running.
  if (!anyKept && start.length === 0) return { kind: 'end' };
  const kill = decisions.flatMap((decision) => decision.kill ?? []);
  return adjust(view, [...init.kill, ...kill], [...ephemeral, ...init.start, ...start]);
}

function adjust(view: PodView, kill: readonly ContainerKill[], start: readonly ContainerStart[]): PodPlan {
  const resize = planResize(view, kill, start);
  return { kind: 'adjust', kill, start, ...(resize && { resize }) };
}

/** Ephemeral containers start independently of the others, and only once: the runtime must not list them. */
function ephemeralStarts({ spec, containers }: PodView): ContainerStart[] {
  const missing = (spec.ephemeralContainers ?? []).filter(({ name }) => !containers.has(name));
  return missing.map(({ name }) => ({ name, role: 'ephemeral' }));
}

function podSandboxChanged({ spec, sandboxes }: Pick<PodView, 'spec' | 'sandboxes'>): SandboxChange {
  const newest = sandboxes[0];
  if (!newest) return { kind: 'create', attempt: 0, reason: 'none yet' };
  const create = (reason: SandboxChangeReason): SandboxChange => ({
    kind: 'create',
    attempt: newest.attempt + 1,
    reason,
  });

  if (sandboxes.filter(({ ready }) => ready).length > 1) return create('several are ready');
  if (!newest.ready) return create('not ready');
  const hostNetwork = spec.hostNetwork ?? false;
  if (newest.hostNetwork !== hostNetwork) return create('network mode changed');
  if (!hostNetwork && newest.ips.length === 0) return create('no address');
  return { kind: 'keep', id: newest.id };
}

/** Starts everything again, init containers included, except containers that are done. */
function planNewSandbox(view: PodView, { attempt, reason }: SandboxNeed): PodPlan {
  const { spec, containers } = view;
  const newSandbox = (start: readonly ContainerStart[]): PodPlan => ({
    kind: 'newSandbox',
    attempt,
    reason,
    start,
  });
  // The next sync removes the containers.
  if (view.restartsAll) return newSandbox([]);
  const anyRan = [...containers.values()].some(({ state }) => state !== 'created');
  if (spec.restartPolicy === 'Never' && attempt > 0 && anyRan) return { kind: 'end' };

  const left = spec.containers.filter((container) => {
    const isDone = exitCodeOf(containers.get(container.name)) === 0;
    return !(isDone && restartPolicyOf(container, spec) === 'OnFailure');
  });
  if (left.length === 0) return { kind: 'end' };

  const first = spec.initContainers?.[0];
  if (first) return newSandbox([{ name: first.name, role: isSidecar(first) ? 'sidecar' : 'init' }]);
  return newSandbox(left.map(({ name }) => mainStart(name)));
}

/** The decision for one main container. At most one of `keep` and `start` is set; neither means that it is done. */
interface ContainerDecision {
  readonly name: string;
  readonly keep?: true;
  readonly start?: boolean;
  readonly kill?: ContainerKill;
}

function decideContainer(container: Container, view: PodView): ContainerDecision {
  const { name } = container;
  const observed = view.containers.get(name);
  switch (observed?.state) {
    case undefined:
    case 'created':
      return { name, start: true };
    case 'unknown':
      // It may still run: it is killed first, so that two instances never run at once.
      return {
        name,
        start: true,
        kill: kill(observed, 'unknownState', 'Container is in "unknown" state, try killing it before restart'),
      };
    case 'exited':
      return { name, start: restartsAfter(container, view.spec, observed.exitCode) };
    case 'running':
      return decideRunning(container, observed, view);
    default:
      return assertNever(observed);
  }
}

function decideRunning(container: Container, observed: ObservedContainer, view: PodView): ContainerDecision {
  const { spec, probes } = view;
  const { name } = container;
  const end = (reason: KillReason, text: string, start: boolean): ContainerDecision => ({
    name,
    start,
    kill: kill(observed, reason, start ? `${text}, will be restarted` : text),
  });
  if (observed.hash !== containerHash(container)) {
    return end('definitionChanged', `Container ${name} definition changed`, true);
  }
  if (probes.result('liveness', observed.id) === 'failure') {
    return end('livenessFailed', `Container ${name} failed liveness probe`, restartsWhenKilled(container, spec));
  }
  if (probes.result('startup', observed.id) === 'failure') {
    return end('startupFailed', `Container ${name} failed startup probe`, restartsWhenKilled(container, spec));
  }
  const resized = killForResize(observed, view);
  return resized ? { name, start: true, kill: resized } : { name, keep: true };
}

function kill(observed: ObservedContainer, reason: KillReason, message: string): ContainerKill {
  return { id: observed.id, name: observed.name, reason, message };
}

function mainStart(name: string): ContainerStart {
  return { name, role: 'main' };
}
