import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { visibleText } from '../../base/visible-text.ts';
import type { PodEvent } from '../../kubelet/events/pod-events.ts';
import type { Step } from '../../kubelet/events/timeline.ts';
import type { AgentEvent } from '../../kubelet/explain/agent-view.ts';
import { describeConfigError, describeVolumeError } from '../../kubelet/explain/describe-error.ts';
import { unwrapError } from '../../kubelet/explain/error-texts.ts';
import { killCause } from '../../kubelet/explain/kill-cause.ts';
import { manifestErrorText } from '../../kubelet/local-api/manifest-error-text.ts';
import { manifestName } from '../../kubelet/pod/manifest-name.ts';
import type { ErrorCause } from '../../kubelet/pod/pod-cause.ts';
import { rejectionMessage } from '../../kubelet/pod/pod-failure.ts';
import { containerEnds } from './container-ends.ts';
import { eventLine } from './event-line.ts';
import { type Colour, type Paint, plain } from './paint.ts';
import { isCompleting, type PodOutcome, podOutcome } from './pod-outcome.ts';
import { podSummary } from './pod-summary.ts';

/** Labels of steps that differ from their name. */
const LABELS: Readonly<Partial<Record<Step['name'], string>>> = {
  'create container': 'container',
  'postStart hook': 'postStart',
  'preStop hook': 'preStop',
  'start container': 'container',
  'stop container': 'stop',
  'stop sandbox': 'stop',
};

/** Steps that are shown only when they fail. */
const QUIET: ReadonlySet<Step['name']> = new Set(['directories', 'cgroup', 'create container', 'remove']);

const LABEL_WIDTH = 10;

interface ProgressOptions {
  readonly nodeName: string;
  /** Width of the longest pod name. */
  readonly nameWidth: number;
  /** The working folder: paths below it are shown relative to it. */
  readonly here: string;
  readonly paint?: Paint;
}

/** What the lines of a pod have shown so far. */
interface ShownPod {
  /** `namespace/name` */
  readonly name: string;
  /** Wall-clock time of its first step. */
  beganMs: number | undefined;
  outcome: PodOutcome;
  /** The latest one. */
  status: PodStatus;
  /** Ends and failed probes of containers are not shown while the pod stops. */
  isStopping: boolean;
  /** Wall-clock start of each container. */
  readonly started: Map<string, number>;
  /** Containers that the agent stopped to restart them: their end is not shown again. */
  readonly stopped: Set<string>;
  /** Texts that are shown once. */
  readonly once: Set<string>;
  /** Errors of failed steps and warnings. */
  readonly errors: Set<string>;
}

/**
 * Turns events of the agent into lines for a user. Each line appears once: a repeated step has no second line, and an
 * event has none that repeats the error of a failed step.
 */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #paint: Paint;
  readonly #pods = new Map<string, ShownPod>();
  readonly #manifestErrors = new Set<string>();

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#paint = options.paint ?? plain;
  }

  /** Returns the lines of `event`, without line feeds; their only escape sequences are those of the paint. */
  lines(event: AgentEvent, nowMs: number): string[] {
    switch (event.kind) {
      case 'manifest':
        return event.report.errors.flatMap((error) => this.manifestError(event.report.source, error));
      case 'step':
        return this.#podLines(event.pod, this.#stepTexts(event.pod, event.step));
      case 'event':
        return this.#podLines(event.pod, this.#eventTexts(event.pod, event.event));
      case 'status':
        return this.#podLines(event.pod, this.#statusTexts(event.pod, event.status, nowMs));
      case 'gone':
        this.#pods.delete(event.pod.metadata.uid);
        return this.#podLines(event.pod, [this.#mark('dim', '○', 'gone')]);
      default:
        return assertNever(event);
    }
  }

  /** Whether neither a step, nor an event, nor an earlier call has shown this error of a pod. */
  isNewError(pod: string, error: string): boolean {
    const shown = this.#pods.values().find(({ name }) => name === pod);
    const text = unwrapError(error);
    if (shown === undefined) return true;
    if (isShown(shown, text)) return false;
    shown.errors.add(text);
    return true;
  }

  /** The line of something that all pods need. */
  ready(what: string, tookMs: number): string {
    return this.#mark('green', '✓', row(what, '', elapsedText(tookMs)));
  }

  /** Shows an error of a manifest once: `web.yaml:7:5: spec.containers: Required value`. */
  manifestError(location: string, message: string): string[] {
    const here = `${this.#options.here}/`;
    const full = manifestErrorText(location, message);
    const text = full.startsWith(here) ? full.slice(here.length) : full;
    if (this.#manifestErrors.has(text)) return [];
    this.#manifestErrors.add(text);
    return [this.#mark('red', '✗', text)];
  }

  #podLines(pod: Pod, texts: readonly string[]): string[] {
    const name = manifestName(pod, this.#options.nodeName).padEnd(this.#options.nameWidth);
    return texts.map((text) => `${name}  ${text}`.trimEnd());
  }

  #stepTexts(pod: Pod, { name, subject = '', outcome, startedMs }: Step): string[] {
    const shown = this.#shownPod(pod);
    shown.beganMs ??= startedMs;
    if (name === 'sandbox') shown.isStopping = false;
    if (outcome.kind === 'running') return [];
    const label = stepLabel(pod, name, subject);
    if (outcome.kind === 'failed') {
      const isAbandoned = outcome.cause?.kind === 'podEnding';
      if (isAbandoned) shown.isStopping = true;
      // A stop that is abandoned for one with a shorter grace period has not failed.
      if (shown.isStopping && (isAbandoned || name === 'stop container')) return [];
      const error = unwrapError(outcome.error);
      return this.#errorLine(shown, label, subject, error, { text: describeStepError(outcome.cause, error) });
    }
    const isEmpty = name === 'volumes' && !pod.spec.volumes?.length;
    const key = `${name} ${subject}`;
    if (name === 'start container') shown.started.set(subject, startedMs);
    if (name === 'stop container' && !shown.isStopping) {
      shown.stopped.add(subject);
      shown.once.delete(`start container ${subject}`); // its next start is shown again
      shown.once.delete(key);
    }
    // The start of an init container is not shown, only its end.
    if (QUIET.has(name) || isEmpty || label === 'init' || shown.once.has(key)) return [];
    shown.once.add(key);
    const present = shown.once.has(`present ${subject}`) ? 'already here  ' : '';
    const target = name === 'stop sandbox' ? 'sandbox' : subject;
    return [this.#mark('green', '✓', row(label, target, `${present}${elapsedText(outcome.tookMs)}`))];
  }

  #eventTexts(pod: Pod, event: PodEvent): string[] {
    const shown = this.#shownPod(pod);
    const { cause } = event;
    // A pod that is done stops its sidecars; its outcome is shown after that.
    if (killCause(event) === 'podStopping' && !isCompleting(pod, shown.status)) shown.isStopping = true;
    if (cause?.kind === 'imagePresent') shown.once.add(`present ${cause.image}`);
    if (cause?.kind === 'imagePulling') {
      return this.#once(shown, this.#mark('dim', '…', row('image', cause.image, 'pulling')));
    }
    const line = eventLine(event);
    if (line === undefined || shown.isStopping) return [];
    const { label, subject, text, always } = line;
    if (always) return [this.#mark('yellow', '!', row(label, subject, text))];
    return this.#errorLine(shown, label, subject, text, { colour: 'yellow' });
  }

  /** A step and its event report the same error, in either order: the first one is shown. */
  #errorLine(
    shown: ShownPod,
    label: string,
    subject: string,
    error: string,
    { colour = 'red', text = error }: { readonly colour?: Colour; readonly text?: string },
  ): string[] {
    if (isShown(shown, error)) return [];
    shown.errors.add(error);
    return [this.#mark(colour, colour === 'red' ? '✗' : '!', row(label, subject, text))];
  }

  #statusTexts(pod: Pod, status: PodStatus, nowMs: number): string[] {
    const shown = this.#shownPod(pod);
    shown.status = status;
    if (shown.isStopping) return [];
    return [...this.#endTexts(status, shown, nowMs), ...this.#outcomeTexts(pod, status, shown, nowMs)];
  }

  /** Containers that ended since the last status. */
  #endTexts(status: PodStatus, shown: ShownPod, nowMs: number): string[] {
    return containerEnds(status).flatMap(({ label, name, count, end, isStopped: isOver }) => {
      const key = `end ${name} ${count}`;
      if (shown.once.has(key)) return [];
      shown.once.add(key);
      if (shown.stopped.delete(name)) return [];
      const startedMs = shown.started.get(name);
      const span = startedMs === undefined || !isOver ? '' : `  ${elapsedText(nowMs - startedMs)}`;
      shown.once.delete(`start container ${name}`); // its next start is shown again
      const ok = end.exitCode === 0;
      const why = end.reason && end.reason !== 'Completed' && end.reason !== 'Error' ? ` (${end.reason})` : '';
      return [
        this.#mark(ok ? 'green' : 'yellow', ok ? '✓' : '!', row(label, name, `exit ${end.exitCode}${why}${span}`)),
      ];
    });
  }

  #outcomeTexts(pod: Pod, status: PodStatus, shown: ShownPod, nowMs: number): string[] {
    const outcome = podOutcome(status);
    if (outcome === shown.outcome) return [];
    shown.outcome = outcome;
    const isFirst = !shown.once.has(outcome);
    shown.once.add(outcome);
    const span = shown.beganMs === undefined || !isFirst ? '' : ` in ${elapsedText(nowMs - shown.beganMs)}`;
    switch (outcome) {
      case 'ready':
        return [
          this.#mark('green', '●', `ready${span}`),
          ...podSummary(pod, status).flatMap((text) => this.#once(shown, `  ${visibleText(text)}`)),
        ];
      case 'succeeded':
        return [this.#mark('green', '●', `done${span}`)];
      case 'failed':
        return [this.#mark('red', '✗', failedText(status, shown))];
      case 'pending':
        return isCompleting(pod, status) ? [] : [this.#mark('yellow', '○', 'not ready any more')];
    }
  }

  #shownPod({ metadata }: Pod): ShownPod {
    const shown = this.#pods.get(metadata.uid) ?? newShownPod(`${metadata.namespace}/${metadata.name}`);
    this.#pods.set(metadata.uid, shown);
    return shown;
  }

  #once(shown: ShownPod, text: string): string[] {
    if (shown.once.has(text)) return [];
    shown.once.add(text);
    return [text];
  }

  #mark(colour: Colour, mark: string, text: string): string {
    return `${this.#paint(colour, mark)} ${visibleText(text)}`;
  }
}

function newShownPod(name: string): ShownPod {
  return {
    name,
    beganMs: undefined,
    outcome: 'pending',
    status: {},
    isStopping: false,
    started: new Map(),
    stopped: new Set(),
    once: new Set(),
    errors: new Set(),
  };
}

function describeStepError(cause: ErrorCause | undefined, error: string): string {
  return (describeVolumeError(cause, error) ?? describeConfigError(cause, error))?.text ?? error;
}

/** Whether an error has been shown, perhaps within a longer text. */
function isShown({ errors }: ShownPod, error: string): boolean {
  return [...errors].some((known) => known.includes(error) || error.includes(known));
}

/** `failed: Evicted: The node was low on resource: memory`; without the reason when an event has shown it. */
function failedText(status: PodStatus, shown: ShownPod): string {
  const { reason, message = '' } = status;
  const rejection = rejectionMessage(status);
  const what = rejection === undefined ? 'failed' : 'rejected';
  const why = rejection ?? message;
  const details = why !== '' && isShown(shown, unwrapError(why)) ? [] : [reason, why].filter(Boolean);
  return [what, ...details].join(': ');
}

function stepLabel({ spec }: Pod, name: Step['name'], subject: string): string {
  const init = name === 'start container' ? spec.initContainers?.find((one) => one.name === subject) : undefined;
  if (init) return init.restartPolicy === 'Always' ? 'sidecar' : 'init';
  return LABELS[name] ?? name;
}

function row(label: string, subject: string, detail: string): string {
  return `${label.padEnd(LABEL_WIDTH)} ${subject}${subject === '' ? '' : '  '}${detail}`;
}

/** `95 ms`, `1.4 s` */
export function elapsedText(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
