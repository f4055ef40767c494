import type { Clock } from '../../host/clock.ts';
import type { StepName } from '../pod/pod-step.ts';
import { DurationWindow, type WindowSummary } from './duration-window.ts';
import type { Timeline } from './timeline.ts';

/** The steps of a starting pod, in their order. */
export const START_STEPS = [
  'preemption',
  'directories',
  'log links',
  'cgroup',
  'volumes',
  'resource claims',
  'sandbox',
  'image',
  'create container',
  'start container',
  'postStart hook',
] as const satisfies readonly StepName[];

export type StartStepName = (typeof START_STEPS)[number];

/** Upper bounds of the metric, in seconds. */
const BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
] as const;

/** How long one step of starting pods has taken on this node. */
export interface StartStep {
  readonly step: StartStepName;
  /** Of the last hour; absent: the step was not done in it. */
  readonly lastHour?: WindowSummary | undefined;
  /** Since the start of the agent. Upper bounds in seconds, each with the number of steps up to it. */
  readonly buckets: ReadonlyArray<readonly [upperBound: number, count: number]>;
  readonly sumSeconds: number;
  readonly count: number;
}

interface Recorded {
  readonly window: DurationWindow;
  /** Not cumulative; the last one is for what is above all bounds. */
  readonly counts: number[];
  sumSeconds: number;
}

/** Keeps how long the steps of starting pods took. Steps that fail do not count. Its memory is bounded. */
export class StartSteps {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #recorded = new Map<StepName, Recorded>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns the function that ends the subscription. */
  follow(timeline: Pick<Timeline, 'subscribe'>): () => void {
    return timeline.subscribe((_, { name, outcome }) => {
      if (outcome.kind === 'done') this.#record(name, outcome.tookMs);
    });
  }

  /** The steps that were done, in the order of a start. */
  all(): readonly StartStep[] {
    const nowMs = this.#clock.monotonic();
    return START_STEPS.flatMap((step) => {
      const recorded = this.#recorded.get(step);
      if (!recorded) return [];
      const { window, counts, sumSeconds } = recorded;
      let count = 0;
      const buckets = BUCKETS.map((bound, index) => {
        count += counts[index] ?? 0;
        return [bound, count] as const;
      });
      return [{ step, lastHour: window.summary(nowMs), buckets, sumSeconds, count: count + (counts.at(-1) ?? 0) }];
    });
  }

  #record(name: StepName, tookMs: number): void {
    if (!START_STEPS.some((step) => step === name)) return;
    const recorded = this.#recorded.get(name) ?? emptyRecord();
    this.#recorded.set(name, recorded);
    recorded.window.add(tookMs, this.#clock.monotonic());
    const seconds = tookMs / 1000;
    const index = BUCKETS.findIndex((bound) => seconds <= bound);
    const at = index === -1 ? BUCKETS.length : index;
    recorded.counts[at] = (recorded.counts[at] ?? 0) + 1;
    recorded.sumSeconds += seconds;
  }
}

function emptyRecord(): Recorded {
  return { window: new DurationWindow(), counts: new Array<number>(BUCKETS.length + 1).fill(0), sumSeconds: 0 };
}
