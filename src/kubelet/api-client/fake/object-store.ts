import { isDeepStrictEqual } from 'node:util';
import type { ObjectKey, Resource, WatchEvent } from '../api-server.ts';
import { expired } from './api-errors.ts';
import type { Matches } from './select-objects.ts';
import { WatchStream } from './watch-stream.ts';
import { type WireObject, withMetadata } from './wire-object.ts';

type Event = WatchEvent<WireObject>;

interface Change {
  readonly version: number;
  readonly resource: Resource;
  readonly before: WireObject | undefined;
  readonly after: WireObject | undefined;
}

interface Watcher {
  readonly resource: Resource;
  readonly matches: Matches;
  /** The reader knows the changes up to this version. */
  readonly after: number;
  readonly stream: WatchStream<Event>;
}

/**
 * Objects, their versions and their watches.
 * 1. There is one version for all objects. It is incremented by each change, and an object has that of its last change.
 * 2. A watch gets each change after its start once and in order, even if the history is compacted meanwhile.
 */
export class ObjectStore {
  readonly #objects = new Map<string, { readonly resource: Resource; readonly object: WireObject }>();
  readonly #watchers = new Set<Watcher>();
  readonly #keptChanges: number;
  #history: Change[] = [];
  /** The oldest version that a watch can resume from. */
  #oldest = 1;
  #version = 1;

  constructor(keptChanges: number) {
    this.#keptChanges = keptChanges;
  }

  get version(): number {
    return this.#version;
  }

  get watches(): number {
    return this.#watchers.size;
  }

  find(key: ObjectKey): WireObject | undefined {
    return this.#objects.get(storageKey(key))?.object;
  }

  /** By namespace, then by name. */
  list(resource: Resource, matches: Matches): readonly WireObject[] {
    return [...this.#objects.entries()]
      .filter(([, entry]) => entry.resource === resource && matches(entry.object))
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([, { object }]) => object);
  }

  /** Creates or replaces an object. A write without a difference is not a change. */
  put(key: ObjectKey, object: WireObject): WireObject {
    const before = this.find(key);
    if (before && isDeepStrictEqual(withVersion(object, before.metadata.resourceVersion), before)) return before;
    const after = withVersion(object, String(++this.#version));
    this.#objects.set(storageKey(key), { resource: key.resource, object: after });
    this.#record({ version: this.#version, resource: key.resource, before, after });
    return after;
  }

  remove(key: ObjectKey): void {
    const before = this.find(key);
    if (!before) return;
    this.#objects.delete(storageKey(key));
    this.#record({ version: ++this.#version, resource: key.resource, before, after: undefined });
  }

  /** With `after` 0, starts from the current state: all existing objects are sent as added. */
  async *watch(resource: Resource, matches: Matches, after: number, signal: AbortSignal): AsyncGenerator<Event> {
    signal.throwIfAborted();
    if (after !== 0 && after < this.#oldest) throw expired(after, this.#oldest);
    const watcher: Watcher = { resource, matches, after, stream: new WatchStream() };
    if (after === 0) {
      for (const object of this.list(resource, matches)) watcher.stream.push(added(object));
    } else {
      for (const change of this.#history) deliver(watcher, change);
    }
    this.#watchers.add(watcher);
    try {
      yield* watcher.stream.read(signal);
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Ends all watches, with or without an error. */
  endWatches(error?: unknown): void {
    for (const { stream } of this.#watchers) stream.end(error);
  }

  bookmark(): void {
    for (const { stream } of this.#watchers) {
      stream.push({ type: 'BOOKMARK', resourceVersion: String(this.#version) });
    }
  }

  /** No watch can resume from a version before now. */
  forgetHistory(): void {
    this.#history = [];
    this.#oldest = this.#version;
  }

  #record(change: Change): void {
    this.#history.push(change);
    while (this.#history.length > this.#keptChanges) this.#oldest = this.#history.shift()?.version ?? this.#oldest;
    for (const watcher of this.#watchers) deliver(watcher, change);
  }
}

function deliver(watcher: Watcher, { version, resource, before, after }: Change): void {
  if (resource !== watcher.resource || version <= watcher.after) return;
  const resourceVersion = String(version);
  const matched = before !== undefined && watcher.matches(before);
  if (after !== undefined && watcher.matches(after)) {
    watcher.stream.push({ type: matched ? 'MODIFIED' : 'ADDED', object: after, resourceVersion });
  } else if (matched) {
    // The last selected state, with the version at which it ceased to match.
    watcher.stream.push({ type: 'DELETED', object: withVersion(before, resourceVersion), resourceVersion });
  }
}

function added(object: WireObject): Event {
  return { type: 'ADDED', object, resourceVersion: object.metadata.resourceVersion ?? '' };
}

function withVersion(object: WireObject, resourceVersion: string | undefined): WireObject {
  return withMetadata(object, { resourceVersion });
}

function storageKey({ resource, namespace, name }: ObjectKey): string {
  return `${resource}/${namespace}/${name}`;
}
