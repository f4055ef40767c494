import type { ContainerState } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { PodEvent } from '../events/pod-events.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { type ExplainedContainer, isEventOf } from './explained-container.ts';
import { killCause } from './kill-cause.ts';
import { agoText, unwrapError, quotedSuffix } from './plain-text.ts';
import { killingProbeOutput, killingProbe } from './probe-output.ts';

type End = NonNullable<ContainerState['terminated']>;

/** What shells, the kernel and runtimes mean by an exit code. */
const EXIT_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'its command cannot be executed'],
  [127, 'its command was not found'],
  [130, 'SIGINT'],
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
]);

/** A container ends so long after its grace period, at the latest. */
const SLACK_SECONDS = 5;

/** The last end of a container, if it ever ended. */
export function lastEnd({ status }: ExplainedContainer): End | undefined {
  return status.state?.terminated ?? status.lastState?.terminated;
}

/** `ended 22 s ago with exit code 1: "no such host"`; completes `container web …`. */
export function endText(end: End, container: ExplainedContainer): string {
  const when = end.finishedAt === undefined ? '' : ` ${agoText(parseTime(end.finishedAt), container.nowMs)}`;
  switch (end.reason) {
    case 'OOMKilled':
      return `was killed${when} for its use of memory (OOMKilled): ${memoryText(container)}`;
    case 'ContainerStatusUnknown':
      return 'is gone: the runtime has lost every trace of it';
    case 'RestartingAllContainers':
      return 'was removed when all containers of its pod were started anew';
    case 'StartError':
      return `could not be started${when}: ${unwrapError(end.message ?? '')}`;
    default:
      return `ended${when} with exit code ${codeText(end.exitCode)}${causeText(end, container)}${ownOutput(end, container)}`;
  }
}

/** `: "no such host"`; where the cause of its end has words of its own, which is which is said. */
function ownOutput(end: End, container: ExplainedContainer): string {
  const words = quotedSuffix(end.message);
  return words === '' || killedByProbe(end, container) === undefined ? words : `; its own last words${words}`;
}

function codeText(exitCode: number): string {
  const meaning = EXIT_CODES.get(exitCode);
  return meaning === undefined ? String(exitCode) : `${exitCode} (${meaning})`;
}

function memoryText({ spec }: ExplainedContainer): string {
  const limit = spec.resources?.limits?.['memory'];
  if (limit !== undefined) return `it needs more than its limit of ${limit}`;
  return 'it has no limit of its own, so the memory of its pod or of this machine ran out';
}

/** An end that the agent brought about has a cause that no exit code tells. */
function causeText(end: End, container: ExplainedContainer): string {
  const kill = killEvent(end, container);
  const cause = killCause(kill?.message ?? '');
  if (kill === undefined || cause === undefined) return '';
  const startedMs = end.startedAt === undefined ? 0 : parseTime(end.startedAt);
  return `, killed because ${cause}${killingProbeOutput(kill, container.spec.name, container.report.events, startedMs)}`;
}

/** Whether the agent itself ended the container, so that its exit code says nothing of it. */
export function wasKilledByAgent(end: End, container: ExplainedContainer): boolean {
  return killCause(killEvent(end, container)?.message ?? '') !== undefined;
}

/** The probe for whose failure the container was ended. */
export function killedByProbe(end: End, container: ExplainedContainer): 'liveness' | 'startup' | undefined {
  return killingProbe(killEvent(end, container)?.message ?? '');
}

/** The event of the agent's own stop, if that is how the container ended. */
function killEvent(end: End, { spec, report }: ExplainedContainer): PodEvent | undefined {
  const endedMs = end.finishedAt === undefined ? 0 : parseTime(end.finishedAt) + 1000; // whole seconds, cut off
  const kill = report.events.findLast(
    (event) => event.reason === 'Killing' && isEventOf(event, spec.name) && event.atMs <= endedMs,
  );
  const earliestMs = endedMs - (specGracePeriod(report.pod) + SLACK_SECONDS) * 1000;
  return kill === undefined || kill.atMs < earliestMs ? undefined : kill;
}

/** What the postStart hook said, where its failure was the end of the container. */
export function hookFailure(container: ExplainedContainer): string | undefined {
  const { report, spec } = container;
  const end = lastEnd(container);
  if (end === undefined || !killEvent(end, container)?.message.includes('FailedPostStartHook')) return undefined;
  const hook = report.steps.findLast(({ name, subject }) => name === 'postStart hook' && subject === spec.name);
  return hook?.outcome.kind === 'failed' ? unwrapError(hook.outcome.error) : undefined;
}
