import type { ConfigMap, Lease, Node, Pod } from '../../../src/api/generated/core-v1.ts';
import type {
  ApiObjects,
  ApiServer,
  ObjectKey,
  Resource,
  Selection,
} from '../../../src/kubelet/api-client/api-server.ts';

/** A server under the contract. Only the contract writes to its objects. */
export interface ApiWorld {
  readonly api: ApiServer;
  /** An existing namespace, in which pods are created. */
  readonly namespace: string;
  stop(): Promise<void>;
}

/** Ends a test that would wait forever. */
export const patience = (): AbortSignal => AbortSignal.timeout(180_000);

let made = 0;

/** A unique name. */
export function freshName(prefix = 'web'): string {
  return `${prefix}-${process.pid}-${++made}`;
}

export function podKey({ namespace }: ApiWorld, name: string): ObjectKey<'pods'> {
  return { resource: 'pods', namespace, name };
}

export function podOf(
  { namespace }: ApiWorld,
  name: string,
  spec: Partial<Pod['spec']> = {},
  metadata: object = {},
): Pod {
  return {
    metadata: { name, namespace, uid: '', ...metadata },
    spec: { nodeName: 'contract-node', containers: [{ name: 'main', image: 'busybox:1' }], ...spec },
  };
}

/** Creates a pod with a unique name. */
export async function createPod(
  world: ApiWorld,
  spec: Partial<Pod['spec']> = {},
  metadata: object = {},
): Promise<{ readonly key: ObjectKey<'pods'>; readonly pod: Pod }> {
  const name = freshName();
  const key = podKey(world, name);
  return { key, pod: await world.api.create(key, podOf(world, name, spec, metadata), patience()) };
}

export function configMapOf({ namespace }: ApiWorld, name: string, data: Record<string, string>): ConfigMap {
  return { metadata: { name, namespace }, data };
}

export function leaseOf({ namespace }: ApiWorld, name: string, holderIdentity: string): Lease {
  return { metadata: { name, namespace }, spec: { holderIdentity, leaseDurationSeconds: 40 } };
}

export function nodeOf(name: string): Node {
  return {
    metadata: { name, labels: { a: '1' } },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'False' }], capacity: { cpu: '2' } },
  };
}

/** The events of a watch as short lines: `ADDED web-1`. */
export async function watchLines<R extends Resource>(
  { api }: ApiWorld,
  selection: Selection<R> & { readonly resourceVersion: string },
  count: number,
): Promise<string[]> {
  return (await watched({ api }, selection, count)).map(({ type, object }) => `${type} ${object.metadata.name}`);
}

/** The next `count` changes. */
export async function watched<R extends Resource>(
  { api }: Pick<ApiWorld, 'api'>,
  selection: Selection<R> & { readonly resourceVersion: string },
  count: number,
): Promise<{ type: string; object: ApiObjects[R]; resourceVersion: string }[]> {
  const seen: { type: string; object: ApiObjects[R]; resourceVersion: string }[] = [];
  for await (const event of api.watch(selection, patience())) {
    if (event.type !== 'BOOKMARK') seen.push(event);
    if (seen.length >= count) break;
  }
  return seen;
}
