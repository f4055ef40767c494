import { parseDurationMs } from '../../base/duration.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { activeTimeLeft } from '../sync/active-deadline.ts';
import { endText, lastEnd } from './container-end.ts';
import type { ExplainedContainer } from './explained-container.ts';
import type { Finding } from './finding.ts';
import { errorText, inText, quoted, sentence, timesText } from './plain-words.ts';
import { podName } from './pod-name.ts';

/** Not a trouble of this container: it has not had its turn. */
const NOT_YET: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

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
  return reason === 'CrashLoopBackOff' ? [keepsEnding(container, message)] : [cannotStart(container, reason, message)];
}

function keepsEnding(container: ExplainedContainer, message: string): Finding {
  const { title, status } = container;
  const end = lastEnd(container);
  const isNeverUp = end?.reason === 'StartError';
  const count = timesText(status.restartCount + 1);
  return {
    kind: 'blocked',
    cause: isNeverUp ? `${title} cannot be started` : `${title} keeps ending`,
    sentences: [
      sentence(isNeverUp ? `the start of ${title} was tried ${count}` : `${title} has ended ${count}`),
      ...(end ? [sentence(`the last time, it ${endText(end, container)}`)] : []),
      ...expectation(container, end?.exitCode),
      backOffText(container, message),
      ...(end?.reason === 'Error' && !end.message ? [logHint(container)] : []),
    ],
  };
}

/** A program that thinks it is done is a misunderstanding, not a crash. */
function expectation({ report, role }: ExplainedContainer, exitCode: number | undefined): string[] {
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
  const { cause, text } = failureOf(container, reason, message);
  const end = lastEnd(container);
  const before = end ? [sentence(`before that, it ${endText(end, container)}`)] : [];
  return { kind: 'blocked', cause, sentences: [sentence(text), retryText(container), ...before] };
}

interface Failure {
  readonly cause: string;
  readonly text: string;
}

function failureOf({ title, spec }: ExplainedContainer, reason: string, message: string): Failure {
  const image = quoted(spec.image ?? '');
  switch (reason) {
    case 'ErrImagePull':
    case 'ImagePullBackOff':
    case 'RegistryUnavailable':
    case 'SignatureValidationFailed': {
      const error = errorText(message.replace(/^Back-off pulling image "[^"]*": (?:\w+: )?/, ''));
      return { cause: `image ${image} cannot be pulled`, text: `the pull of ${image} for ${title} failed: ${error}` };
    }
    case 'ErrImageNeverPull': {
      const text = `${title} needs image ${image}, and its pull policy is Never: it has to be brought here by other means`;
      return { cause: `image ${image} is not on this machine`, text };
    }
    case 'InvalidImageName':
      return {
        cause: `${image} is not the name of an image`,
        text: `${title} cannot start: ${errorText(message)}`,
      };
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
      return { cause: `${title} cannot be created`, text: `${title} could not be created: ${errorText(message)}` };
    case 'RunContainerError':
      return { cause: `${title} cannot be started`, text: `${title} could not be started: ${errorText(message)}` };
    default:
      return { cause: `${title} waits`, text: `${title} waits (${reason}): ${errorText(message)}` };
  }
}

/** When the worker tries again. Of several back-offs it tells the first end only. */
function retryText({ report, nowMs }: ExplainedContainer): string {
  const { nextPassMs, pauseEndsMs } = report.progress ?? {};
  const tries = pauseEndsMs ?? nextPassMs;
  if (tries === undefined) return 'It is being tried again.';
  // The worker also wakes for the deadline, and that wake is no other try.
  const leftMs = activeTimeLeft(report.pod, report.status, nowMs);
  if (leftMs !== undefined && tries - nowMs >= leftMs) return 'It is not tried again before its deadline.';
  const isFirst = pauseEndsMs !== undefined && pausedContainers(report) > 1;
  return `It is tried again ${inText(tries, nowMs)}${isFirst ? ' at the earliest' : ''}.`;
}

function pausedContainers({ status }: ExplainedContainer['report']): number {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.filter(({ state }) => PAUSED.has(state?.waiting?.reason ?? '')).length;
}

/** Where there is no last word, the log may have it. */
function logHint({ spec, report }: ExplainedContainer): string {
  return `Its log may tell more: nodelet logs ${podName(report)} -c ${spec.name}`;
}
