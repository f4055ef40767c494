import { parseDurationMs } from '../../base/duration.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { activeTimeLeft } from '../pod/active-deadline.ts';
import { configTrouble } from './describe-error.ts';
import { endText, hookFailure, lastEnd, killedByProbe, wasKilledByAgent } from './container-end.ts';
import type { ExplainedContainer } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { inText, quoted, sentence, timesText } from './plain-text.ts';
import { unwrapError } from './error-texts.ts';
import { podName } from './pod-name.ts';
import { pullHelp } from './error-texts.ts';

/** Not a trouble of this container: it has not had its turn. */
const NOT_YET: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing', 'RestartingAllContainers']);

/** Failures that are tried again only when a back-off ends. */
const PAUSED: ReadonlySet<string> = new Set([
  'CrashLoopBackOff',
  'ErrImagePull',
  'ImagePullBackOff',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

/** What keeps a container from starting. */
export function whyContainerWaits(container: ExplainedContainer): Finding[] {
  const { reason = '', message = '' } = container.status.state?.waiting ?? {};
  if (reason === '' || NOT_YET.has(reason)) return [];
  return reason === 'CrashLoopBackOff' ? [crashLoop(container, message)] : [cannotStart(container, reason, message)];
}

function crashLoop(container: ExplainedContainer, message: string): Finding {
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
      backOffText(container, message),
      ...(end?.reason === 'Error' && !end.message && hook === undefined ? [logHint(container)] : []),
    ],
  };
}

/** A program that thinks it is done is a misunderstanding, not a crash. */
function expectation({ report, role }: ExplainedContainer, exitCode: number): string[] {
  const policy = role === 'sidecar' ? 'Always' : (report.pod.spec.restartPolicy ?? 'Always');
  if (exitCode !== 0 || policy !== 'Always') return [];
  return ['It ends without an error, but its restart policy is Always: it is expected to go on running.'];
}

/** kubelet's message has the length of the pause, and a pause begins where the container ended. */
function backOffText(container: ExplainedContainer, message: string): string {
  const delay = /^back-off (\S+) restarting/.exec(message)?.[1];
  const ended = lastEnd(container)?.finishedAt;
  if (delay === undefined || ended === undefined) return retryText(container);
  const endsMs = parseTime(ended) + parseDurationMs(delay);
  return `It starts again ${inText(endsMs, container.nowMs)} (back-off ${delay}).`;
}

function cannotStart(container: ExplainedContainer, reason: string, message: string): Finding {
  const { cause, text, help } = describeWaiting(container, reason, message);
  const end = lastEnd(container);
  const before = end ? [sentence(`before that, it ${endText(end, container)}`)] : [];
  return {
    kind: 'blocked',
    summary: cause,
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

/** A pull that failed for want of credentials says only that it was refused. */
function unavailablePullSecrets({ report }: ExplainedContainer, reason: string): string[] {
  if (!PULL_FAILURES.has(reason)) return [];
  const last = report.events.findLast((event) => event.reason === 'FailedToRetrieveImagePullSecret');
  const names = /\((.*)\)/.exec(last?.message ?? '')?.[1];
  return names === undefined ? [] : [`It was tried without pull secrets that are missing or cannot be read: ${names}.`];
}

interface Failure {
  readonly cause: string;
  readonly text: string;
  /** What it means, or what would put it right. */
  readonly help?: string | undefined;
}

function describeWaiting({ title, spec }: ExplainedContainer, reason: string, message: string): Failure {
  const image = quoted(spec.image ?? '');
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'RegistryUnavailable':
    case 'SignatureValidationFailed': {
      const error = unwrapError(message);
      const text = `the pull of ${image} for ${title} failed: ${error}`;
      return { cause: `image ${image} cannot be pulled`, text, help: pullHelp(error) };
    }
    case 'ErrImageNeverPull': {
      const text = `${title} needs image ${image}, and its pull policy is Never: it has to be brought here by other means`;
      return { cause: `image ${image} is not on this machine`, text };
    }
    case 'InvalidImageName':
      return {
        cause: `${image} is not the name of an image`,
        text: `${title} cannot start: ${unwrapError(message)}`,
      };
    case 'CreateContainerConfigError':
    case 'CreateContainerError': {
      const trouble = configTrouble(message) ?? { text: `could not be created: ${unwrapError(message)}` };
      return { cause: `${title} cannot be created`, text: `${title} ${trouble.text}`, help: trouble.help };
    }
    case 'RunContainerError':
      return { cause: `${title} cannot be started`, text: `${title} could not be started: ${unwrapError(message)}` };
    case 'PostStartHookError': {
      const failed = `the postStart hook of ${title} failed`;
      return { cause: failed, text: `${failed}, and so it was ended: ${unwrapError(message)}` };
    }
    default:
      return { cause: `${title} waits`, text: `${title} waits (${reason}): ${unwrapError(message)}` };
  }
}

/** When the worker tries again. Of several back-offs it tells the first end only. */
function retryText({ report, nowMs }: ExplainedContainer): string {
  const { nextSyncMs: nextPassMs, backoffEndsMs: pauseEndsMs } = report.progress ?? {};
  const tries = pauseEndsMs ?? nextPassMs;
  if (tries === undefined) return 'It is being tried again.';
  // The worker also wakes for the deadline, and that wake is no other try.
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs !== undefined && tries - nowMs >= leftMs) return 'It is not tried again before its deadline.';
  const isFirst = pauseEndsMs !== undefined && containersInBackoff(report) > 1;
  return `It is tried again ${inText(tries, nowMs)}${isFirst ? ' at the earliest' : ''}.`;
}

function containersInBackoff({ status }: ExplainedContainer['report']): number {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.filter(({ state }) => PAUSED.has(state?.waiting?.reason ?? '')).length;
}

/** Where there is no last word, the log may have it. */
function logHint({ spec, report }: ExplainedContainer): string {
  return `Its log may tell more: nodelet logs ${podName(report)} -c ${spec.name}`;
}
