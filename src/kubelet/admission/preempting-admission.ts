import type { Pod } from '../../api/generated/core-v1.ts';
import { aborted } from '../../base/aborted.ts';
import type { Log } from '../../base/log.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { Timeline } from '../events/timeline.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { AdmissionDecision } from './admit-pod.ts';
import type { PodPreemption } from './pod-admit-handler.ts';

const PREEMPTED: PodFailure = {
  phase: 'Failed',
  reason: 'Preempting',
  message: 'Preempted in order to admit critical pod',
  disruption: true,
  disruptionMessage: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

export interface PreemptingAdmissionDeps {
  readonly decide: (pod: Pod, otherPods: readonly Pod[]) => AdmissionDecision;
  /** Ends a pod with this status; resolves when none of its containers runs. */
  readonly kill: (pod: Pod, failure: PodFailure) => Promise<void>;
  readonly events: Pick<PodEvents, 'record'>;
  readonly timeline: Pick<Timeline, 'during'>;
  readonly log: Log;
  /** Called when victims have ended. */
  readonly onVictimsEnded: () => void;
}

/**
 * Admits pods, and ends other pods where a critical pod needs their resources.
 *
 * 1. A pod that was admitted for the resources of victims is prepared after they have ended; other pods do not wait.
 * 2. The resources of a victim count as free as soon as its end was requested: the pods that get them wait for it.
 */
export class PreemptingAdmission {
  readonly #deps: PreemptingAdmissionDeps;
  /** The ends of victims, by UID. */
  readonly #endings = new Map<string, Promise<void>>();
  /** What pods that are admitted wait for, by UID. */
  readonly #waits = new Map<string, Promise<unknown>>();

  /** Preempted pods by the resource that was missing. */
  readonly #counts = new Map<string, number>();

  constructor(deps: PreemptingAdmissionDeps) {
    this.#deps = deps;
  }

  /** Returns why the pod cannot run; `undefined` admits it and begins to end its victims. */
  admit(pod: Pod, otherPods: readonly Pod[]): PodFailure | undefined {
    const decision = this.#decide(pod, otherPods);
    if (decision.kind === 'rejected') return { phase: 'Failed', ...decision.rejection };
    const endings = this.#preempt(pod, decision);
    if (endings.length > 0) this.#waits.set(pod.metadata.uid, Promise.all(endings));
    return undefined;
  }

  /** Whether `admit` would admit the pod. Ends no pod. */
  isAdmissible(pod: Pod, otherPods: readonly Pod[]): boolean {
    return this.#decide(pod, otherPods).kind === 'admitted';
  }

  /** As `admit`, for a running pod. `wait`: its resize fits when the victims have ended. */
  admitResize(pod: Pod, otherPods: readonly Pod[]): PodFailure | 'wait' | undefined {
    const decision = this.#decide(pod, otherPods);
    if (decision.kind === 'rejected') return { phase: 'Failed', ...decision.rejection };
    return this.#preempt(pod, decision).length > 0 ? 'wait' : undefined;
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** The first step of a pod: the end of the victims. */
  get step(): PodStep {
    return {
      prepare: async ({ metadata: { uid } }, signal) => {
        const wait = this.#waits.get(uid);
        if (!wait) return;
        await this.#deps.timeline.during(uid, 'preemption', undefined, () => Promise.race([wait, aborted(signal)]));
        signal.throwIfAborted();
        this.#waits.delete(uid);
      },
      release: async ({ metadata: { uid } }) => void this.#waits.delete(uid),
    };
  }

  /** Pods that are being preempted are counted only where that makes no difference. */
  #decide(pod: Pod, otherPods: readonly Pod[]): AdmissionDecision & { readonly waitsForAll?: boolean } {
    const decision = this.#deps.decide(pod, otherPods);
    const fits = decision.kind === 'admitted' && !decision.preemption;
    if (fits || this.#endings.size === 0) return decision;
    const staying = otherPods.filter(({ metadata }) => !this.#endings.has(metadata.uid));
    return { ...this.#deps.decide(pod, staying), waitsForAll: true };
  }

  /** Ends the victims and returns the ends that the pod waits for. */
  #preempt(
    pod: Pod,
    { preemption, waitsForAll }: { readonly preemption?: PodPreemption; readonly waitsForAll?: boolean },
  ): readonly Promise<void>[] {
    const earlier = waitsForAll ? [...this.#endings.values()] : [];
    if (!preemption) return earlier;
    const { victims, resource } = preemption;
    this.#counts.set(resource, (this.#counts.get(resource) ?? 0) + victims.length);
    return [...earlier, ...victims.map((victim) => this.#end(victim, pod))];
  }

  async #end(victim: Pod, critical: Pod): Promise<void> {
    const { events, kill, log, onVictimsEnded } = this.#deps;
    const { uid } = victim.metadata;
    events.record(victim, 'Warning', 'Preempting', PREEMPTED.message);
    log.info('preempting a pod', { pod: nameOf(victim), criticalPod: nameOf(critical) });
    const ending = kill(victim, PREEMPTED).catch((error: unknown) => {
      log.error('cannot preempt a pod', { pod: nameOf(victim), error });
    });
    this.#endings.set(uid, ending);
    await ending;
    this.#endings.delete(uid);
    onVictimsEnded();
  }
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
