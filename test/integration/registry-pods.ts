import type { Pod } from '../../src/api/generated/core-v1.ts';
import { podOf } from '../agent/memory-agent.ts';
import type { TestAgent } from './agent-fixture.ts';

/** The back-off after the first failure of a pull. */
const BACK_OFF_MS = 10_000;

/** A pod that runs the image once, on the host network. */
export function runOncePod(name: string, image: string, spec: Partial<Pod['spec']> = {}): Pod {
  return podOf(name, {
    hostNetwork: true,
    restartPolicy: 'Never',
    containers: [{ name: 'main', image, command: ['true'] }],
    ...spec,
  });
}

/** Pods with images from a registry. */
export class RegistryPods {
  readonly #it: TestAgent;
  readonly #pods = new Map<string, Pod>();

  constructor(it: TestAgent) {
    this.#it = it;
  }

  /** Adds the pod to the existing ones. */
  add(...added: Pod[]): void {
    for (const pod of added) this.#pods.set(pod.metadata.name, pod);
    this.#it.source.set(...this.#pods.values());
  }

  drop(name: string): void {
    this.#pods.delete(name);
    this.add();
  }

  /** Adds the pod, and resolves when it has completed. */
  async run(pod: Pod): Promise<void> {
    const done = this.done(pod.metadata.name);
    this.add(pod);
    await done;
  }

  /** Adds the pod, and resolves with the message with which it waits for its image. */
  async failsToPull(pod: Pod): Promise<string> {
    const { name } = pod.metadata;
    let message: string | undefined;
    const failed = this.#it.next((event) => {
      if (event.kind !== 'status' || event.pod.metadata.name !== name) return false;
      const waiting = event.status.containerStatuses?.[0]?.state?.waiting;
      if (waiting?.reason === 'ErrImagePull') message ??= waiting.message;
      return message !== undefined;
    }, `${name} cannot be pulled`);
    this.add(pod);
    await failed;
    return message ?? '';
  }

  /** Lets its back-off pass, and resolves when it has completed. */
  async recovers(name: string): Promise<void> {
    const done = this.done(name);
    this.#it.clock.leap(BACK_OFF_MS);
    await done;
  }

  done(name: string): Promise<number> {
    return this.#it.next(
      (event) => event.kind === 'status' && event.pod.metadata.name === name && event.status.phase === 'Succeeded',
      `${name} done`,
    );
  }

  reasons(name: string): readonly string[] {
    const report = this.#it.agent.pods().find(({ pod }) => pod.metadata.name === name);
    return report?.events.map(({ reason }) => reason) ?? [];
  }

  /** Resolves when each pod has an event of this reason; sequentially, because the timeout is per pod. */
  async reported(names: readonly string[], reason: string): Promise<void> {
    for (const name of names) {
      if (this.reasons(name).includes(reason)) continue;
      await this.#it.next(
        (event) => event.kind === 'event' && event.pod.metadata.name === name && event.event.reason === reason,
        `${name} has event ${reason}`,
      );
    }
  }

  /** The number of PullImage calls for it. */
  pulls(image: string): number {
    return this.#it.calls.all.filter(
      ({ method, request }) =>
        method === 'PullImage' && (request as { image: { image: string } }).image.image === image, // the request type of this method
    ).length;
  }
}
