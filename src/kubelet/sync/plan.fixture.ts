/** Pod views for plan tests. */
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import { observedContainer, READY_SANDBOX } from '../pod/observed-container.fixture.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from '../pod/observed-pod.ts';
import type { ProbeKind, ProbeResult } from '../probes/probe-results.ts';
import type { ResizePlan } from '../resources/resize-plan.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { containerHash } from './config/container-hash.ts';
import type { ContainerKill, ContainerRole, ContainerStart, KillReason, PodPlan } from './pod-plan.ts';

export const web: Container = { name: 'web', image: 'busybox' };
export const log: Container = { name: 'log', image: 'busybox' };
export const first: Container = { name: 'first', image: 'busybox' };
export const second: Container = { name: 'second', image: 'busybox' };
export const side: Container = { name: 'side', image: 'busybox', restartPolicy: 'Always' };

export const sandbox = READY_SANDBOX;

export const running: ObservedContainerState = { state: 'running', startedAt: 2n };
export const created: ObservedContainerState = { state: 'created' };
export const unknown: ObservedContainerState = { state: 'unknown' };

export function exited(exitCode: number): ObservedContainerState {
  return {
    state: 'exited',
    startedAt: 2n,
    finishedAt: 3n,
    exitCode,
    reason: exitCode ? 'Error' : 'Completed',
    message: '',
  };
}

export function observe(
  container: Container,
  state: ObservedContainerState,
  hash = containerHash(container),
): ObservedContainer {
  return observedContainer(container.name, state, { id: `id-${container.name}`, hash });
}

export interface Given {
  spec?: Partial<PodSpec>;
  sandboxes?: ObservedSandbox[];
  /** Newest first for each name. */
  containers?: ObservedContainer[];
  restartsAll?: boolean;
  probes?: Partial<Record<`${ProbeKind} ${string}`, ProbeResult>>;
  resize?: ResizePlan;
}

/** By default a pod with one running main container and nothing to do. */
export function plan({ spec, sandboxes = [sandbox], containers = [observe(web, running)], ...given }: Given): PodPlan {
  const { probes = {}, restartsAll = false, resize } = given;
  const newest = new Map(containers.toReversed().map((container) => [container.name, container]));
  return computePodActions({
    spec: { containers: [web], restartPolicy: 'Always', ...spec },
    sandboxes,
    containers: newest,
    older: containers.filter((container) => newest.get(container.name) !== container),
    restartsAll,
    probes: { result: (kind, id) => probes[`${kind} ${id}`] },
    resize,
  });
}

export const on42 = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };

export function start(role: ContainerRole, ...names: string[]): ContainerStart[] {
  return names.map((name) => ({ name, role }));
}

export function kill(name: string, reason: KillReason, message: string): ContainerKill {
  return { id: `id-${name}`, name, reason, message };
}

export function adjust({ kills = [], starts = [] }: { kills?: ContainerKill[]; starts?: ContainerStart[] }): PodPlan {
  return { kind: 'adjust', kill: kills, start: starts };
}

export const END: PodPlan = { kind: 'end' };
export const notReady: ObservedSandbox = { ...sandbox, ready: false };
