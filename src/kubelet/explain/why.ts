import type { PodCondition } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { isTerminal } from '../status/pod-phase.ts';
import type { OlderPod, PodReport } from './agent-view.ts';
import { endText } from './container-end.ts';
import { type ExplainedContainer, explainedContainers } from './explained-container.ts';
import { type Finding, byImportance } from './finding.ts';
import { forText, inText, sentence } from './plain-text.ts';
import { podName } from './pod-name.ts';
import { whyContainerRuns } from './why-container-runs.ts';
import { whyContainerWaits } from './why-container-waits.ts';
import { whyEnded, whyRejected, whyStopping } from './why-pod-ends.ts';
import { whyPodWaits } from './why-pod-waits.ts';

/**
 * Why a pod is where it is, in plain sentences: first the verdict, then what it waits for, since when, and what the
 * last errors were, the most telling first.
 */
export function why(report: PodReport, nowMs: number): readonly string[] {
  switch (report.worker) {
    case 'waiting':
      return whyWaiting(report, nowMs);
    case 'syncing':
      return isTerminal(report.status.phase) ? whyEnded(report, nowMs) : whySyncing(report, nowMs);
    case 'terminating':
      return whyStopping(report, nowMs);
    case 'terminated':
      return whyEnded(report, nowMs);
    case 'finished':
      return isRejected(report) ? whyRejected(report) : whyEnded(report, nowMs);
    default:
      return assertNever(report.worker);
  }
}

/** It has no worker, only a status that says so. */
function isRejected({ status, progress, observed }: PodReport): boolean {
  return progress === undefined && observed === undefined && status.phase === 'Failed';
}

const OLDER_POD: Readonly<Record<OlderPod['worker'], string>> = {
  waiting: 'has not started either',
  syncing: 'still runs',
  terminating: 'is stopping its containers',
  terminated: 'has stopped and gives back what it holds',
  finished: 'has ended, but is not removed yet',
};

function whyWaiting(report: PodReport, nowMs: number): string[] {
  const { waitsFor, progress } = report;
  const since = progress ? `, and has waited ${forText(progress.phaseSinceMs, nowMs)}` : '';
  return [
    `${podName(report)} has not started: it waits until an older pod of its name is gone${since}.`,
    ...(waitsFor ? [`The older pod (uid ${waitsFor.uid}) ${OLDER_POD[waitsFor.worker]}.`] : []),
  ];
}

function whySyncing(report: PodReport, nowMs: number): string[] {
  const containers = explainedContainers(report, nowMs);
  const findings = byImportance([...whyPodWaits(report, nowMs), ...containers.flatMap(whyContainer)]);
  const ready = report.status.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  const cause = findings.find(({ kind }) => kind !== 'note')?.summary;
  const nothing = cause === undefined && !isReady ? [nextCheck(report, nowMs)] : [];
  return [summary(podName(report), ready, cause, nowMs), ...mergedSentences(findings), ...nothing];
}

/** What neighbours have to say alike at their end, such as when they are tried again, is said once for both. */
function mergedSentences(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ sentences }, at) => {
    const next = findings[at + 1]?.sentences ?? [];
    const isShared = sentences.length > 1 && next.length > 1 && sentences.at(-1) === next.at(-1);
    return isShared ? sentences.slice(0, -1) : sentences;
  });
}

function summary(name: string, ready: PodCondition | undefined, cause: string | undefined, nowMs: number): string {
  const since = ready?.lastTransitionTime ? ` (${forText(parseTime(ready.lastTransitionTime), nowMs)})` : '';
  if (ready?.status === 'True') return `${name} is running and ready${since}.`;
  return `${name} is not ready${since}${cause === undefined ? '' : `: ${cause}`}.`;
}

/** An ephemeral container is worth a word, but never the reason for how its pod is. */
function whyContainer(container: ExplainedContainer): Finding[] {
  const findings = findingsOf(container);
  return container.role === 'ephemeral' ? findings.map((finding) => ({ ...finding, kind: 'note' })) : findings;
}

function findingsOf(container: ExplainedContainer): Finding[] {
  const { state } = container.status;
  if (state?.running) return whyContainerRuns(container);
  return state?.terminated ? whyContainerEnded(container) : whyContainerWaits(container);
}

/** It may start again at once, or be done while others of its pod still run. */
function whyContainerEnded(container: ExplainedContainer): Finding[] {
  const { title, status, role } = container;
  const end = status.state?.terminated;
  if (end === undefined || (role === 'init' && end.exitCode === 0)) return [];
  return [{ kind: 'ended', summary: `${title} has ended`, sentences: [sentence(`${title} ${endText(end, container)}`)] }];
}

function nextCheck({ progress }: PodReport, nowMs: number): string {
  if (progress?.nextSyncMs === undefined) return 'Its worker is looking at it right now.';
  return `Nothing is under way; its worker looks again ${inText(progress.nextSyncMs, nowMs)}, or when something changes.`;
}
