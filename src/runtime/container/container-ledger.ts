import { Sequencer } from '../../base/sequencer.ts';
import type { ContainerMetadata } from '../../cri/generated/runtime-v1.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { NameRegistry } from '../store/name-registry.ts';
import type { PutOptions, RecordStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import { type ContainerEvent, nextLife } from './container-life.ts';

/** As containerd names it: of one pod's containers only one has it. */
export function containerName(metadata: ContainerMetadata, { config, id }: SandboxRecord): string {
  const { name: pod = '', namespace = '', uid = id } = config.metadata ?? {};
  return `${metadata.name}_${pod}_${namespace}_${uid}_${metadata.attempt}`;
}

/**
 * The only writer of container records.
 * 1. Records change one after the other for each container, each time from what is there by then.
 * 2. Verbs that must not overlap (create, start, the decision to stop, remove) take turns; the end of a container does
 *    not, for a verb may wait for it.
 */
export class ContainerLedger {
  readonly #store: RecordStore<ContainerRecord>;
  readonly #names: NameRegistry;
  readonly #nameOf = new Map<string, string>();
  readonly #announced = new Set<ContainerRecord>();
  readonly #writes = new Sequencer();
  readonly #turns = new Sequencer();

  constructor(store: RecordStore<ContainerRecord>, sandboxes: { readonly all: ReadonlyMap<string, SandboxRecord> }) {
    this.#store = store;
    for (const { id, sandboxId, config } of store.all.values()) {
      const sandbox = sandboxes.all.get(sandboxId);
      if (sandbox && config.metadata) this.#nameOf.set(id, containerName(config.metadata, sandbox));
    }
    this.#names = new NameRegistry([...this.#nameOf].map(([id, name]) => [name, id]));
  }

  get all(): ReadonlyMap<string, ContainerRecord> {
    return this.#store.all;
  }

  /** What callers may know of: not those that are just being made. */
  find(idOrBeginning: string): ContainerRecord | undefined {
    const record = this.#store.find(idOrBeginning);
    return record?.life.phase === 'creating' ? undefined : record;
  }

  /** Those that are just being made included, even before their record is written. */
  idsOfSandbox(sandboxId: string): ReadonlySet<string> {
    const all = [...this.#announced, ...this.#store.all.values()];
    return new Set(all.filter((record) => record.sandboxId === sandboxId).map(({ id }) => id));
  }

  /** `undefined`: the name is kept for this container now, and its record is to come; otherwise the id that has it. */
  reserve(name: string, record: ContainerRecord): string | undefined {
    const holder = this.#names.reserve(name, record.id);
    if (holder !== undefined) return holder;
    this.#nameOf.set(record.id, name);
    this.#announced.add(record);
    return undefined;
  }

  release(id: string): void {
    const name = this.#nameOf.get(id);
    if (name !== undefined) this.#names.release(name, id);
    this.#nameOf.delete(id);
  }

  turn<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(id, work);
  }

  /** After `reserve`. */
  async add(record: ContainerRecord): Promise<void> {
    try {
      await this.#writes.run(record.id, () => this.#store.put(record));
    } finally {
      this.#announced.delete(record);
    }
  }

  /** The record then; `undefined` when there is none any more. */
  change(id: string, event: ContainerEvent): Promise<ContainerRecord | undefined> {
    const next = async (record: ContainerRecord) => ({ ...record, life: nextLife(record.life, event) });
    // A full disk keeps no container from ending: the next start finds out by itself that this one is gone.
    return this.edit(id, next, { mayLag: event.type === 'ended' });
  }

  edit(
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

  /** The last step of taking a container away. */
  async remove(id: string): Promise<void> {
    await this.#writes.run(id, () => this.#store.remove(id));
    this.release(id);
  }
}
