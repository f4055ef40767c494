import type { ContainerState } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { PodEvent } from '../events/pod-events.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import { unwrapError } from './error-texts.ts';
import { type ExplainedContainer, isEventOf } from './explained-container.ts';
import { killCause, killingProbe, killText } from './kill-cause.ts';
import { agoText, quotedSuffix } from './plain-text.ts';
import { killingProbeOutput } from './probe-output.ts';

type End = NonNullable<ContainerState['terminated']>;

/** Exit codes with a meaning by convention of shells, the kernel and runtimes. */
const EXIT_CODES: ReadonlyMap<number, string> = new Map([
  [126, 'its command cannot be executed'],
  [127, 'its command was not found'],
  [130, 'SIGINT'],
  [134, 'SIGABRT'],
  [137, 'SIGKILL'],
  [139, 'SIGSEGV'],
  [143, 'SIGTERM'],
]);

/** Longest time between the end of the grace period and the end of the container. */
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
      return 'is gone: the runtime has no record of it';
    case 'RestartingAllContainers':
      return 'was removed when all containers of its pod were restarted';
    case 'StartError':
      return `could not be started${when}: ${unwrapError(end.message ?? '')}`;
    default:
      return `ended${when} with exit code ${codeText(end.exitCode)}${causeText(end, container)}${ownOutput(end, container)}`;
  }
}

/** `: "no such host"`; labelled where the output of a failed probe is quoted before it. */
function ownOutput(end: End, container: ExplainedContainer): string {
  const words = quotedSuffix(end.message);
  return words === '' || killedByProbe(end, container) === undefined ? words : `; its own output${words}`;
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

/** Why the agent killed the container, which the exit code does not show. */
function causeText(end: End, container: ExplainedContainer): string {
  const kill = killEvent(end, container);
  const cause = killText(kill);
  if (kill === undefined || cause === undefined) return '';
  const startedMs = end.startedAt === undefined ? 0 : parseTime(end.startedAt);
  return `, killed because ${cause}${killingProbeOutput(kill, container.spec.name, container.report.events, startedMs)}`;
}

/** Whether the agent killed the container for a cause of its own, so that the exit code has no meaning. */
export function wasKilledByAgent(end: End, container: ExplainedContainer): boolean {
  return killText(killEvent(end, container)) !== undefined;
}

/** The probe whose failure made the agent kill the container. */
export function killedByProbe(end: End, container: ExplainedContainer): 'liveness' | 'startup' | undefined {
  return killingProbe(killEvent(end, container));
}

/** The `Killing` event of this end, if the agent stopped the container. */
function killEvent(end: End, { spec, report }: ExplainedContainer): PodEvent | undefined {
  const endedMs = end.finishedAt === undefined ? 0 : parseTime(end.finishedAt) + 1000; // truncated to whole seconds
  const kill = report.events.findLast(
    (event) => event.reason === 'Killing' && isEventOf(event, spec.name) && event.atMs <= endedMs,
  );
  const earliestMs = endedMs - (specGracePeriod(report.pod) + SLACK_SECONDS) * 1000;
  return kill === undefined || kill.atMs < earliestMs ? undefined : kill;
}

/** The error of the postStart hook, if the container was killed for it. */
export function hookFailure(container: ExplainedContainer): string | undefined {
  const { report, spec } = container;
  const end = lastEnd(container);
  if (end === undefined || killCause(killEvent(end, container)) !== 'postStartHookFailed') return undefined;
  const hook = report.steps.findLast(({ name, subject }) => name === 'postStart hook' && subject === spec.name);
  return hook?.outcome.kind === 'failed' ? unwrapError(hook.outcome.error) : undefined;
}
