import { Sequencer } from '../../base/sequencer.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { EventSink } from '../store/event-sink.ts';
import { NameRegistry } from '../store/name-registry.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxLife, SandboxRecord } from '../store/sandbox-record.ts';
import { sandboxName } from './plan-sandbox.ts';

/**
 * The only writer of sandbox records.
 * 1. Whoever changes a sandbox has its turn: one after the other for each, and each looks at the record when it is up.
 * 2. What happened is told after the record says so.
 */
export class SandboxLedger {
  readonly #store: RecordStore<SandboxRecord>;
  readonly #events: EventSink;
  readonly #names: NameRegistry;
  readonly #turns = new Sequencer();
  /** Gone from the store, while its end is told. */
  #departed: SandboxRecord | undefined;

  constructor(store: RecordStore<SandboxRecord>, events: EventSink) {
    this.#store = store;
    this.#events = events;
    this.#names = new NameRegistry([...store.all.values()].map(({ id, config }) => [sandboxName(config), id]));
  }

  /** Those that are just being made included. */
  get all(): ReadonlyMap<string, SandboxRecord> {
    return this.#store.all;
  }

  /** Those that are just being made included. */
  find(idOrBeginning: string): SandboxRecord | undefined {
    return this.#store.find(idOrBeginning);
  }

  /** For what is told of a sandbox: also while its removal is told. */
  record(id: string): SandboxRecord | undefined {
    return this.#store.all.get(id) ?? (this.#departed?.id === id ? this.#departed : undefined);
  }

  turn<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(id, work);
  }

  /** `undefined`: the name is kept for `id` now; otherwise the id that has it. */
  reserve(name: string, id: string): string | undefined {
    return this.#names.reserve(name, id);
  }

  release(name: string, id: string): void {
    this.#names.release(name, id);
  }

  put(record: SandboxRecord): Promise<void> {
    return this.#store.put(record);
  }

  /** The last step of taking a sandbox away. Somebody knew of it only if it was more than `creating`. */
  async remove(record: SandboxRecord): Promise<void> {
    await this.#store.remove(record.id);
    this.#names.release(sandboxName(record.config), record.id);
    if (record.life.phase === 'creating') return;
    this.#departed = record;
    this.tell(ContainerEventType.CONTAINER_DELETED_EVENT, record.id);
    this.#departed = undefined;
  }

  /** The record with another state, written. An end of `ready` is told. */
  async become(record: SandboxRecord, life: SandboxLife, changes: Partial<SandboxRecord> = {}): Promise<SandboxRecord> {
    const next = { ...record, ...changes, life };
    // A full disk keeps no sandbox from ending: a repeated stop finds what is left of it by its id.
    await this.#store.put(next, { mayLag: life.phase === 'notReady' });
    if (record.life.phase === 'ready' && life.phase !== 'ready') {
      this.tell(ContainerEventType.CONTAINER_STOPPED_EVENT, record.id);
    }
    return next;
  }

  tell(type: ContainerEventType, id: string): void {
    this.#events.publish({ type, sandboxId: id, containerId: id });
  }
}
