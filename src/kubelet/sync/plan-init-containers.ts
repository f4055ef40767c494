import type { Container } from '../../api/generated/core-v1.ts';
import type { ObservedContainer } from '../pod/observed-pod.ts';
import { isSidecar, restartsAfter } from '../pod/restart-rules.ts';
import { containerHash } from './config/container-hash.ts';
import { killForResize } from './plan-resize.ts';
import type { ContainerKill, ContainerStart } from './pod-plan.ts';
import { type PodView, restartsWhenKilled } from './pod-view.ts';

/** Progress of the init containers, and what to kill and start. */
export interface InitPlan {
  /** `done`: main containers may run. `failed`: main containers never run. */
  readonly progress: 'running' | 'done' | 'failed';
  readonly kill: readonly ContainerKill[];
  readonly start: readonly ContainerStart[];
}

/** The decision for one init container; `passed`: the next one may start. */
interface InitDecision {
  readonly passed: boolean;
  readonly failed?: true;
  readonly kill?: ContainerKill;
  readonly start?: true;
}

const FAILED: InitPlan = { progress: 'failed', kill: [], start: [] };

/**
 * Init containers run one after the other. The last one that the runtime lists is the current one: those before it have
 * completed, even if the runtime no longer lists them. Sidecars among them are kept running.
 */
export function planInitContainers(view: PodView): InitPlan {
  const inits = view.spec.initContainers ?? [];
  const wasDone = view.spec.containers.some((main) => isLive(view.containers.get(main.name), view));
  const current = wasDone ? inits.length : inits.findLastIndex((init) => view.containers.has(init.name));
  if (inits.length > 0 && current === -1) return { progress: 'running', kill: [], start: starts(inits.slice(0, 1)) };

  const decisions = inits.map((init, index): InitDecision => {
    if (index > current) return { passed: false };
    return index === current ? decideCurrent(init, view) : decidePassed(init, view);
  });
  if (decisions.some((decision) => decision.failed)) return FAILED;

  const next = decisions[current]?.passed ? current + 1 : -1;
  return {
    progress: wasDone || decisions.every((decision) => decision.passed) ? 'done' : 'running',
    kill: decisions.flatMap((decision) => decision.kill ?? []),
    start: starts(inits.filter((_, index) => decisions[index]?.start || index === next)),
  };
}

/** The container that the pod has reached. */
function decideCurrent(init: Container, view: PodView): InitDecision {
  const observed = view.containers.get(init.name);
  if (isSidecar(init)) return decideSidecar(init, observed, view);
  switch (observed?.state) {
    case 'running':
      return { passed: false };
    case 'exited':
      if (observed.exitCode === 0) return { passed: true };
      if (restartsAfter(init, view.spec, observed.exitCode)) return { passed: false, start: true };
      return { passed: false, failed: true };
    case 'unknown':
      if (!restartsWhenKilled(init, view.spec)) return { passed: false, failed: true };
      return { passed: false, start: true, kill: killUnknown(init, observed) };
    default:
      // Created but never started: the start failed.
      return { passed: false, start: true };
  }
}

/** A container before the current one: completed, unless it is a sidecar. */
function decidePassed(init: Container, view: PodView): InitDecision {
  if (!isSidecar(init)) return { passed: true };
  return { ...decideSidecar(init, view.containers.get(init.name), view), passed: true };
}

function decideSidecar(init: Container, observed: ObservedContainer | undefined, view: PodView): InitDecision {
  const { probes } = view;
  if (observed?.state === 'unknown') return { passed: false, start: true, kill: killUnknown(init, observed) };
  if (observed?.state !== 'running') return { passed: false, start: true };

  const restart = (reason: ContainerKill['reason'], what: string): Omit<InitDecision, 'passed'> => ({
    start: true,
    kill: { id: observed.id, name: init.name, reason, message: `Init container ${init.name} ${what}` },
  });
  if (init.startupProbe) {
    const startup = probes.result('startup', observed.id);
    if (startup === 'failure') return { passed: false, ...restart('startupFailed', 'failed startup probe') };
    if (startup !== 'success') return { passed: false };
  }
  if (observed.hash !== containerHash(init))
    return { passed: true, ...restart('definitionChanged', 'definition changed') };
  if (init.livenessProbe && probes.result('liveness', observed.id) === 'failure') {
    return { passed: true, ...restart('livenessFailed', 'failed liveness probe') };
  }
  const resized = killForResize(observed, view);
  return { passed: true, ...(resized && { start: true, kill: resized }) };
}

function killUnknown(init: Container, observed: ObservedContainer): ContainerKill {
  const message = 'Init container is in "unknown" state, try killing it before restart';
  return { id: observed.id, name: init.name, reason: 'unknownState', message };
}

function starts(containers: readonly Container[]): ContainerStart[] {
  return containers.map((init) => ({ name: init.name, role: isSidecar(init) ? 'sidecar' : 'init' }));
}

/**
 * Whether the container is created or running in the current sandbox. Older sandboxes and exited containers (reboot) do
 * not count.
 */
function isLive(container: ObservedContainer | undefined, { sandboxes }: PodView): boolean {
  if (container === undefined || container.sandboxId !== sandboxes[0]?.id) return false;
  return container.state === 'created' || container.state === 'running';
}
