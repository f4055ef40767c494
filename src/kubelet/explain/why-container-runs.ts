import type { Probe } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { ProbeKind } from '../probes/probe-results.ts';
import { containerProbe, probeSpec } from '../probes/probe-state.ts';
import { endText, lastEnd } from './container-end.ts';
import { unwrapError } from './error-texts.ts';
import { type ExplainedContainer, isEventOf } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { agoText, durationText, forText, inText, quotedSuffix, sentence, timesText } from './plain-text.ts';
import { failedProbeOutput } from './probe-output.ts';

/** Why a running container is not ready, and notes about it. */
export function whyContainerRuns(container: ExplainedContainer): Finding[] {
  const startedAt = container.status.state?.running?.startedAt;
  const sinceMs = startedAt === undefined ? container.nowMs : parseTime(startedAt);
  if (container.role === 'init') return [initContainerRunning(container, sinceMs), ...restarts(container)];
  return [...unready(container, sinceMs), ...failingLiveness(container, sinceMs), ...restarts(container)];
}

function initContainerRunning({ title, nowMs }: ExplainedContainer, sinceMs: number): Finding {
  return {
    kind: 'unready',
    summary: `${title} is not done yet`,
    sentences: [
      sentence(`${title} has been running ${forText(sinceMs, nowMs)}; what comes after it waits for its end`),
    ],
  };
}

function unready(container: ExplainedContainer, sinceMs: number): Finding[] {
  const { status, spec, title } = container;
  const kind = status.started === false && spec.startupProbe ? 'startup' : 'readiness';
  const probe = containerProbe(spec, kind);
  if (status.ready || probe === undefined) return [];
  const failures = probeFailures(container, kind, sinceMs);
  const summary =
    failures === undefined ? `the ${kind} probe of ${title} has not succeeded yet` : `${title} fails its ${kind} probe`;
  const state = failures === undefined ? notSucceededYet(container, kind, probe, sinceMs) : failures;
  return [
    {
      kind: 'unready',
      summary,
      sentences: [sentence(`${title} runs, but its ${kind} probe ${state}`), ...failureLimit(kind, probe)],
    },
  ];
}

function notSucceededYet({ nowMs }: ExplainedContainer, kind: ProbeKind, probe: Probe, sinceMs: number): string {
  const firstMs = sinceMs + (probe.initialDelaySeconds ?? 0) * 1000;
  if (firstMs > nowMs) return `has not checked it yet: its first check comes ${inText(firstMs, nowMs)}`;
  const every = durationText(probeSpec(kind, probe).periodMs);
  return `has not succeeded yet; it checks every ${every}, and the container started ${agoText(sinceMs, nowMs)}`;
}

/** A container is killed when its startup probe reaches the threshold. */
function failureLimit(kind: ProbeKind, probe: Probe): string[] {
  if (kind !== 'startup') return [];
  const { failureThreshold } = probeSpec(kind, probe);
  return [`After ${failureThreshold} failures in a row it is killed.`];
}

/** `has failed 12 times, the last time 3 s ago: "…"`; `undefined` when no failure of this run is known. */
function probeFailures(
  { report, spec, nowMs }: ExplainedContainer,
  kind: ProbeKind,
  sinceMs: number,
): string | undefined {
  const failures = report.events.flatMap((event) => {
    const isOfThisRun = isEventOf(event, spec.name) && event.atMs >= sinceMs;
    const output = isOfThisRun ? failedProbeOutput(event, kind) : undefined;
    return output === undefined ? [] : [{ output, atMs: event.atMs }];
  });
  const last = failures.at(-1);
  if (last === undefined) return undefined;
  // The number of events is bounded: without the event of the start, failures may be missing too.
  const isComplete = report.events.some(
    (event) => event.reason === 'Started' && isEventOf(event, spec.name) && event.atMs >= sinceMs,
  );
  const count = isComplete ? timesText(failures.length) : `at least ${timesText(failures.length)}`;
  const when = failures.length === 1 ? agoText(last.atMs, nowMs) : `the last time ${agoText(last.atMs, nowMs)}`;
  return `has failed ${count}, ${when}${quotedSuffix(unwrapError(last.output))}`;
}

/** Notes a failing liveness probe before it reaches its threshold. */
function failingLiveness(container: ExplainedContainer, sinceMs: number): Finding[] {
  const { spec, title, report, nowMs } = container;
  const probe = containerProbe(spec, 'liveness');
  if (probe === undefined) return [];
  const { periodMs, failureThreshold } = probeSpec('liveness', probe);
  const isRecent = report.events.some(
    (event) =>
      isEventOf(event, spec.name) &&
      failedProbeOutput(event, 'liveness') !== undefined &&
      event.atMs >= nowMs - 2 * periodMs,
  );
  const failures = probeFailures(container, 'liveness', sinceMs);
  if (!isRecent || failures === undefined) return [];
  const consequence = `After ${failureThreshold} failures in a row it is restarted.`;
  const summary = `${title} fails its liveness probe`;
  return [{ kind: 'note', summary, sentences: [sentence(`the liveness probe of ${title} ${failures}`), consequence] }];
}

function restarts(container: ExplainedContainer): Finding[] {
  const { status, title } = container;
  const end = lastEnd(container);
  if (status.restartCount === 0 || end === undefined) return [];
  const text = `${title} was restarted ${timesText(status.restartCount)}; the one before ${endText(end, container)}`;
  return [{ kind: 'note', summary: `${title} was restarted`, sentences: [sentence(text)] }];
}
