import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerRecord } from '../../src/runtime/store/container-record.ts';
import type { SandboxRecord } from '../../src/runtime/store/sandbox-record.ts';
import type { RuntimeRecords } from './runtime-records.ts';

const LOOK_MS = 20;

interface SeenContainer {
  readonly id: string;
  readonly started: boolean;
}

/**
 * Observes a runtime from outside while the agent is killed repeatedly, and records violations: a
 * container that is created though an earlier one of the same pod and name had started (the observed containers
 * never fail by themselves), and two sandboxes of one pod name that are up together.
 */
export class RestartObserver {
  /** One line each. */
  readonly wrong = new Set<string>();
  readonly #records: RuntimeRecords;
  /** `uid/container` → all containers, oldest first. */
  readonly #containers = new Map<string, Map<string, SeenContainer>>();
  readonly #pods = new Set<string>();

  constructor(records: RuntimeRecords) {
    this.#records = records;
  }

  /** The number of observed pods with a sandbox. */
  get podsSeen(): number {
    return this.#pods.size;
  }

  /** Observes until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#noteDoubles(this.#records.sandboxes());
      for (const container of this.#records.containers()) this.#note(container);
      await delay(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  }

  #noteDoubles(sandboxes: readonly SandboxRecord[]): void {
    for (const { config } of sandboxes) this.#pods.add(config.metadata?.uid ?? '');
    const up = sandboxes.filter(({ state }) => state.phase === 'ready');
    for (const [name, all] of Map.groupBy(up, ({ config }) => config.metadata?.name)) {
      if (all.length > 1) this.wrong.add(`${name} is up ${all.length} times: ${all.map(({ id }) => id).join(', ')}`);
    }
  }

  #note({ id, config, createdAtNs, state }: ContainerRecord): void {
    const { labels, metadata } = config;
    const key = `${labels['io.kubernetes.pod.uid']}/${metadata?.name}`;
    const known = this.#containers.get(key) ?? new Map<string, SeenContainer>();
    this.#containers.set(key, known);
    for (const earlier of known.values()) {
      if (earlier.id !== id && earlier.started && !known.has(id)) {
        const pod = `${labels['io.kubernetes.pod.name']} (${labels['io.kubernetes.pod.uid']})`;
        this.wrong.add(`${pod}: ${metadata?.name} was made again at ${createdAtNs}: ${id} after ${earlier.id}`);
      }
    }
    const started = state.phase === 'running' || (state.phase === 'exited' && state.startedAtNs !== undefined);
    known.set(id, { id, started: started || (known.get(id)?.started ?? false) });
  }
}
