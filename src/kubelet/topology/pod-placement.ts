import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { Clock } from '../../host/clock.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { AllocationError, type HintProvider, type TopologyHint } from './hint-provider.ts';
import { placementChannel } from './placement-channel.ts';
import type { TopologyScope } from './topology-options.ts';
import type { TopologyPolicy } from './topology-policy.ts';

const ANY_NODE: TopologyHint = { affinity: undefined, preferred: false };

export interface PodPlacementDeps {
  /** In kubelet's order: devices, CPUs, memory. */
  readonly providers: readonly HintProvider[];
  readonly policy: TopologyPolicy;
  readonly scope: TopologyScope;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Assigns CPUs, memory and devices to pods: kubelet's topology manager, and the only caller of the providers.
 *
 * 1. One pod at a time, in the order in which they arrive: the hints of a pod depend on what the pods before it got.
 * 2. A pod is placed once by this process. After a restart it is placed again and gets what the checkpoints have.
 * 3. Calls that may take long are made when the next pod is being placed (`settle`).
 * 4. A pod that cannot be placed is rejected, with kubelet's reason and message. An error of a file system is not the pod's:
 *    it is tried again.
 * 5. `release` gives back what the pod has, from this process or a previous one.
 */
export class PodPlacement implements PodStep {
  readonly #providers: readonly HintProvider[];
  readonly #policy: TopologyPolicy;
  readonly #scope: TopologyScope;
  readonly #lock = new Semaphore(1);
  /** The hints of the containers of placed pods, by UID and name. */
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Pods whose admission was published. */
  readonly #counted = new Set<string>();
  readonly #placed = new Map<string, ReadonlyMap<string, TopologyHint>>();

  constructor({ providers, policy, scope, clock }: PodPlacementDeps) {
    this.#clock = clock;
    this.#providers = providers;
    this.#policy = policy;
    this.#scope = scope;
  }

  /** Rejects with a `PodRejectedError`. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (this.#placed.has(uid)) return;
    const beganMs = this.#clock.monotonic();
    let isRejected = false;
    try {
      await this.#placeAndSettle(pod, signal);
    } catch (error) {
      isRejected = error instanceof PodRejectedError;
      throw error;
    } finally {
      if (isRejected || !this.#counted.has(uid)) {
        placementChannel.publish({ kind: 'placed', isRejected, tookMs: this.#clock.monotonic() - beganMs });
      }
      this.#counted.add(uid);
    }
  }

  async #placeAndSettle(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (!this.#providers.some((each) => each.concerns?.(pod) ?? true)) return;
    const hints = await this.#lock.run(() => this.#place(pod, signal), signal);
    for (const provider of this.#providers) {
      if (provider.settle) await asRejection(provider.settle(pod, signal), signal);
    }
    this.#placed.set(uid, hints);
  }

  async release({ metadata: { uid } }: Pod, signal: AbortSignal): Promise<void> {
    await this.#lock.run(() => this.#release(uid), signal);
  }

  /** Gives back what pods have that are gone, because they ended while no agent was running. */
  async removeStale(known: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    if (this.#stale(known).length === 0) return;
    await this.#lock.run(async () => {
      for (const uid of this.#stale(known)) await this.#release(uid);
    }, signal);
  }

  /** The nodes from which the resources of a container were assigned: kubelet's `GetAffinity`. */
  affinity(uid: string, container: string): TopologyHint {
    return this.#placed.get(uid)?.get(container) ?? ANY_NODE;
  }

  #stale(known: ReadonlySet<string>): readonly string[] {
    const all = new Set(this.#providers.flatMap((each) => each.assignedUids?.() ?? []));
    return [...all].filter((uid) => !known.has(uid) && !this.#placed.has(uid));
  }

  async #release(uid: string): Promise<void> {
    for (const provider of this.#providers) await provider.release(uid);
    this.#placed.delete(uid);
    this.#counted.delete(uid);
  }

  async #place(pod: Pod, signal: AbortSignal): Promise<ReadonlyMap<string, TopologyHint>> {
    const { initContainers = [], containers } = pod.spec;
    const isPerPod = this.#policy.name !== 'none' && this.#scope === 'pod';
    const ofPod = isPerPod ? this.#merge((provider) => provider.podHints(pod)) : undefined;
    const hints = new Map<string, TopologyHint>();
    for (const container of [...initContainers, ...containers]) {
      const hint = ofPod ?? this.#merge((provider) => provider.containerHints(pod, container));
      hints.set(container.name, hint);
      for (const provider of this.#providers) {
        await asRejection(provider.allocate(pod, container, hint, signal), signal);
      }
    }
    return hints;
  }

  #merge(hintsOf: (provider: HintProvider) => ReturnType<HintProvider['podHints']>): TopologyHint {
    if (this.#policy.name === 'none') return ANY_NODE;
    const { hint, isAdmitted } = this.#policy.merge(this.#providers.map(hintsOf));
    if (this.#policy.name === 'single-numa-node') {
      placementChannel.publish({ kind: 'alignedToNumaNode', scope: this.#scope, isAligned: isAdmitted });
    }
    if (isAdmitted) return hint;
    throw new PodRejectedError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality');
  }
}

async function asRejection(call: Promise<void>, signal: AbortSignal): Promise<void> {
  try {
    await call;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FileSystemError) throw error;
    if (error instanceof AllocationError) throw new PodRejectedError(error.reason, error.message);
    const message = `Allocate failed due to ${errorText(error)}, which is unexpected`;
    throw new PodRejectedError('UnexpectedAdmissionError', message);
  }
}
