import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import type { PodReport } from './agent-view.ts';
import { killText } from './kill-cause.ts';
import { type StepGap, stepEnd, stepGaps } from './step-gaps.ts';

/** A time without a step of the pod. */
export interface PodWait {
  /** `run`: there was nothing to do; `wait`: the next step was delayed. */
  readonly kind: 'run' | 'wait';
  readonly fromMs: number;
  /** Absent while it lasts. */
  readonly toMs?: number;
  /** Empty when unknown. */
  readonly reason: string;
}

interface ContainerEnd {
  readonly atMs: number;
  readonly name: string;
  readonly exitCode: number;
}

/** Returns what a pod waited for between its steps, and waits for now; short waits are left out. */
export function podWaits(report: PodReport, nowMs: number): PodWait[] {
  const past = stepGaps(report.steps).flatMap((gap) => waitsIn(gap, report));
  return [...past, ...presentWaits(report, nowMs)];
}

/** The end of a container splits the gap: before it the container ran, after it the pod waited for the restart. */
function waitsIn({ fromMs, tookMs, after, before }: StepGap, report: PodReport): PodWait[] {
  const toMs = fromMs + tookMs;
  const runs = runsIn(report, fromMs, toMs);
  const restMs = runs.at(-1)?.toMs ?? fromMs;
  const reason = reasonIn(report.events, restMs, toMs);
  if (reason !== '') return [...runs, { kind: 'wait', fromMs: restMs, toMs, reason }];
  if (runs.length > 0) return runs;
  if (before.name === 'stop container') return [{ kind: 'run', fromMs, toMs, reason: ranUntil(before, report.events) }];
  return [{ kind: 'wait', fromMs, toMs, reason: retryOf(after) }];
}

/** Waits after the last step, where the reason is known. */
function presentWaits(report: PodReport, nowMs: number): PodWait[] {
  const last = report.steps.toSorted((a, b) => stepEnd(a) - stepEnd(b)).at(-1);
  if (last === undefined || last.outcome.kind === 'running') return [];
  const runs = runsIn(report, stepEnd(last), nowMs);
  const fromMs = runs.at(-1)?.toMs ?? stepEnd(last);
  const reason = reasonIn(report.events, fromMs, nowMs) || (runs.length === 0 ? retryOf(last) : '');
  return reason === '' ? runs : [...runs, { kind: 'wait', fromMs, reason }];
}

function runsIn(report: PodReport, fromMs: number, toMs: number): PodWait[] {
  const ends = containerEnds(report).filter(({ atMs }) => atMs > fromMs && atMs <= toMs);
  return ends.map(({ atMs, name, exitCode }, index) => ({
    kind: 'run',
    fromMs: ends[index - 1]?.atMs ?? fromMs,
    toMs: atMs,
    reason: `${name} ran, and ended with exit code ${exitCode}`,
  }));
}

/** The `Killing` event right before the stop has the cause. */
function ranUntil({ subject, startedMs }: Step, events: readonly PodEvent[]): string {
  const kill = events.findLast(({ reason, atMs }) => reason === 'Killing' && atMs <= startedMs);
  const cause = killText(kill);
  return cause === undefined ? 'it ran until it was stopped' : `${subject} ran until ${cause}`;
}

function retryOf({ name, outcome }: Step): string {
  if (outcome.kind !== 'failed') return '';
  return name === 'image' ? 'back-off of the pull' : 'the next try';
}

/** The reason that the events of that time have. */
function reasonIn(events: readonly PodEvent[], fromMs: number, toMs: number): string {
  const within = events.filter(({ atMs }) => atMs >= fromMs - 1 && atMs <= toMs);
  const backOff = within.find(({ reason }) => reason === 'BackOff');
  if (backOff?.cause?.kind === 'pullBackoff') return 'back-off of the pull';
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
