import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import { activeTimeLeft } from '../pod/active-deadline.ts';
import type { PodReport } from './agent-view.ts';
import { isEventOf } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { killCause } from './kill-cause.ts';
import { agoText, forText, inText, listText, sentence, durationText } from './plain-text.ts';
import { unwrapError } from './error-texts.ts';
import { killingProbeOutput } from './probe-output.ts';
import { sandboxTrouble } from './sandbox-words.ts';
import { stepActivity, stepNoun } from './step-phrases.ts';
import { volumeTrouble } from './volume-words.ts';
import { staleVolumes } from './why-volumes.ts';

/** Steps whose failure is told as the trouble of their container. */
const CONTAINER_STEPS: ReadonlySet<string> = new Set(['image', 'create container', 'start container']);

/** What the pod as a whole waits for: the step that it is in, and what failed before. */
export function whyPodWaits(report: PodReport, nowMs: number): Finding[] {
  return [
    ...runningSteps(report, nowMs),
    ...failedSync(report, nowMs),
    ...staleVolumes(report, nowMs),
    ...sandboxes(report),
    ...readinessGates(report),
    ...deadline(report, nowMs),
  ];
}

export function runningSteps({ steps, events }: PodReport, nowMs: number): Finding[] {
  const running = steps.filter(({ outcome }) => outcome.kind === 'running');
  return running.map((step) => {
    const isPull = events.some(({ reason, atMs }) => reason === 'Pulling' && atMs >= step.startedMs);
    const doing = step.name === 'image' && isPull ? `pulling image "${step.subject}"` : stepActivity(step);
    const because = stopCause(step, events);
    return {
      kind: 'step',
      cause: `it is ${doing}${because}`,
      sentences: [`It has been ${doing} ${forText(step.startedMs, nowMs)}${because}.`],
    };
  });
}

/** A container that is stopped while its pod goes on is stopped for a reason, which its event tells right before. */
function stopCause({ name, subject = '', startedMs }: Step, events: readonly PodEvent[]): string {
  if (name !== 'stop container') return '';
  const kill = events.findLast(
    (event) => event.reason === 'Killing' && isEventOf(event, subject) && event.atMs <= startedMs,
  );
  const cause = killCause(kill?.message ?? '');
  if (kill === undefined || cause === undefined) return '';
  const ranSinceMs = events.findLast((event) => event.reason === 'Started' && isEventOf(event, subject))?.atMs ?? 0;
  return `, because ${cause}${killingProbeOutput(kill, subject, events, ranSinceMs)}`;
}

/** The last pass of the worker, when it failed in its present phase. */
export function failedSync(report: PodReport, nowMs: number): Finding[] {
  const { lastError: failure, nextSyncMs: nextPassMs, phaseSinceMs = 0 } = report.progress ?? {};
  if (failure === undefined || failure.atMs < phaseSinceMs) return [];
  const { cause, what, text = unwrapError(failure.error), help } = describeFailedSync(report, failure.error);
  const row = failure.consecutive > 1 ? `, ${failure.consecutive} times in a row` : '';
  const again = nextPassMs === undefined ? 'is being tried again' : `is tried again ${inText(nextPassMs, nowMs)}`;
  return [
    {
      kind: 'pod',
      summary: cause,
      sentences: [
        sentence(`${what} failed ${agoText(failure.atMs, nowMs)}${row}: ${text}`),
        ...(help === undefined ? [] : [help]),
        `It ${again}.`,
      ],
    },
  ];
}

interface FailedThing {
  readonly cause: string;
  readonly what: string;
  /** Where there is a plainer one than the error itself. */
  readonly text?: string;
  /** What would put it right. */
  readonly help?: string | undefined;
}

function describeFailedSync({ pod, steps }: PodReport, error: string): FailedThing {
  const trouble = sandboxTrouble(error);
  if (trouble) return { ...trouble, what: 'the creation of its sandbox' };
  if (error.startsWith('network is not ready')) {
    return { cause: 'the network of the runtime is not ready', what: 'the creation of its sandbox' };
  }
  const step = steps.findLast((each) => isFailedWith(each, error));
  if (step === undefined) return { cause: 'the last look at it failed', what: 'the last look at it' };
  const volume = step.name === 'volumes' ? volumeTrouble(pod.spec, unwrapError(error)) : undefined;
  return { cause: `${stepNoun(step)} fails`, what: stepNoun(step), ...volume };
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

/** Conditions that others set, and without which a pod is not ready. */
function readinessGates({ status }: PodReport): Finding[] {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.reason !== 'ReadinessGatesNotReady') return [];
  const cause = 'a readiness gate is not open';
  return [{ kind: 'unready', summary: cause, sentences: [sentence(ready.message ?? cause)] }];
}

function deadline(report: PodReport, nowMs: number): Finding[] {
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs === undefined || report.worker !== 'syncing') return [];
  const limit = durationText((report.pod.spec.activeDeadlineSeconds ?? 0) * 1000);
  const text = `It may be active for ${limit} in all: it is ended ${inText(nowMs + leftMs, nowMs)}.`;
  return [{ kind: 'note', summary: 'it has a deadline', sentences: [text] }];
}
