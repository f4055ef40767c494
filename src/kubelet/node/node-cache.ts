import type { Node } from '../../api/generated/core-v1.ts';
import type { ObjectKey } from '../api-client/api-server.ts';
import { type FollowDeps, followSelection } from '../api-client/reflector.ts';

export function nodeKey(name: string): ObjectKey<'nodes'> {
  return { resource: 'nodes', namespace: '', name };
}

/** What the API server was last seen to have of this node: told by a watch, and by the answers to our own writes. */
export class OwnNode {
  readonly #name: string;
  readonly #asked = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #node: Node | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Resolves when the API server has told once what it has of it, be it nothing. */
  get known(): Promise<void> {
    return this.#asked.promise;
  }

  /** Nothing before it was seen, and once it was deleted. */
  get current(): Node | undefined {
    return this.#node;
  }

  /** Keeps the newer one: a watch may be behind an answer. */
  seen(node: Node): void {
    this.#asked.resolve();
    if (!this.#node || this.#node.metadata.uid !== node.metadata.uid || versionOf(node) >= versionOf(this.#node)) {
      this.#become(node);
    }
  }

  gone(uid: string | undefined): void {
    if (this.#node?.metadata.uid === uid) this.#become(undefined);
  }

  /** Calls the listener after each change, until what it returns is called. */
  subscribe(listener: () => void): () => void {
    const each = (): void => listener();
    this.#listeners.add(each);
    return () => void this.#listeners.delete(each);
  }

  async follow(deps: FollowDeps, signal: AbortSignal): Promise<void> {
    const selection = { resource: 'nodes', fieldSelector: `metadata.name=${this.#name}` } as const;
    const keeper = {
      listed: (nodes: readonly Node[]): void => {
        const [node] = nodes;
        if (node) this.seen(node);
        else this.#become(undefined);
        this.#asked.resolve();
      },
      changed: ({ type, object }: { readonly type: string; readonly object: Node }): void => {
        if (type === 'DELETED') this.gone(object.metadata.uid);
        else this.seen(object);
      },
    };
    await followSelection(selection, keeper, deps, signal);
  }

  #become(node: Node | undefined): void {
    if (node === this.#node) return;
    this.#node = node;
    for (const each of [...this.#listeners]) each();
  }
}

function versionOf({ metadata: { resourceVersion = '' } }: Node): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
