import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { ContainerMetadata } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { NameRegistry } from '../store/name-registry.ts';
import type { PutOptions, RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { type ContainerEvent, nextContainerState } from './container-state.ts';

/** containerd's container name, unique on the node. */
export function containerName(metadata: ContainerMetadata, { config, id }: SandboxRecord): string {
  const { name: pod = '', namespace = '', uid = id } = config.metadata ?? {};
  return `${metadata.name}_${pod}_${namespace}_${uid}_${metadata.attempt}`;
}

/**
 * The only writer of container records.
 * 1. Writes of one container are serialized; each starts from the latest record.
 * 2. Verbs that must not overlap (create, start, the decision to stop, remove) hold the container's lock. Recording an
 *    exit does not take it, because a verb that holds the lock may wait for the exit.
 */
export class ContainerStore {
  readonly #store: RecordStore<ContainerRecord>;
  readonly #names: NameRegistry;
  readonly #namesById = new Map<string, string>();
  readonly #reserved = new Set<ContainerRecord>();
  readonly #writes = new KeyedMutex();
  readonly #locks = new KeyedMutex();

  constructor(store: RecordStore<ContainerRecord>, sandboxes: { readonly all: ReadonlyMap<string, SandboxRecord> }) {
    this.#store = store;
    for (const { id, sandboxId, config } of store.all.values()) {
      const sandbox = sandboxes.all.get(sandboxId);
      if (sandbox && config.metadata) this.#namesById.set(id, containerName(config.metadata, sandbox));
    }
    this.#names = new NameRegistry([...this.#namesById].map(([id, name]) => [name, id]));
  }

  get all(): ReadonlyMap<string, ContainerRecord> {
    return this.#store.all;
  }

  /** Containers being created are not found. */
  find(idOrPrefix: string): ContainerRecord | undefined {
    const record = this.#store.find(idOrPrefix);
    return record?.state.phase === 'creating' ? undefined : record;
  }

  /** Includes containers being created, even before their record is written. */
  listSandboxContainerIds(sandboxId: string): ReadonlySet<string> {
    const all = [...this.#reserved, ...this.#store.all.values()];
    return new Set(all.filter((record) => record.sandboxId === sandboxId).map(({ id }) => id));
  }

  /** Returns `undefined` if the name is now reserved for `record`, otherwise the id that holds it. `add` follows. */
  reserveName(name: string, record: ContainerRecord): string | undefined {
    const holder = this.#names.reserve(name, record.id);
    if (holder !== undefined) return holder;
    this.#namesById.set(record.id, name);
    this.#reserved.add(record);
    return undefined;
  }

  releaseName(id: string): void {
    const name = this.#namesById.get(id);
    if (name !== undefined) this.#names.release(name, id);
    this.#namesById.delete(id);
  }

  withLock<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(id, work);
  }

  /** Call after `reserveName`. */
  async add(record: ContainerRecord): Promise<void> {
    try {
      await this.#writes.run(record.id, () => this.#store.put(record));
    } finally {
      this.#reserved.delete(record);
    }
  }

  /** Returns the new record, or `undefined` if the container is gone. */
  applyEvent(id: string, event: ContainerEvent): Promise<ContainerRecord | undefined> {
    const next = async (record: ContainerRecord) => ({ ...record, state: nextContainerState(record.state, event) });
    // An exit must not fail on a full disk: recovery detects a container that no longer runs.
    return this.update(id, next, { mayDefer: event.type === 'ended' });
  }

  update(
    id: string,
    change: (record: ContainerRecord) => Promise<ContainerRecord>,
    options: PutOptions = {},
  ): Promise<ContainerRecord | undefined> {
    return this.#writes.run(id, async () => {
      const record = this.#store.all.get(id);
      if (record === undefined) return undefined;
      const next = await change(record);
      await this.#store.put(next, options);
      return next;
    });
  }

  /** The last step of deleting a container. */
  async remove(id: string): Promise<void> {
    await this.#writes.run(id, () => this.#store.remove(id));
    this.releaseName(id);
  }
}
