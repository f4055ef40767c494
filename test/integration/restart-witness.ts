import { setTimeout as delay } from 'node:timers/promises';
import type { CriConnection } from '../../src/cri/client.ts';
import {
  type Container,
  ContainerStatusRequest,
  ListContainersRequest,
  ListPodSandboxRequest,
  type PodSandbox,
  PodSandboxState,
} from '../../src/cri/generated/runtime-v1.ts';

const LOOK_MS = 50;
const PATIENCE_MS = 30_000;

interface SeenContainer {
  readonly id: string;
  readonly started: boolean;
}

/**
 * Looks at a runtime from outside, past the agent that is killed again and again, and notes what must never be: a
 * container that is made though an earlier one of the same pod and name had started (the containers that it watches
 * never fail by themselves), and two sandboxes of one pod name that are up together.
 */
export class RestartWitness {
  /** One line each. */
  readonly wrong = new Set<string>();
  readonly #cri: CriConnection;
  /** `uid/container` → all that there were, oldest first. */
  readonly #containers = new Map<string, Map<string, SeenContainer>>();
  readonly #pods = new Set<string>();

  constructor(cri: CriConnection) {
    this.#cri = cri;
  }

  /** How many pods it has seen with a sandbox. */
  get podsSeen(): number {
    return this.#pods.size;
  }

  /** Until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => this.wrong.add(`the runtime did not answer: ${error}`));
      await delay(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** The sandboxes that there are now. */
  async sandboxes(): Promise<readonly PodSandbox[]> {
    const { items } = await this.#cri.runtime.listPodSandbox(ListPodSandboxRequest.create(), patience());
    return items;
  }

  async #look(): Promise<void> {
    this.#noteDoubles(await this.sandboxes());
    const { containers } = await this.#cri.runtime.listContainers(ListContainersRequest.create(), patience());
    for (const container of containers) await this.#note(container);
  }

  #noteDoubles(sandboxes: readonly PodSandbox[]): void {
    for (const { metadata } of sandboxes) this.#pods.add(metadata?.uid ?? '');
    const up = sandboxes.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
    for (const [name, all] of Map.groupBy(up, ({ metadata }) => metadata?.name)) {
      if (all.length > 1) this.wrong.add(`${name} is up ${all.length} times: ${all.map(({ id }) => id).join(', ')}`);
    }
  }

  async #note({ id, labels, metadata, createdAt }: Container): Promise<void> {
    const key = `${labels['io.kubernetes.pod.uid']}/${metadata?.name}`;
    const known = this.#containers.get(key) ?? new Map<string, SeenContainer>();
    this.#containers.set(key, known);
    for (const earlier of known.values()) {
      if (earlier.id !== id && earlier.started && !known.has(id)) {
        const pod = `${labels['io.kubernetes.pod.name']} (${labels['io.kubernetes.pod.uid']})`;
        this.wrong.add(`${pod}: ${metadata?.name} was made again at ${createdAt}: ${id} after ${earlier.id}`);
      }
    }
    if (!known.get(id)?.started) known.set(id, { id, started: await this.#hasStarted(id) });
  }

  async #hasStarted(containerId: string): Promise<boolean> {
    try {
      const request = ContainerStatusRequest.fromPartial({ containerId });
      const { status } = await this.#cri.runtime.containerStatus(request, patience());
      return status !== undefined && status.startedAt > 0n;
    } catch {
      return false; // gone meanwhile
    }
  }
}

function patience(): AbortSignal {
  return AbortSignal.timeout(PATIENCE_MS);
}
