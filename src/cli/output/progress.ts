import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { visibleText } from '../../base/visible-text.ts';
import type { PodEvent } from '../../kubelet/events/pod-events.ts';
import { ABANDONED, type Step } from '../../kubelet/events/timeline.ts';
import type { AgentEvent } from '../../kubelet/explain/agent-view.ts';
import { configTrouble } from '../../kubelet/explain/describe-error.ts';
import { unwrapError } from '../../kubelet/explain/error-texts.ts';
import { volumeTrouble } from '../../kubelet/explain/volume-words.ts';
import { manifestErrorText } from '../../kubelet/local-api/problem-text.ts';
import { manifestName } from '../../kubelet/pod/manifest-name.ts';
import { containerEnds } from './container-ends.ts';
import { eventLine } from './event-line.ts';
import { type Colour, type Paint, plain } from './paint.ts';
import { isCompleting, type PodOutcome, podOutcome } from './pod-outcome.ts';
import { podSummary } from './pod-summary.ts';

/** Steps by the word that a user sees. */
const LABELS: Readonly<Record<string, string>> = {
  'create container': 'container',
  'postStart hook': 'postStart',
  'preStop hook': 'preStop',
  'start container': 'container',
  'stop container': 'stop',
  'stop sandbox': 'stop',
};

/** Not worth a line when they go well. */
const QUIET: ReadonlySet<string> = new Set(['directories', 'cgroup', 'create container', 'remove']);

const LABEL_WIDTH = 10;

interface ProgressOptions {
  readonly nodeName: string;
  /** Of the longest pod name that is expected. */
  readonly nameWidth: number;
  /** The working folder: what is below it is named as the user would. */
  readonly here: string;
  readonly paint?: Paint;
}

/** What has been told of a pod. */
interface ShownPod {
  /** `namespace/name` */
  readonly name: string;
  /** Wall-clock time of its first step. */
  beganMs: number | undefined;
  outcome: PodOutcome;
  /** The last one. */
  status: PodStatus;
  /** While it is, that its containers end or fail their probes is no news. */
  isStopping: boolean;
  /** When a container was started, in wall-clock time. */
  readonly started: Map<string, number>;
  /** Containers that were stopped to be started again, and whose end is told thereby. */
  readonly stopped: Set<string>;
  /** Texts that are told once. */
  readonly once: Set<string>;
  /** Of failed steps and warnings. */
  readonly errors: Set<string>;
}

/**
 * Turns what the agent tells into lines for a user, each thing once: a step that is repeated without news is not
 * worth a line, nor is an event that says what a failed step has said already.
 */
export class Progress {
  readonly #options: ProgressOptions;
  readonly #paint: Paint;
  readonly #pods = new Map<string, ShownPod>();
  readonly #problems = new Set<string>();

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#paint = options.paint ?? plain;
  }

  /** The lines that `event` is worth, without line feeds; they have no escape sequences but the paint's. */
  lines(event: AgentEvent, nowMs: number): string[] {
    switch (event.kind) {
      case 'manifest':
        return event.report.errors.flatMap((manifestError) => this.problem(event.report.source, manifestError));
      case 'step':
        return this.#of(event.pod, this.#stepTexts(event.pod, event.step));
      case 'event':
        return this.#of(event.pod, this.#eventTexts(event.pod, event.event));
      case 'status':
        return this.#of(event.pod, this.#statusTexts(event.pod, event.status, nowMs));
      case 'gone':
        this.#pods.delete(event.pod.metadata.uid);
        return this.#of(event.pod, [this.#mark('dim', '○', 'gone')]);
      default:
        return assertNever(event);
    }
  }

  /** Whether it is the first time that something, by its step, its event or here, tells this failure of a pod. */
  isNewError(pod: string, error: string): boolean {
    const told = this.#pods.values().find(({ name }) => name === pod);
    const text = unwrapError(error);
    if (told === undefined) return true;
    if (isShown(told, text)) return false;
    told.errors.add(text);
    return true;
  }

  /** Something that all pods need. */
  ready(what: string, tookMs: number): string {
    return this.#mark('green', '✓', row(what, '', elapsedText(tookMs)));
  }

  /** A manifest that cannot be used, told once: `web.yaml:7:5: spec.containers: Required value`. */
  problem(location: string, message: string): string[] {
    const here = `${this.#options.here}/`;
    const full = manifestErrorText(location, message);
    const text = full.startsWith(here) ? full.slice(here.length) : full;
    if (this.#problems.has(text)) return [];
    this.#problems.add(text);
    return [this.#mark('red', '✗', text)];
  }

  #of(pod: Pod, texts: readonly string[]): string[] {
    const name = manifestName(pod, this.#options.nodeName).padEnd(this.#options.nameWidth);
    return texts.map((text) => `${name}  ${text}`.trimEnd());
  }

  #stepTexts(pod: Pod, { name, subject = '', outcome, startedMs }: Step): string[] {
    const told = this.#toldOf(pod);
    told.beganMs ??= startedMs;
    if (name === 'sandbox') told.isStopping = false;
    if (outcome.kind === 'running') return [];
    const label = stepLabel(pod, name, subject);
    if (outcome.kind === 'failed') {
      if (outcome.error === ABANDONED) told.isStopping = true;
      // A stop that is given up for a quicker one is no failure.
      if (told.isStopping && (outcome.error === ABANDONED || name === 'stop container')) return [];
      return this.#failure(told, label, subject, unwrapError(outcome.error), { shown: describeStepError(pod, outcome.error) });
    }
    const isEmpty = name === 'volumes' && !pod.spec.volumes?.length;
    const key = `${name} ${subject}`;
    if (name === 'start container') told.started.set(subject, startedMs);
    if (name === 'stop container' && !told.isStopping) {
      told.stopped.add(subject);
      told.once.delete(`start container ${subject}`); // its next start is news again
      told.once.delete(key);
    }
    // Of an init container its end is what matters.
    if (QUIET.has(name) || isEmpty || label === 'init' || told.once.has(key)) return [];
    told.once.add(key);
    const present = told.once.has(`present ${subject}`) ? 'already here  ' : '';
    const shown = name === 'stop sandbox' ? 'sandbox' : subject;
    return [this.#mark('green', '✓', row(label, shown, `${present}${elapsedText(outcome.tookMs)}`))];
  }

  #eventTexts(pod: Pod, event: PodEvent): string[] {
    const told = this.#toldOf(pod);
    const { reason, message } = event;
    const isEnd = reason === 'Killing' && message.startsWith('Stopping container');
    // Sidecars are stopped when their pod is done, which is news.
    if (isEnd && !isCompleting(pod, told.status)) told.isStopping = true;
    const present = /^Container image "(.+)" already present on machine/.exec(message)?.[1];
    if (present) told.once.add(`present ${present}`);
    const pulling = /^Pulling image "(.+)"$/.exec(message)?.[1];
    if (pulling) return this.#once(told, this.#mark('dim', '…', row('image', pulling, 'pulling')));
    const news = eventLine(event);
    if (news === undefined || told.isStopping) return [];
    const { label, subject, text, always } = news;
    if (always) return [this.#mark('yellow', '!', row(label, subject, text))];
    return this.#failure(told, label, subject, text, { colour: 'yellow' });
  }

  /** A step and the event about it tell of one failure, in either order: the first one is enough. */
  #failure(
    told: ShownPod,
    label: string,
    subject: string,
    error: string,
    { colour = 'red', shown = error }: { readonly colour?: Colour; readonly shown?: string },
  ): string[] {
    if (isShown(told, error)) return [];
    told.errors.add(error);
    return [this.#mark(colour, colour === 'red' ? '✗' : '!', row(label, subject, shown))];
  }

  #statusTexts(pod: Pod, status: PodStatus, nowMs: number): string[] {
    const told = this.#toldOf(pod);
    told.status = status;
    if (told.isStopping) return [];
    return [...this.#endTexts(status, told, nowMs), ...this.#outcomeTexts(pod, status, told, nowMs)];
  }

  /** Containers that ended since the last status. */
  #endTexts(status: PodStatus, told: ShownPod, nowMs: number): string[] {
    return containerEnds(status).flatMap(({ label, name, count, end, isOver }) => {
      const key = `end ${name} ${count}`;
      if (told.once.has(key)) return [];
      told.once.add(key);
      if (told.stopped.delete(name)) return [];
      const startedMs = told.started.get(name);
      const span = startedMs === undefined || !isOver ? '' : `  ${elapsedText(nowMs - startedMs)}`;
      told.once.delete(`start container ${name}`); // its next start is news again
      const ok = end.exitCode === 0;
      const why = end.reason && end.reason !== 'Completed' && end.reason !== 'Error' ? ` (${end.reason})` : '';
      return [
        this.#mark(ok ? 'green' : 'yellow', ok ? '✓' : '!', row(label, name, `exit ${end.exitCode}${why}${span}`)),
      ];
    });
  }

  #outcomeTexts(pod: Pod, status: PodStatus, told: ShownPod, nowMs: number): string[] {
    const outcome = podOutcome(status);
    if (outcome === told.outcome) return [];
    told.outcome = outcome;
    const isFirst = !told.once.has(outcome);
    told.once.add(outcome);
    const span = told.beganMs === undefined || !isFirst ? '' : ` in ${elapsedText(nowMs - told.beganMs)}`;
    switch (outcome) {
      case 'ready':
        return [
          this.#mark('green', '●', `ready${span}`),
          ...podSummary(pod, status).flatMap((text) => this.#once(told, `  ${visibleText(text)}`)),
        ];
      case 'succeeded':
        return [this.#mark('green', '●', `done${span}`)];
      case 'failed':
        return [this.#mark('red', '✗', failedText(status, told))];
      case 'pending':
        return isCompleting(pod, status) ? [] : [this.#mark('yellow', '○', 'not ready any more')];
    }
  }

  #toldOf({ metadata }: Pod): ShownPod {
    const told = this.#pods.get(metadata.uid) ?? newShownPod(`${metadata.namespace}/${metadata.name}`);
    this.#pods.set(metadata.uid, told);
    return told;
  }

  #once(told: ShownPod, text: string): string[] {
    if (told.once.has(text)) return [];
    told.once.add(text);
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

function describeStepError({ spec }: Pod, error: string): string {
  const text = unwrapError(error);
  return (volumeTrouble(spec, text) ?? configTrouble(text))?.text ?? text;
}

/** Whether a failure has been told, perhaps with more words around it. */
function isShown({ errors }: ShownPod, error: string): boolean {
  return [...errors].some((known) => known.includes(error) || error.includes(known));
}

/** `failed: Evicted: The node was low on resource: memory`; without what an event has said already. */
function failedText({ reason, message = '' }: PodStatus, told: ShownPod): string {
  const refusal = /^Pod was rejected: (.*)$/s.exec(message)?.[1];
  const what = refusal === undefined ? 'failed' : 'refused';
  const why = refusal ?? message;
  const said = why !== '' && isShown(told, unwrapError(why)) ? [] : [reason, why].filter(Boolean);
  return [what, ...said].join(': ');
}

function stepLabel({ spec }: Pod, name: string, subject: string): string {
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
