import { errorText } from '../../base/error-text.ts';
import { traceWork, type Work } from '../../base/trace-work.ts';
import type { Clock } from '../../host/clock.ts';
import { type ErrorCause, podCauseOf } from '../pod/pod-cause.ts';
import type { StepName } from '../pod/pod-step.ts';

/** Number of steps that are kept of each pod; the oldest are dropped first. */
const STEPS_PER_POD = 200;

/** A unit of work of the agent for a pod. */
export interface Step {
  readonly name: StepName;
  /** The container or image of the step. */
  readonly subject: string | undefined;
  readonly startedMs: number;
  readonly outcome: StepOutcome;
}

export type StepOutcome =
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly tookMs: number }
  | {
      readonly kind: 'failed';
      readonly tookMs: number;
      readonly error: string;
      /** Absent for errors that the agent passes on: those of the runtime, a registry or a hook. */
      readonly cause?: ErrorCause | undefined;
    };

export type StepListener = (uid: string, step: Step) => void;

/**
 * Records the steps of each pod, to show and to explain them.
 *
 * 1. Listeners are called when a step starts and when it ends, in that order.
 * 2. `steps(uid)` is ordered by start; a running step is replaced in place when it ends.
 */
export class Timeline {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Step[]>();
  readonly #listeners = new Set<StepListener>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `work` as a step of the pod and returns or throws what it does. */
  async during<T>(uid: string, name: StepName, subject: string | undefined, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    const running: Step = { name, subject, startedMs: this.#clock.now(), outcome: { kind: 'running' } };
    this.#add(uid, running);
    try {
      const result = await traceWork(() => stepWork(name, subject), work);
      this.#end(uid, running, { kind: 'done', tookMs: this.#clock.monotonic() - began });
      return result;
    } catch (error) {
      const tookMs = this.#clock.monotonic() - began;
      const cause = podCauseOf(error);
      this.#end(uid, running, { kind: 'failed', tookMs, error: errorText(error), ...(cause && { cause }) });
      throw error;
    }
  }

  steps(uid: string): readonly Step[] {
    return this.#pods.get(uid) ?? [];
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: StepListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #add(uid: string, step: Step): void {
    const steps = this.#pods.get(uid) ?? [];
    this.#pods.set(uid, [...steps.slice(1 - STEPS_PER_POD), step]);
    this.#notify(uid, step);
  }

  #end(uid: string, running: Step, outcome: StepOutcome): void {
    const ended = { ...running, outcome };
    const steps = this.#pods.get(uid);
    if (steps)
      this.#pods.set(
        uid,
        steps.map((step) => (step === running ? ended : step)),
      );
    this.#notify(uid, ended);
  }

  #notify(uid: string, step: Step): void {
    for (const listener of this.#listeners) listener(uid, step);
  }
}

function stepWork(name: StepName, subject: string | undefined): Work {
  const key = name === 'image' ? 'container.image.name' : 'k8s.container.name';
  return { name, facts: { [key]: subject } };
}
