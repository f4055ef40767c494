import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { isApiError } from '../../src/kubelet/api-client/is-api-error.ts';
import { configMapOf, type ObjectResource, type PlannedObject, secretOf } from './plan-objects.ts';
import { MANIFESTS } from './sim-sources.ts';

const FOREVER = new AbortController().signal;

/** The newest version of an object and when it was set; without a version, when the object was removed. */
export interface KnownVersion {
  readonly version: number | undefined;
  readonly at: number;
}

/** The objects that pods refer to: at the API server or, on a standalone node, among the manifests. */
export class SimObjects {
  readonly #api: ApiServer | undefined;
  readonly #fs: MemoryFileSystem;
  readonly #now: () => number;
  /** Oldest first. */
  readonly #histories = new Map<string, KnownVersion[]>();

  constructor(api: ApiServer | undefined, fs: MemoryFileSystem, now: () => number) {
    this.#api = api;
    this.#fs = fs;
    this.#now = now;
  }

  async set(planned: PlannedObject): Promise<void> {
    const { resource, namespace, name, version } = planned;
    const id = idOf(resource, namespace, name);
    const history = this.#histories.get(id) ?? [];
    history.push({ version, at: this.#now() });
    this.#histories.set(id, history);
    await (this.#api ? setAtServer(this.#api, planned) : this.#setInManifest(planned));
  }

  newest(resource: ObjectResource, namespace: string, name: string): KnownVersion | undefined {
    return this.#histories.get(idOf(resource, namespace, name))?.at(-1);
  }

  /** Whether this version ever existed. */
  has(resource: ObjectResource, namespace: string, name: string, version: number): boolean {
    return this.#histories.get(idOf(resource, namespace, name))?.some((each) => each.version === version) ?? false;
  }

  async #setInManifest(planned: PlannedObject): Promise<void> {
    const { resource, namespace, name, version } = planned;
    const file = `${MANIFESTS}/${resource}-${namespace}-${name}.json`;
    if (version === undefined) return this.#fs.remove(file);
    const object =
      resource === 'secrets'
        ? { kind: 'Secret', ...secretOf(planned) }
        : { kind: 'ConfigMap', ...configMapOf(planned) };
    await this.#fs.writeAtomic(file, JSON.stringify({ apiVersion: 'v1', ...object }));
  }
}

function idOf(resource: ObjectResource, namespace: string, name: string): string {
  return `${resource} ${namespace}/${name}`;
}

async function setAtServer(api: ApiServer, planned: PlannedObject): Promise<void> {
  const { resource, namespace, name, version } = planned;
  const key = { resource, namespace, name };
  if (version === undefined) return api.delete(key, {}, FOREVER);
  const object = resource === 'secrets' ? secretOf(planned) : configMapOf(planned);
  try {
    await api.update(key, object, FOREVER);
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
    await api.create(key, object, FOREVER);
  }
}
