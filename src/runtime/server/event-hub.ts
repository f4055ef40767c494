import { CriError } from '../../cri/cri-error.ts';
import { ContainerEventResponse, type ContainerStatus, type PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { EventSink, LifecycleEvent } from '../store/event-sink.ts';

/** More than this many untold, and a subscriber is let go: it has to list everything anew, which is cheaper by then. */
const MAX_QUEUED_EVENTS = 1000;

export interface EventHubDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** As of now; `undefined` when it is gone. */
  readonly sandboxStatus: (sandboxId: string) => PodSandboxStatus | undefined;
  /** Of every container of the sandbox. */
  readonly containerStatuses: (sandboxId: string) => readonly ContainerStatus[];
}

/**
 * Tells subscribers what happened, in order.
 * 1. A subscriber hears of everything that is published after it asked for its first event.
 * 2. An event carries the states at the time it is published, not at the time it is read.
 * 3. A slow subscriber costs bounded memory: it ends with `ResourceExhausted`.
 */
export class EventHub implements EventSink {
  readonly #deps: EventHubDeps;
  readonly #subscribers = new Set<Subscriber>();

  constructor(deps: EventHubDeps) {
    this.#deps = deps;
  }

  publish(happening: LifecycleEvent): void {
    if (this.#subscribers.size === 0) return; // looking up all states is not free
    const event = this.#toResponse(happening);
    for (const subscriber of this.#subscribers) subscriber.push(event);
  }

  /** Throws the signal's reason when that aborts. */
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

  /** What is untold is thrown away: who ends is not interested, or has missed something anyway. */
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
