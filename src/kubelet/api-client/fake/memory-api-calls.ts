import type { TokenRequestSpec } from '../../../api/generated/core-v1.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import type {
  ApiObjects,
  ApiServer,
  IssuedToken,
  ObjectKey,
  ObjectList,
  Resource,
  Selection,
  ServiceAccountKey,
  WatchEvent,
} from '../api-server.ts';
import { patchShape } from '../patch-shapes.ts';
import { BadPatchError, isMap } from '../patch-value.ts';
import { strategicMerge } from '../strategic-merge.ts';
import {
  alreadyExists,
  badRequest,
  invalid,
  noSuchPath,
  notFound,
  wrongUidToDelete,
  wrongUidToUpdate,
} from './api-errors.ts';
import { changedObject, isReleased } from './changed-object.ts';
import { decideDeletion } from './deletion.ts';
import { issueToken } from './issue-token.ts';
import { newObject } from './new-object.ts';
import type { ObjectStore } from './object-store.ts';
import { resourceFacts } from './resource-facts.ts';
import { selectObjects } from './select-objects.ts';
import { fromWire, toWire, type WireObject, withMetadata } from './wire-object.ts';

const GENERATED_NAME_ATTEMPTS = 8;

/** The calls of a server without faults. */
export class MemoryApiCalls implements ApiServer {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(store: ObjectStore, clock: Clock, random: Random) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
  }

  async get<R extends Resource>(key: ObjectKey<R>, signal: AbortSignal): Promise<ApiObjects[R]> {
    signal.throwIfAborted();
    return fromWire(key.resource, this.#found(key));
  }

  async list<R extends Resource>(selection: Selection<R>, signal: AbortSignal): Promise<ObjectList<ApiObjects[R]>> {
    signal.throwIfAborted();
    const objects = this.#store.list(selection.resource, selectObjects(selection));
    // The items of a list have no kind.
    const items = objects.map(({ apiVersion: _, kind: __, ...rest }) => fromWire(selection.resource, toWire(rest)));
    return { items, resourceVersion: String(this.#store.version) };
  }

  async *watch<R extends Resource>(
    selection: Selection<R> & { readonly resourceVersion: string },
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<ApiObjects[R]>> {
    const { resource } = selection;
    const matches = selectObjects(selection);
    for await (const event of this.#store.watch(resource, matches, parseVersion(selection), signal)) {
      yield event.type === 'BOOKMARK' ? event : { ...event, object: fromWire(resource, event.object) };
    }
  }

  async create<R extends Resource>(
    key: ObjectKey<R>,
    object: ApiObjects[R],
    signal: AbortSignal,
  ): Promise<ApiObjects[R]> {
    signal.throwIfAborted();
    const given = toWire(object);
    for (let attempt = 1; ; attempt++) {
      const created = newObject(key, given, this.#clock, this.#random);
      const createdKey = { ...key, name: created.metadata.name ?? '' };
      if (!this.#store.find(createdKey)) return fromWire(key.resource, this.#store.put(createdKey, created));
      if (given.metadata.name || attempt === GENERATED_NAME_ATTEMPTS) throw alreadyExists(createdKey);
    }
  }

  async update<R extends Resource>(
    key: ObjectKey<R>,
    object: ApiObjects[R],
    signal: AbortSignal,
  ): Promise<ApiObjects[R]> {
    signal.throwIfAborted();
    const { createsOnUpdate } = resourceFacts(key.resource);
    const wanted = toWire(object);
    const old = this.#store.find(key);
    if (!old && !createsOnUpdate) throw notFound(key);
    const { uid } = wanted.metadata;
    if (uid && uid !== old?.metadata.uid) throw wrongUidToUpdate(key, uid, old?.metadata.uid ?? '');
    if (old) return fromWire(key.resource, this.#change(key, old, wanted, undefined));
    const created = newObject(key, withMetadata(wanted, { resourceVersion: undefined }), this.#clock, this.#random);
    return fromWire(key.resource, this.#store.put(key, created));
  }

  async patch<R extends Resource>(
    key: ObjectKey<R>,
    patch: unknown,
    { subresource }: { readonly subresource?: 'status' },
    signal: AbortSignal,
  ): Promise<ApiObjects[R]> {
    signal.throwIfAborted();
    if (subresource === 'status' && !resourceFacts(key.resource).hasStatus) throw noSuchPath();
    const old = this.#found(key);
    return fromWire(key.resource, this.#change(key, old, merged(key, old, patch), subresource));
  }

  async delete(
    key: ObjectKey,
    { uid, graceSeconds }: { readonly uid?: string; readonly graceSeconds?: number },
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const object = this.#found(key);
    const found = object.metadata.uid ?? '';
    if (uid !== undefined && uid !== found) throw wrongUidToDelete(key, uid, found);
    const deletion = decideDeletion(key.resource, object, graceSeconds, this.#clock.now());
    if (deletion.kind === 'mark') this.#store.put(key, withMetadata(object, deletion.metadata));
    if (deletion.kind === 'remove' || (deletion.kind === 'mark' && deletion.thenRemove)) this.#store.remove(key);
  }

  async deleteCollection(selection: Selection, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (const { metadata } of this.#store.list(selection.resource, selectObjects(selection))) {
      const key = { resource: selection.resource, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
      await this.delete(key, {}, signal);
    }
  }

  async createToken(account: ServiceAccountKey, spec: TokenRequestSpec, signal: AbortSignal): Promise<IssuedToken> {
    signal.throwIfAborted();
    const { namespace } = account;
    const find = (resource: Resource, name: string) => this.#store.find({ resource, namespace, name });
    return issueToken(account, spec, find, this.#clock.now());
  }

  #found(key: ObjectKey): WireObject {
    const object = this.#store.find(key);
    if (!object) throw notFound(key);
    return object;
  }

  #change(key: ObjectKey, old: WireObject, wanted: WireObject, subresource: 'status' | undefined): WireObject {
    const changed = changedObject(key, old, wanted, subresource);
    if (!isReleased(old, changed)) return this.#store.put(key, changed);
    this.#store.remove(key);
    return changed;
  }
}

function merged(key: ObjectKey, old: WireObject, patch: unknown): WireObject {
  // JSON drops undefined fields and keeps null.
  const sent: unknown = JSON.parse(JSON.stringify(patch));
  if (!isMap(sent)) throw badRequest('invalid strategic merge patch format');
  try {
    const { metadata, ...rest } = strategicMerge(old, sent, patchShape(key.resource));
    return toWire({ ...rest, metadata: metadata ?? {} });
  } catch (error) {
    if (error instanceof BadPatchError) throw badRequest(error.message);
    throw error;
  }
}

/** Empty and 0 mean the current state. */
function parseVersion({ resource, resourceVersion }: { resource: Resource; resourceVersion: string }): number {
  if (/^\d*$/.test(resourceVersion)) return Number(resourceVersion);
  const quoted = JSON.stringify(resourceVersion);
  throw invalid(resourceFacts(resource).qualifiedName, '', [
    `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
  ]);
}
