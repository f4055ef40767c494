import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import { activeTimeLeft } from '../pod/active-deadline.ts';
import type { SyncError } from '../workers/worker-progress.ts';
import type { PodReport } from './agent-view.ts';
import {
  describeClaimError,
  describeSandboxError,
  describeVolumeError,
  type ErrorDescription,
} from './describe-error.ts';
import { unwrapError } from './error-texts.ts';
import { isEventOf } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { killText } from './kill-cause.ts';
import { agoText, durationText, forText, inText, listText, sentence } from './plain-text.ts';
import { killingProbeOutput } from './probe-output.ts';
import { slowStep, slowSteps, usualText } from './slow-step.ts';
import { stepActivity, stepNoun } from './step-phrases.ts';

/** Steps whose errors are reported with their container. */
const CONTAINER_STEPS: ReadonlySet<Step['name']> = new Set(['image', 'create container', 'start container']);

/** Events of an ongoing error are recorded more often than this. */
const RECENT_MS = 60_000;

/** What the pod as a whole waits for: its running steps, and what failed before. */
export function whyPodWaits(report: PodReport, nowMs: number): Finding[] {
  return [
    ...runningSteps(report, nowMs),
    ...failedSync(report, nowMs),
    ...staleVolumes(report, nowMs),
    ...sandboxes(report),
    ...readinessGates(report),
    ...deadline(report, nowMs),
    ...slowSteps(report, nowMs),
  ];
}

export function runningSteps({ steps, events, pending = [], startSteps = [] }: PodReport, nowMs: number): Finding[] {
  const running = steps.filter(({ outcome }) => outcome.kind === 'running');
  return running.map((step) => {
    const isPull = events.some(({ reason, atMs }) => reason === 'Pulling' && atMs >= step.startedMs);
    const activity = step.name === 'image' && isPull ? `pulling image "${step.subject}"` : stepActivity(step);
    const because = stopCause(step, events);
    const waits = step.name === 'volumes' ? pending.flatMap((cause) => describeVolumeError(cause, '')?.text ?? []) : [];
    const usual = slowStep(step.name, nowMs - step.startedMs, startSteps);
    const slow = usual ? [usualText(usual)] : [];
    return {
      kind: 'step',
      summary: waits[0] ?? `it is ${activity}${because}`,
      sentences: [
        `It has been ${activity} ${forText(step.startedMs, nowMs)}${because}.`,
        ...slow,
        ...waits.map(sentence),
      ],
    };
  });
}

/** The `Killing` event right before the stop of a container has the cause. */
function stopCause({ name, subject = '', startedMs }: Step, events: readonly PodEvent[]): string {
  if (name !== 'stop container') return '';
  const kill = events.findLast(
    (event) => event.reason === 'Killing' && isEventOf(event, subject) && event.atMs <= startedMs,
  );
  const cause = killText(kill);
  if (kill === undefined || cause === undefined) return '';
  const ranSinceMs = events.findLast((event) => event.reason === 'Started' && isEventOf(event, subject))?.atMs ?? 0;
  return `, because ${cause}${killingProbeOutput(kill, subject, events, ranSinceMs)}`;
}

/** The last sync of the worker, if it failed in its present phase. */
export function failedSync(report: PodReport, nowMs: number): Finding[] {
  const { lastError, nextSyncMs, phaseSinceMs = 0 } = report.progress ?? {};
  if (lastError === undefined || lastError.atMs < phaseSinceMs) return [];
  const { summary, what, text = unwrapError(lastError.error), help } = describeFailedSync(report, lastError);
  const row = lastError.consecutive > 1 ? `, ${lastError.consecutive} times in a row` : '';
  const again = nextSyncMs === undefined ? 'is being tried again' : `is tried again ${inText(nextSyncMs, nowMs)}`;
  return [
    {
      kind: 'pod',
      summary,
      sentences: [
        sentence(`${what} failed ${agoText(lastError.atMs, nowMs)}${row}: ${text}`),
        ...(help === undefined ? [] : [help]),
        `It ${again}.`,
      ],
    },
  ];
}

interface FailedSync extends Partial<ErrorDescription> {
  readonly summary: string;
  /** What failed: `the creation of its sandbox`. */
  readonly what: string;
}

function describeFailedSync({ steps, worker }: PodReport, { error, cause }: SyncError): FailedSync {
  const sandbox = describeSandboxError(cause, error);
  if (sandbox) return { ...sandbox, what: 'the creation of its sandbox' };
  const claim = describeClaimError(cause);
  if (claim) return { ...claim, what: `${worker === 'syncing' ? 'preparing' : 'releasing'} its resource claims` };
  const step = steps.findLast((each) => isFailedWith(each, error));
  if (step === undefined) return { summary: 'its last sync failed', what: 'its last sync' };
  const volume = step.name === 'volumes' ? describeVolumeError(cause, unwrapError(error)) : undefined;
  return { summary: `${stepNoun(step)} fails`, what: stepNoun(step), ...volume };
}

function isFailedWith({ name, outcome }: Step, error: string): boolean {
  return outcome.kind === 'failed' && !CONTAINER_STEPS.has(name) && error.includes(outcome.error);
}

function sandboxes({ observed, worker }: PodReport): Finding[] {
  const ready = observed?.sandboxes.filter((sandbox) => sandbox.ready) ?? [];
  if (ready.length < 2 || worker !== 'syncing') return [];
  const ids = listText(ready.map(({ id }) => id.slice(0, 13)));
  return [
    {
      kind: 'pod',
      summary: `the runtime has ${ready.length} sandboxes for it`,
      sentences: [`The runtime has ${ready.length} live sandboxes for it (${ids}); they are replaced by a new one.`],
    },
  ];
}

/** Conditions that other components set, and that the pod needs to be ready. */
function readinessGates({ status }: PodReport): Finding[] {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.reason !== 'ReadinessGatesNotReady') return [];
  const summary = 'a readiness gate is not open';
  return [{ kind: 'unready', summary, sentences: [sentence(ready.message ?? summary)] }];
}

/** Containers that run with old content of their volumes, because it cannot be updated. */
function staleVolumes({ steps, events }: PodReport, nowMs: number): Finding[] {
  const failed = events.findLast(({ reason }) => reason === 'FailedMount');
  const prepared = steps.findLast(({ name }) => name === 'volumes');
  if (failed === undefined || prepared?.outcome.kind !== 'done') return [];
  if (failed.atMs < prepared.startedMs || failed.atMs < nowMs - RECENT_MS) return [];
  const text = `its volumes could not be updated ${agoText(failed.atMs, nowMs)}: ${unwrapError(failed.message)}`;
  const sentences = [sentence(text), 'Its containers keep what the volumes held before.'];
  return [{ kind: 'note', summary: 'its volumes are out of date', sentences }];
}

function deadline(report: PodReport, nowMs: number): Finding[] {
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs === undefined || report.worker !== 'syncing') return [];
  const limit = durationText((report.pod.spec.activeDeadlineSeconds ?? 0) * 1000);
  const text = `It may be active for ${limit} in all: it is ended ${inText(nowMs + leftMs, nowMs)}.`;
  return [{ kind: 'note', summary: 'it has a deadline', sentences: [text] }];
}
