import { defaultPod } from '../../src/api/defaults/default-pod.ts';
import type { Event, Lease, Node, Pod } from '../../src/api/generated/core-v1.ts';
import type { ApiServer, ObjectKey } from '../../src/kubelet/api-client/api-server.ts';
import { isApiError } from '../../src/kubelet/api-client/is-api-error.ts';
import { leaseKey } from '../../src/kubelet/node/lease/node-lease.ts';
import { nodeKey } from '../../src/kubelet/node/node-cache.ts';
import { NODE_NAME } from './sim-sources.ts';

const FOREVER = new AbortController().signal;

/** The users' access to the API server, which works also when the node cannot reach it. The key is the pod's name. */
export class SimCluster {
  readonly #api: ApiServer;
  /** By key: the namespace, and the UID of the pod in the plan. */
  readonly #known = new Map<string, { readonly namespace: string; readonly planUid: string }>();

  constructor(api: ApiServer) {
    this.#api = api;
  }

  get keys(): string[] {
    return [...this.#known.keys()];
  }

  async get(key: string): Promise<Pod | undefined> {
    const podKey = this.#podKey(key);
    return podKey && unlessGone(this.#api.get(podKey, FOREVER));
  }

  /** Updates images and ephemeral containers of the same pod of the plan; a different pod replaces the one of that name. */
  async put(key: string, pod: Pod): Promise<Pod> {
    const { namespace, uid: planUid } = pod.metadata;
    const before = this.#known.get(key);
    const found = await this.get(key);
    // A pod cannot be created with ephemeral containers.
    const { ephemeralContainers, ...spec } = defaultPod(pod).spec;
    if (found && before?.planUid === planUid) {
      const containers = pod.spec.containers.map(({ name, image }) => ({ name, image }));
      const podKey = { resource: 'pods', namespace, name: key } as const;
      const added = ephemeralContainers && { ephemeralContainers };
      return this.#api.patch(podKey, { spec: { containers, ...added } }, {}, FOREVER);
    }
    await this.remove(key);
    this.#known.set(key, { namespace, planUid });
    const { metadata } = defaultPod(pod);
    const created = { metadata: { ...metadata, uid: '' }, spec: { ...spec, nodeName: NODE_NAME } };
    return this.#api.create({ resource: 'pods', namespace, name: key }, created, FOREVER);
  }

  async delete(key: string, graceSeconds: number | undefined): Promise<void> {
    const podKey = this.#podKey(key);
    const options = graceSeconds === undefined ? {} : { graceSeconds };
    if (podKey) await unlessGone(this.#api.delete(podKey, options, FOREVER));
  }

  /** Deletes the pod immediately. */
  async remove(key: string): Promise<void> {
    await this.delete(key, 0);
    this.#known.delete(key);
  }

  /** All pods of the server, including mirror pods. */
  async pods(): Promise<readonly Pod[]> {
    return (await this.#api.list({ resource: 'pods' }, FOREVER)).items;
  }

  node(): Promise<Node | undefined> {
    return unlessGone(this.#api.get(nodeKey(NODE_NAME), FOREVER));
  }

  lease(): Promise<Lease | undefined> {
    return unlessGone(this.#api.get(leaseKey(NODE_NAME), FOREVER));
  }

  async events(): Promise<readonly Event[]> {
    return (await this.#api.list({ resource: 'events' }, FOREVER)).items;
  }

  #podKey(key: string): ObjectKey<'pods'> | undefined {
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
