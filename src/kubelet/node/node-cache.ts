import type { Node } from '../../api/generated/core-v1.ts';
import type { ObjectKey } from '../api-client/api-server.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';

export function nodeKey(name: string): ObjectKey<'nodes'> {
  return { resource: 'nodes', namespace: '', name };
}

/** The node object as last observed, by a watch or in the responses to the agent's own writes. */
export class NodeCache {
  readonly #name: string;
  readonly #synced = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #node: Node | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Resolves after the first response of the API server about the node, even if the node does not exist. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** `undefined` before the first observation and after a deletion. */
  get current(): Node | undefined {
    return this.#node;
  }

  /** Keeps the newer version: the watch may lag behind a response. */
  onObserved(node: Node): void {
    this.#synced.resolve();
    if (
      !this.#node ||
      this.#node.metadata.uid !== node.metadata.uid ||
      numericVersion(node) >= numericVersion(this.#node)
    ) {
      this.#set(node);
    }
  }

  onDeleted(uid: string | undefined): void {
    if (this.#node?.metadata.uid === uid) this.#set(undefined);
  }

  /** Calls the listener after each change. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    const each = (): void => listener();
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  async watch(deps: ReflectorDeps, signal: AbortSignal): Promise<void> {
    const selection = { resource: 'nodes', fieldSelector: `metadata.name=${this.#name}` } as const;
    const handler = {
      onList: (nodes: readonly Node[]): void => {
        const [node] = nodes;
        if (node) this.onObserved(node);
        else this.#set(undefined);
        this.#synced.resolve();
      },
      onChange: ({ type, object }: { readonly type: string; readonly object: Node }): void => {
        if (type === 'DELETED') this.onDeleted(object.metadata.uid);
        else this.onObserved(object);
      },
    };
    await runReflector(selection, handler, deps, signal);
  }

  #set(node: Node | undefined): void {
    if (node === this.#node) return;
    this.#node = node;
    for (const each of [...this.#listeners]) each();
  }
}

function numericVersion({ metadata: { resourceVersion = '' } }: Node): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
