import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { ExternalChange } from './plan-cluster.ts';
import type { PlannedAction, SimSource } from './plan-world.ts';
import type { PodRecords } from './pod-records.ts';
import type { SimCluster } from './sim-cluster.ts';
import type { SimObjects } from './sim-objects.ts';
import type { SimManifests } from './sim-sources.ts';

export interface SimUsersDeps {
  readonly manifests: SimManifests;
  readonly cluster: SimCluster;
  readonly objects: SimObjects;
  readonly records: PodRecords;
  readonly registry: FakeRuntime['registry'];
  readonly applyChange: (change: ExternalChange) => Promise<void>;
  /** Called for each pod that is created or changed at the API server. */
  readonly onApiPod: (pod: Pod) => void;
  readonly note: (line: string) => void;
}

/** The users of a world, who change pods and objects in manifests and at the API server. */
export class SimUsers {
  readonly #deps: SimUsersDeps;

  constructor(deps: SimUsersDeps) {
    this.#deps = deps;
  }

  async act(action: PlannedAction): Promise<void> {
    const { registry, objects, applyChange, note } = this.#deps;
    switch (action.do) {
      case 'put':
        return this.#put(action.from, action.key, action.pod);
      case 'remove':
        return this.#remove(action.from, action.key);
      case 'delete':
        return this.#delete(action.key, action.graceSeconds);
      case 'publish':
        registry.set(action.image, {});
        return note(`${action.image} can be pulled`);
      case 'object':
        note(`${action.resource} ${action.namespace}/${action.name}: ${action.version ?? 'gone'}`);
        return objects.set(action);
      case 'externalChange':
        note(`external change: ${JSON.stringify(action.change)}`);
        return applyChange(action.change);
    }
  }

  /** Removes all pods with their own grace periods. */
  removeAll(): readonly Promise<void>[] {
    const { manifests, cluster } = this.#deps;
    return [
      ...manifests.keys.map((key) => this.#remove('file', key)),
      ...cluster.keys.map((key) => this.#delete(key, undefined)),
    ];
  }

  async #put(from: SimSource, key: string, pod: Pod): Promise<void> {
    const { manifests, cluster, records, onApiPod, note } = this.#deps;
    const before = await this.#present(from, key);
    const seen = from === 'file' ? await manifests.put(key, pod) : await cluster.put(key, pod);
    note(`${from} has ${key} as ${seen.metadata.uid}: ${summaryOf(seen)}`);
    if (before && before.metadata.uid !== seen.metadata.uid) records.remove(before.metadata.uid);
    records.put(seen);
    if (from === 'api') onApiPod(seen);
  }

  async #remove(from: SimSource, key: string): Promise<void> {
    const { manifests, cluster, records, note } = this.#deps;
    const before = await this.#present(from, key);
    note(`${from} removes ${key}`);
    if (before) records.remove(before.metadata.uid);
    return from === 'file' ? manifests.remove(key) : cluster.remove(key);
  }

  async #delete(key: string, graceSeconds: number | undefined): Promise<void> {
    const { cluster, records, note } = this.#deps;
    const before = await cluster.get(key);
    if (!before) return;
    note(`api deletes ${key} (${graceSeconds ?? 'own grace period'})`);
    await cluster.delete(key, graceSeconds);
    const marked = await cluster.get(key);
    if (marked) records.put(marked);
    else records.remove(before.metadata.uid);
  }

  async #present(from: SimSource, key: string): Promise<Pod | undefined> {
    return from === 'file' ? this.#deps.manifests.get(key) : this.#deps.cluster.get(key);
  }
}

function summaryOf({ spec }: Pod): string {
  const names = [...(spec.initContainers ?? []), ...spec.containers].map(({ name, image }) => `${name} ${image}`);
  return `${spec.restartPolicy}, ${names.join(', ')}`;
}
