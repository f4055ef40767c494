import { defaultPod } from '../../src/api/defaults/default-pod.ts';
import type { Event, Lease, Node, Pod } from '../../src/api/generated/core-v1.ts';
import type { ApiServer, ObjectKey } from '../../src/kubelet/api-client/api-server.ts';
import { isApiError } from '../../src/kubelet/api-client/is-api-error.ts';
import { leaseKey } from '../../src/kubelet/node/lease/node-lease.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { NODE_NAME } from './sim-sources.ts';

const FOR_EVER = new AbortController().signal;

/** What users do at the API server; they reach it also when the node cannot. By key, which is the pod's name. */
export class SimCluster {
  readonly #api: ApiServer;
  /** What was put there: the namespace of each key, and which of the plan's pods it is. */
  readonly #known = new Map<string, { readonly namespace: string; readonly planUid: string }>();

  constructor(api: ApiServer) {
    this.#api = api;
  }

  get keys(): string[] {
    return [...this.#known.keys()];
  }

  async get(key: string): Promise<Pod | undefined> {
    const place = this.#placeOf(key);
    return place && unlessGone(this.#api.get(place, FOR_EVER));
  }

  /** The same pod of the plan gets its images and its ephemeral containers; another one takes the place of whatever had the name. */
  async put(key: string, pod: Pod): Promise<Pod> {
    const { namespace, uid: planUid } = pod.metadata;
    const before = this.#known.get(key);
    const found = await this.get(key);
    // Nobody may create a pod with some.
    const { ephemeralContainers, ...spec } = defaultPod(pod).spec;
    if (found && before?.planUid === planUid) {
      const containers = pod.spec.containers.map(({ name, image }) => ({ name, image }));
      const place = { resource: 'pods', namespace, name: key } as const;
      const added = ephemeralContainers && { ephemeralContainers };
      return this.#api.patch(place, { spec: { containers, ...added } }, {}, FOR_EVER);
    }
    await this.remove(key);
    this.#known.set(key, { namespace, planUid });
    const { metadata } = defaultPod(pod);
    const created = { metadata: { ...metadata, uid: '' }, spec: { ...spec, nodeName: NODE_NAME } };
    return this.#api.create({ resource: 'pods', namespace, name: key }, created, FOR_EVER);
  }

  async delete(key: string, graceSeconds: number | undefined): Promise<void> {
    const place = this.#placeOf(key);
    const options = graceSeconds === undefined ? {} : { graceSeconds };
    if (place) await unlessGone(this.#api.delete(place, options, FOR_EVER));
  }

  /** By force: it is gone at once. */
  async remove(key: string): Promise<void> {
    await this.delete(key, 0);
    this.#known.delete(key);
  }

  /** All pods that the server has, mirror pods too. */
  async pods(): Promise<readonly Pod[]> {
    return (await this.#api.list({ resource: 'pods' }, FOR_EVER)).items;
  }

  node(): Promise<Node | undefined> {
    return unlessGone(this.#api.get(nodeKey(NODE_NAME), FOR_EVER));
  }

  lease(): Promise<Lease | undefined> {
    return unlessGone(this.#api.get(leaseKey(NODE_NAME), FOR_EVER));
  }

  async events(): Promise<readonly Event[]> {
    return (await this.#api.list({ resource: 'events' }, FOR_EVER)).items;
  }

  #placeOf(key: string): ObjectKey<'pods'> | undefined {
    const known = this.#known.get(key);
    return known && { resource: 'pods', namespace: known.namespace, name: key };
  }
}

export async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined;
    throw error;
  }
}
