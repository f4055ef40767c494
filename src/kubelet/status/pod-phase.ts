import type {
  Container,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodSpec,
} from '../../api/generated/core-v1.ts';
import { isStaticPod } from '../../api/pod-names.ts';
import { isSidecar, restartsAfter } from '../pod/restart-rules.ts';
import { RESTARTING_ALL } from './restart-all-containers.ts';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** The input of the phase of a pod. */
export interface PhaseView {
  readonly pod: Pod;
  /** Statuses of init and regular containers, in any order. */
  readonly statuses: readonly ContainerStatus[];
  /** The pod has ended: nothing is restarted, whatever the restart policy says. */
  readonly ended: boolean;
  /** A regular container was created in the current sandbox: restarting sidecars do not make the pod pending again. */
  readonly initialized: boolean;
}

export function podPhase(view: PhaseView): PodPhase {
  const { spec } = view.pod;
  const init = (spec.initContainers ?? []).filter((container) => !isSidecar(container));
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const initStandings = init.map((container) => containerStanding(container, view));
  const sidecarStandings = sidecars.map((container) => containerStanding(container, view));
  const standings = spec.containers.map((container) => containerStanding(container, view));

  if (initStandings.some((standing) => standing.kind === 'stopped' && hasFailedForGood(standing))) return 'Failed';
  if (initStandings.some(({ kind }) => kind !== 'stopped')) return 'Pending';
  if (!view.initialized && sidecarStandings.some(isStarting)) return 'Pending';
  const counted = [...standings, ...sidecarStandings.filter(({ kind }) => kind !== 'stopped')];
  if (counted.some(({ kind }) => kind === 'waiting' || kind === 'unknown')) return 'Pending';
  if (counted.some(({ kind }) => kind === 'running')) return 'Running';
  return phaseOfStopped(standings, view);
}

/** A terminal phase is never left. */
export function isTerminal(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Every container has ended, and no sidecar runs. */
function phaseOfStopped(standings: readonly ContainerStanding[], { pod, ended }: PhaseView): PodPhase {
  const stopped = standings.filter((standing) => standing.kind === 'stopped');
  if (stopped.length === 0) return 'Pending';
  const endsForGood = ended && !isStaticPod(pod); // kubelet gives static pods no terminal phase when they are removed
  if (!endsForGood && stopped.some(({ restarts }) => restarts)) return 'Running';
  return stopped.every(({ exitCode, waits }) => exitCode === 0 && !waits) ? 'Succeeded' : 'Failed';
}

type ContainerStanding =
  | { readonly kind: 'running'; readonly started: boolean }
  | { readonly kind: 'waiting' | 'unknown' }
  | Stopped;

interface Stopped {
  readonly kind: 'stopped';
  readonly exitCode: number;
  readonly restarts: boolean;
  /** The container waits for its restart (`CrashLoopBackOff`). */
  readonly waits: boolean;
}

function containerStanding(container: Container, { pod, statuses }: PhaseView): ContainerStanding {
  const { state, lastState, started = false } = statuses.find(({ name }) => name === container.name) ?? {};
  if (state?.running) return { kind: 'running', started };
  const ended = state?.terminated ?? (state?.waiting && lastState?.terminated);
  if (ended) return stopped(container, pod.spec, ended, state?.terminated === undefined);
  return { kind: state?.waiting ? 'waiting' : 'unknown' };
}

function stopped(container: Container, spec: PodSpec, ended: ContainerStateTerminated, waits: boolean): Stopped {
  const { exitCode, reason } = ended;
  const restarts = reason === RESTARTING_ALL || restartsAfter(container, spec, exitCode);
  return { kind: 'stopped', exitCode, restarts, waits };
}

function hasFailedForGood({ exitCode, restarts }: Stopped): boolean {
  return exitCode !== 0 && !restarts;
}

/** A sidecar that blocks the containers after it. One that ended and restarts does not. */
function isStarting(standing: ContainerStanding): boolean {
  return standing.kind === 'running' ? !standing.started : standing.kind !== 'stopped';
}
