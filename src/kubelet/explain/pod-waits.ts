import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import type { PodReport } from './agent-view.ts';
import { killCause } from './kill-cause.ts';
import { type StepGap, stepEnd, stepGaps } from './step-gaps.ts';

/** A time in which nothing was done for a pod. */
export interface PodWait {
  /** `run`: there was nothing to do; `wait`: something was to be done, and had to wait. */
  readonly kind: 'run' | 'wait';
  readonly fromMs: number;
  /** Absent while it lasts. */
  readonly toMs?: number;
  /** Empty when nothing is known of it. */
  readonly reason: string;
}

interface ContainerEnd {
  readonly atMs: number;
  readonly name: string;
  readonly exitCode: number;
}

/** What a pod waited for between its steps, and waits for now; what is too short to matter is left out. */
export function podWaits(report: PodReport, nowMs: number): PodWait[] {
  const past = stepGaps(report.steps).flatMap((gap) => waitsIn(gap, report));
  return [...past, ...presentWaits(report, nowMs)];
}

/** A container that ends within the gap parts it: until then it ran, afterwards its restart was waited for. */
function waitsIn({ fromMs, tookMs, after, before }: StepGap, report: PodReport): PodWait[] {
  const toMs = fromMs + tookMs;
  const runs = runsIn(report, fromMs, toMs);
  const restMs = runs.at(-1)?.toMs ?? fromMs;
  const why = reasonIn(report.events, restMs, toMs);
  if (why !== '') return [...runs, { kind: 'wait', fromMs: restMs, toMs, reason: why }];
  if (runs.length > 0) return runs;
  if (before.name === 'stop container') return [{ kind: 'run', fromMs, toMs, reason: ranUntil(before, report.events) }];
  return [{ kind: 'wait', fromMs, toMs, reason: retryOf(after) }];
}

/** After the last step: a wait is told only when it is known what for. */
function presentWaits(report: PodReport, nowMs: number): PodWait[] {
  const last = report.steps.toSorted((a, b) => stepEnd(a) - stepEnd(b)).at(-1);
  if (last === undefined || last.outcome.kind === 'running') return [];
  const runs = runsIn(report, stepEnd(last), nowMs);
  const fromMs = runs.at(-1)?.toMs ?? stepEnd(last);
  const why = reasonIn(report.events, fromMs, nowMs) || (runs.length === 0 ? retryOf(last) : '');
  return why === '' ? runs : [...runs, { kind: 'wait', fromMs, reason: why }];
}

function runsIn(report: PodReport, fromMs: number, toMs: number): PodWait[] {
  const ends = containerEnds(report).filter(({ atMs }) => atMs > fromMs && atMs <= toMs);
  return ends.map(({ atMs, name, exitCode }, index) => ({
    kind: 'run',
    fromMs: ends[index - 1]?.atMs ?? fromMs,
    toMs: atMs,
    why: `${name} ran, and ended with exit code ${exitCode}`,
  }));
}

/** A container is stopped for a reason that its event tells, right before the stop. */
function ranUntil({ subject, startedMs }: Step, events: readonly PodEvent[]): string {
  const kill = events.findLast(({ reason, atMs }) => reason === 'Killing' && atMs <= startedMs);
  const cause = killCause(kill?.message ?? '');
  return cause === undefined ? 'it ran until it was stopped' : `${subject} ran until ${cause}`;
}

function retryOf({ name, outcome }: Step): string {
  if (outcome.kind !== 'failed') return '';
  return name === 'image' ? 'back-off of the pull' : 'the next try';
}

/** By what kubelet's events tell of that time. */
function reasonIn(events: readonly PodEvent[], fromMs: number, toMs: number): string {
  const within = events.filter(({ atMs }) => atMs >= fromMs - 1 && atMs <= toMs);
  const backOff = within.find(({ reason }) => reason === 'BackOff');
  if (backOff?.message.startsWith('Back-off pulling')) return 'back-off of the pull';
  if (backOff) return 'back-off';
  return within.some(({ reason }) => reason === 'NetworkNotReady') ? 'the network of the runtime' : '';
}

/** Oldest first. */
function containerEnds({ observed }: PodReport): ContainerEnd[] {
  return (observed?.containers ?? [])
    .flatMap((container) => {
      if (container.state !== 'exited') return [];
      const { name, exitCode, finishedAt } = container;
      return [{ name, exitCode, atMs: Number(finishedAt / 1_000_000n) }];
    })
    .sort((a, b) => a.atMs - b.atMs);
}
