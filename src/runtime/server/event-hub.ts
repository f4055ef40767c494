import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventResponse, type ContainerStatus, type PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { EventSink, LifecycleEvent } from '../store/event-sink.ts';

/** A subscriber that is further behind is disconnected: listing everything is cheaper than catching up. */
const MAX_QUEUED_EVENTS = 1000;

export interface EventHubDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** The current status; `undefined` if the sandbox is gone. */
  readonly sandboxStatus: (sandboxId: string) => PodSandboxStatus | undefined;
  /** The current status of every container of the sandbox. */
  readonly containerStatuses: (sandboxId: string) => readonly ContainerStatus[];
}

/**
 * Delivers events to subscribers in order.
 * 1. A subscriber receives every event that is published after its first read.
 * 2. An event carries the statuses at the time it is published, not at the time it is read.
 * 3. A slow subscriber uses bounded memory: its stream ends with `ResourceExhausted`.
 */
export class EventHub implements EventSink {
  readonly #deps: EventHubDeps;
  readonly #subscribers = new Set<Subscriber>();

  constructor(deps: EventHubDeps) {
    this.#deps = deps;
  }

  publish(event: LifecycleEvent): void {
    if (this.#subscribers.size === 0) return; // collecting statuses is not free
    const response = this.#toResponse(event);
    for (const subscriber of this.#subscribers) subscriber.push(response);
  }

  /** Throws the signal's reason when it aborts. */
  async *subscribe(signal: AbortSignal): AsyncGenerator<ContainerEventResponse, undefined> {
    signal.throwIfAborted();
    const subscriber = new Subscriber();
    const onAbort = (): void => subscriber.end(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#subscribers.add(subscriber);
    try {
      yield* subscriber.read();
    } finally {
      this.#subscribers.delete(subscriber);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #toResponse({ type, sandboxId, containerId }: LifecycleEvent): ContainerEventResponse {
    const { clock, sandboxStatus, containerStatuses } = this.#deps;
    return ContainerEventResponse.create({
      containerId,
      containerEventType: type,
      createdAt: BigInt(Math.trunc(clock.now())) * 1_000_000n,
      podSandboxStatus: sandboxStatus(sandboxId),
      containersStatuses: [...containerStatuses(sandboxId)],
    });
  }
}

class Subscriber {
  #queued: ContainerEventResponse[] = [];
  #wake = Promise.withResolvers<void>();
  #ended: { readonly reason: unknown } | undefined;

  push(event: ContainerEventResponse): void {
    if (this.#ended) return;
    if (this.#queued.length === MAX_QUEUED_EVENTS) {
      this.#queued = [];
      this.end(new CriError('ResourceExhausted', `the subscriber is more than ${MAX_QUEUED_EVENTS} events behind`));
      return;
    }
    this.#queued.push(event);
    this.#wake.resolve();
  }

  /** Drops queued events: the subscriber has left, or has already missed some. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#wake.resolve();
  }

  async *read(): AsyncGenerator<ContainerEventResponse, undefined> {
    while (true) {
      if (this.#ended) throw this.#ended.reason;
      const event = this.#queued.shift();
      if (event) {
        yield event;
      } else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
  }
}
