import type { Node } from '../../api/generated/core-v1.ts';
import type { ObjectKey } from '../api-client/api-server.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';

export function nodeKey(name: string): ObjectKey<'nodes'> {
  return { resource: 'nodes', namespace: '', name };
}

/** What the API server was last seen to have of this node: told by a watch, and by the answers to our own writes. */
export class NodeCache {
  readonly #name: string;
  readonly #synced = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #node: Node | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Resolves when the API server has told once what it has of it, be it nothing. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Nothing before it was seen, and once it was deleted. */
  get current(): Node | undefined {
    return this.#node;
  }

  /** Keeps the newer one: a watch may be behind an answer. */
  onObserved(node: Node): void {
    this.#synced.resolve();
    if (!this.#node || this.#node.metadata.uid !== node.metadata.uid || numericVersion(node) >= numericVersion(this.#node)) {
      this.#set(node);
    }
  }

  onDeleted(uid: string | undefined): void {
    if (this.#node?.metadata.uid === uid) this.#set(undefined);
  }

  /** Calls the listener after each change, until what it returns is called. */
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
