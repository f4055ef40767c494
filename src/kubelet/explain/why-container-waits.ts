import { formatDurationMs } from '../../base/duration.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { activeTimeLeft } from '../pod/active-deadline.ts';
import type { ErrorCause } from '../pod/pod-cause.ts';
import { endText, hookFailure, killedByProbe, lastEnd, wasKilledByAgent } from './container-end.ts';
import { describeConfigError, type SummarizedError } from './describe-error.ts';
import { pullHelp, unwrapError } from './error-texts.ts';
import { type ExplainedContainer, isEventOf } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { inText, quoted, sentence, timesText } from './plain-text.ts';
import { podName } from './pod-name.ts';

/** Waiting reasons that are no errors of the container. */
const NOT_YET: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing', 'RestartingAllContainers']);

/** Waiting reasons of containers in a back-off. */
const BACKOFF_REASONS: ReadonlySet<string> = new Set([
  'CrashLoopBackOff',
  'ErrImagePull',
  'ImagePullBackOff',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

/** Why a waiting container does not start. */
export function whyContainerWaits(container: ExplainedContainer): Finding[] {
  const { reason = '', message = '' } = container.status.state?.waiting ?? {};
  if (reason === '' || NOT_YET.has(reason)) return [];
  return reason === 'CrashLoopBackOff' ? [crashLoop(container)] : [cannotStart(container, reason, message)];
}

function crashLoop(container: ExplainedContainer): Finding {
  const { title, status } = container;
  const end = lastEnd(container);
  const isNeverUp = end?.reason === 'StartError';
  const count = timesText(status.restartCount + 1);
  const hook = hookFailure(container);
  const probe = end && killedByProbe(end, container);
  const keeps = probe === undefined ? 'keeps ending' : `keeps failing its ${probe} probe`;
  return {
    kind: 'blocked',
    summary: isNeverUp ? `${title} cannot be started` : `${title} ${keeps}`,
    sentences: [
      sentence(isNeverUp ? `the start of ${title} was tried ${count}` : `${title} has ended ${count}`),
      ...(end ? [sentence(`the last time, it ${endText(end, container)}`)] : []),
      ...(hook === undefined ? [] : [sentence(`the hook failed: ${hook}`)]),
      ...(end && !wasKilledByAgent(end, container) ? expectation(container, end.exitCode) : []),
      backoffText(container),
      ...(end?.reason === 'Error' && !end.message && hook === undefined ? [logHint(container)] : []),
    ],
  };
}

/** Explains the restart of a container that exits with code 0. */
function expectation({ report, role }: ExplainedContainer, exitCode: number): string[] {
  const policy = role === 'sidecar' ? 'Always' : (report.pod.spec.restartPolicy ?? 'Always');
  if (exitCode !== 0 || policy !== 'Always') return [];
  return ['It ends without an error, but its restart policy is Always: it is expected to go on running.'];
}

/** A crash back-off begins when the container ends. */
function backoffText(container: ExplainedContainer): string {
  const { report, spec, nowMs } = container;
  const cause = report.events.findLast((event) => event.reason === 'BackOff' && isEventOf(event, spec.name))?.cause;
  const ended = lastEnd(container)?.finishedAt;
  if (cause?.kind !== 'crashBackoff' || ended === undefined) return retryText(container);
  const endsMs = parseTime(ended) + cause.delayMs;
  return `It starts again ${inText(endsMs, nowMs)} (back-off ${formatDurationMs(cause.delayMs)}).`;
}

function cannotStart(container: ExplainedContainer, reason: string, message: string): Finding {
  const { summary, text, help } = describeWaiting(container, reason, message);
  const end = lastEnd(container);
  const before = end ? [sentence(`before that, it ${endText(end, container)}`)] : [];
  return {
    kind: 'blocked',
    summary,
    sentences: [
      sentence(text),
      ...(help === undefined ? [] : [help]),
      ...unavailablePullSecrets(container, reason),
      retryText(container),
      ...before,
    ],
  };
}

const PULL_FAILURES: ReadonlySet<string> = new Set(['ErrImagePull', 'ImagePullBackOff']);

/** The error of a pull does not name the pull secrets that were missing. */
function unavailablePullSecrets({ report }: ExplainedContainer, reason: string): string[] {
  if (!PULL_FAILURES.has(reason)) return [];
  const cause = report.events.findLast((event) => event.reason === 'FailedToRetrieveImagePullSecret')?.cause;
  if (cause?.kind !== 'pullSecretsUnavailable') return [];
  return [`It was tried without pull secrets that are missing or cannot be read: ${cause.names.join(', ')}.`];
}

function describeWaiting(container: ExplainedContainer, reason: string, message: string): SummarizedError {
  const { title, spec } = container;
  const image = quoted(imageVolumeOf(container) ?? spec.image ?? '');
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'RegistryUnavailable':
    case 'SignatureValidationFailed': {
      const error = unwrapError(message);
      const text = `the pull of ${image} for ${title} failed: ${error}`;
      return { summary: `image ${image} cannot be pulled`, text, help: pullHelp(error) };
    }
    case 'ErrImageNeverPull': {
      const text = `${title} needs image ${image}, and its pull policy is Never: it has to be brought here by other means`;
      return { summary: `image ${image} is not on this machine`, text };
    }
    case 'InvalidImageName':
      return {
        summary: `${image} is not the name of an image`,
        text: `${title} cannot start: ${unwrapError(message)}`,
      };
    case 'CreateContainerConfigError':
    case 'CreateContainerError': {
      const known = describeConfigError(createErrorCause(container), message);
      const { text, help } = known ?? { text: `could not be created: ${unwrapError(message)}` };
      return { summary: `${title} cannot be created`, text: `${title} ${text}`, help };
    }
    case 'RunContainerError':
      return { summary: `${title} cannot be started`, text: `${title} could not be started: ${unwrapError(message)}` };
    case 'PostStartHookError': {
      const failed = `the postStart hook of ${title} failed`;
      return { summary: failed, text: `${failed}, and so it was killed: ${unwrapError(message)}` };
    }
    default:
      return { summary: `${title} waits`, text: `${title} waits (${reason}): ${unwrapError(message)}` };
  }
}

/** The image of the volume that the container waits for; `undefined` if it waits for its own. */
function imageVolumeOf({ report, spec }: ExplainedContainer): string | undefined {
  const cause = report.events.findLast((event) => event.reason === 'Failed' && isEventOf(event, spec.name))?.cause;
  return cause?.kind === 'imageVolumeFailed' ? cause.image : undefined;
}

function createErrorCause({ report, spec }: ExplainedContainer): ErrorCause | undefined {
  const step = report.steps.findLast(({ name, subject }) => name === 'create container' && subject === spec.name);
  return step?.outcome.kind === 'failed' ? step.outcome.cause : undefined;
}

/** When the worker tries again. Of several back-offs the first end is known. */
function retryText({ report, nowMs }: ExplainedContainer): string {
  const { nextSyncMs, backoffEndsMs } = report.progress ?? {};
  const tries = backoffEndsMs ?? nextSyncMs;
  if (tries === undefined) return 'It is being tried again.';
  // The worker also wakes for the deadline, which is no retry.
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs !== undefined && tries - nowMs >= leftMs) return 'It is not tried again before its deadline.';
  const isFirst = backoffEndsMs !== undefined && containersInBackoff(report) > 1;
  return `It is tried again ${inText(tries, nowMs)}${isFirst ? ' at the earliest' : ''}.`;
}

function containersInBackoff({ status }: ExplainedContainer['report']): number {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.filter(({ state }) => BACKOFF_REASONS.has(state?.waiting?.reason ?? '')).length;
}

/** Points to the log of a container that ended without a message. */
function logHint({ spec, report }: ExplainedContainer): string {
  return `Its log may say more: nodelet logs ${podName(report)} -c ${spec.name}`;
}
