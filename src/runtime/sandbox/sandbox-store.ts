import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { EventSink } from '../store/event-sink.ts';
import { NameRegistry } from '../store/name-registry.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecordState, SandboxRecord } from '../store/sandbox-record.ts';
import { sandboxName } from './plan-sandbox.ts';

/**
 * The only writer of sandbox records.
 * 1. Whoever changes a sandbox has its turn: one after the other for each, and each looks at the record when it is up.
 * 2. What happened is told after the record says so.
 */
export class SandboxStore {
  readonly #store: RecordStore<SandboxRecord>;
  readonly #events: EventSink;
  readonly #names: NameRegistry;
  readonly #locks = new KeyedMutex();
  /** Gone from the store, while its end is told. */
  #removed: SandboxRecord | undefined;

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
  find(idOrPrefix: string): SandboxRecord | undefined {
    return this.#store.find(idOrPrefix);
  }

  /** For what is told of a sandbox: also while its removal is told. */
  recordForEvent(id: string): SandboxRecord | undefined {
    return this.#store.all.get(id) ?? (this.#removed?.id === id ? this.#removed : undefined);
  }

  withLock<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(id, work);
  }

  /** `undefined`: the name is kept for `id` now; otherwise the id that has it. */
  reserveName(name: string, id: string): string | undefined {
    return this.#names.reserve(name, id);
  }

  releaseName(name: string, id: string): void {
    this.#names.release(name, id);
  }

  put(record: SandboxRecord): Promise<void> {
    return this.#store.put(record);
  }

  /** The last step of taking a sandbox away. Somebody knew of it only if it was more than `creating`. */
  async remove(record: SandboxRecord): Promise<void> {
    await this.#store.remove(record.id);
    this.#names.release(sandboxName(record.config), record.id);
    if (record.state.phase === 'creating') return;
    this.#removed = record;
    this.publish(ContainerEventType.CONTAINER_DELETED_EVENT, record.id);
    this.#removed = undefined;
  }

  /** The record with another state, written. An end of `ready` is told. */
  async updateState(record: SandboxRecord, state: SandboxRecordState, changes: Partial<SandboxRecord> = {}): Promise<SandboxRecord> {
    const next = { ...record, ...changes, state };
    // A full disk keeps no sandbox from ending: a repeated stop finds what is left of it by its id.
    await this.#store.put(next, { mayDefer: state.phase === 'notReady' });
    if (record.state.phase === 'ready' && state.phase !== 'ready') {
      this.publish(ContainerEventType.CONTAINER_STOPPED_EVENT, record.id);
    }
    return next;
  }

  publish(type: ContainerEventType, id: string): void {
    this.#events.publish({ type, sandboxId: id, containerId: id });
  }
}
