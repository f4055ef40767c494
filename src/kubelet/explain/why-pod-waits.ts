import type { PodReport } from '../server/agent-view.ts';
import { activeTimeLeft } from '../sync/active-deadline.ts';
import type { Finding } from './finding.ts';
import { agoText, errorText, forText, inText, listText, sentence, spanText } from './plain-words.ts';
import { stepDoing, stepNoun } from './step-words.ts';
import type { Step } from './timeline.ts';

/** Steps whose failure is told as the trouble of their container. */
const CONTAINER_STEPS: ReadonlySet<string> = new Set(['image', 'create container', 'start container']);

/** What the pod as a whole waits for: the step that it is in, and what failed before. */
export function whyPodWaits(report: PodReport, nowMs: number): Finding[] {
  return [
    ...stepsUnderWay(report, nowMs),
    ...failedPass(report, nowMs),
    ...sandboxes(report),
    ...readinessGates(report),
    ...deadline(report, nowMs),
  ];
}

export function stepsUnderWay({ steps, events }: PodReport, nowMs: number): Finding[] {
  const running = steps.filter(({ outcome }) => outcome.kind === 'running');
  return running.map((step) => {
    const isPull = events.some(({ reason, atMs }) => reason === 'Pulling' && atMs >= step.startedMs);
    const doing = step.name === 'image' && isPull ? `pulling image "${step.subject}"` : stepDoing(step);
    return {
      kind: 'step',
      cause: `it is ${doing}`,
      sentences: [`It has been ${doing} ${forText(step.startedMs, nowMs)}.`],
    };
  });
}

/** The last pass of the worker, when it failed in its present phase. */
export function failedPass(report: PodReport, nowMs: number): Finding[] {
  const { failure, nextPassMs, phaseSinceMs = 0 } = report.progress ?? {};
  if (failure === undefined || failure.atMs < phaseSinceMs) return [];
  const { cause, what } = failedThing(report, failure.error);
  const row = failure.inARow > 1 ? `, ${failure.inARow} times in a row` : '';
  const again = nextPassMs === undefined ? 'is being tried again' : `is tried again ${inText(nextPassMs, nowMs)}`;
  return [
    {
      kind: 'pod',
      cause,
      sentences: [
        sentence(`${what} failed ${agoText(failure.atMs, nowMs)}${row}: ${errorText(failure.error)}`),
        `It ${again}.`,
      ],
    },
  ];
}

function failedThing({ steps }: PodReport, error: string): { readonly cause: string; readonly what: string } {
  if (error.startsWith('network is not ready')) {
    return { cause: 'the network of the runtime is not ready', what: 'the creation of its sandbox' };
  }
  const step = steps.findLast((each) => isFailedWith(each, error));
  if (step === undefined) return { cause: 'the last look at it failed', what: 'the last look at it' };
  return { cause: `${stepNoun(step)} fails`, what: stepNoun(step) };
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
      cause: `the runtime has ${ready.length} sandboxes for it`,
      sentences: [`The runtime has ${ready.length} live sandboxes for it (${ids}); they are replaced by a new one.`],
    },
  ];
}

/** Conditions that others set, and without which a pod is not ready. */
function readinessGates({ status }: PodReport): Finding[] {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.reason !== 'ReadinessGatesNotReady') return [];
  const cause = 'a readiness gate is not open';
  return [{ kind: 'unready', cause, sentences: [sentence(ready.message ?? cause)] }];
}

function deadline(report: PodReport, nowMs: number): Finding[] {
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs === undefined || report.worker !== 'syncing') return [];
  const limit = spanText((report.pod.spec.activeDeadlineSeconds ?? 0) * 1000);
  const text = `It may be active for ${limit} in all: it is ended ${inText(nowMs + leftMs, nowMs)}.`;
  return [{ kind: 'note', cause: 'it has a deadline', sentences: [text] }];
}
