import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { ContainerEventType } from '../../cri/generated/runtime-v1.ts';
import type { EventSink } from '../store/event-sink.ts';
import { NameRegistry } from '../store/name-registry.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SandboxRecord, SandboxRecordState } from '../store/sandbox-record.ts';
import { sandboxName } from './plan-sandbox.ts';

/**
 * The only writer of sandbox records.
 * 1. Changes of a sandbox hold its lock, and read the record after they got it.
 * 2. Events are published after the record is written.
 */
export class SandboxStore {
  readonly #store: RecordStore<SandboxRecord>;
  readonly #events: EventSink;
  readonly #names: NameRegistry;
  readonly #locks = new KeyedMutex();
  /** The removed record, while its deletion event is published. */
  #removed: SandboxRecord | undefined;

  constructor(store: RecordStore<SandboxRecord>, events: EventSink) {
    this.#store = store;
    this.#events = events;
    this.#names = new NameRegistry([...store.all.values()].map(({ id, config }) => [sandboxName(config), id]));
  }

  /** Includes sandboxes being created. */
  get all(): ReadonlyMap<string, SandboxRecord> {
    return this.#store.all;
  }

  /** Includes sandboxes being created. */
  find(idOrPrefix: string): SandboxRecord | undefined {
    return this.#store.find(idOrPrefix);
  }

  /** The record for an event; also while the deletion event is published. */
  recordForEvent(id: string): SandboxRecord | undefined {
    return this.#store.all.get(id) ?? (this.#removed?.id === id ? this.#removed : undefined);
  }

  withLock<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(id, work);
  }

  /** Returns `undefined` if the name is now reserved for `id`, otherwise the id that holds it. */
  reserveName(name: string, id: string): string | undefined {
    return this.#names.reserve(name, id);
  }

  releaseName(name: string, id: string): void {
    this.#names.release(name, id);
  }

  put(record: SandboxRecord): Promise<void> {
    return this.#store.put(record);
  }

  /** The last step of removing a sandbox. No event for a `creating` record: it was never listed. */
  async remove(record: SandboxRecord): Promise<void> {
    await this.#store.remove(record.id);
    this.#names.release(sandboxName(record.config), record.id);
    if (record.state.phase === 'creating') return;
    this.#removed = record;
    this.publish(ContainerEventType.CONTAINER_DELETED_EVENT, record.id);
    this.#removed = undefined;
  }

  /** Writes the record with a new state. Publishes the end of `ready`. */
  async updateState(
    record: SandboxRecord,
    state: SandboxRecordState,
    changes: Partial<SandboxRecord> = {},
  ): Promise<SandboxRecord> {
    const next = { ...record, ...changes, state };
    // A stop must not fail on a full disk: a repeated stop finds the remaining resources by the id.
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
