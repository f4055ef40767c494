import type { ClusterTrustBundle, ClusterTrustBundleProjection } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { type ObjectChange, type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import { type BundleSelection, bundleSelection } from './bundle-selection.ts';
import { normalizeTrustAnchors } from './trust-anchors.ts';
import { TrustBundleError, type TrustBundles, trustBundlesUnavailable } from './trust-bundles.ts';

/** How long readers wait for the first list after the watch has started, as in kubelet. */
const FIRST_LIST_MS = 10_000;
const SALT_BYTES = 16;

export interface ClusterTrustBundlesDeps extends ReflectorDeps {
  /** Called when trust anchors of the pod have changed. */
  readonly onChange: (uid: string) => void;
}

type BundleMap = ReadonlyMap<string, ClusterTrustBundle>;

type BundlesState =
  | { readonly kind: 'unknown' }
  /** The API server does not have the resource: its feature gate or API version is off. */
  | { readonly kind: 'notServed' }
  | { readonly kind: 'known'; readonly bundles: BundleMap };

/**
 * The ClusterTrustBundles of the API server.
 *
 * 1. One watch on all of them starts with the first reader: most nodes have no such pod.
 * 2. A change wakes exactly the pods that select the bundle, before or after the change.
 * 3. The order of the anchors is random, and stays the same until the agent restarts.
 */
export class ClusterTrustBundles implements TrustBundles {
  readonly #deps: ClusterTrustBundlesDeps;
  readonly #life: AbortSignal;
  readonly #salt: Uint8Array;
  readonly #firstAnswer = Promise.withResolvers<void>();
  /** Aborts when readers do not wait for the first list any more; absent before the first reader. */
  #patience: AbortSignal | undefined;
  #state: BundlesState = { kind: 'unknown' };
  /** By the key of the selection; valid for the present state. */
  readonly #anchors = new Map<string, string>();
  /** The selections of each pod. */
  readonly #readers = new Map<string, Map<string, BundleSelection>>();
  /** Pods whose read failed because the bundles were not known. */
  readonly #missedBy = new Set<string>();

  /** The watch ends when `life` aborts. */
  constructor(deps: ClusterTrustBundlesDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
    this.#salt = deps.random.bytes(SALT_BYTES);
  }

  async trustAnchors(podUid: string, source: ClusterTrustBundleProjection, signal: AbortSignal): Promise<string> {
    const selection = bundleSelection(source);
    const selections = this.#readers.get(podUid) ?? new Map<string, BundleSelection>();
    this.#readers.set(podUid, selections.set(selection.key, selection));
    const known = this.#anchors.get(selection.key);
    if (known !== undefined) return known;
    const selected = [...(await this.#bundles(podUid, signal)).values()].filter((each) => selection.selects(each));
    if (selected.length === 0 && source.optional) return '';
    if (selected.length === 0) throw selection.notFound();
    const anchors = normalizeTrustAnchors(
      selected.map(({ spec }) => spec.trustBundle),
      this.#salt,
    );
    this.#anchors.set(selection.key, anchors);
    return anchors;
  }

  forget(uid: string): void {
    this.#readers.delete(uid);
    this.#missedBy.delete(uid);
  }

  async #bundles(podUid: string, signal: AbortSignal): Promise<BundleMap> {
    await this.#waitForFirstAnswer(signal);
    if (this.#state.kind === 'known') return this.#state.bundles;
    this.#missedBy.add(podUid);
    if (this.#state.kind === 'notServed') throw trustBundlesUnavailable('notServed');
    const message = 'ClusterTrustBundle informer has not yet synced';
    throw new TrustBundleError(message, { kind: 'trustBundlesNotSynced' });
  }

  async #waitForFirstAnswer(signal: AbortSignal): Promise<void> {
    if (this.#patience === undefined) {
      this.#patience = this.#deps.clock.deadline(FIRST_LIST_MS);
      void this.#watch();
    }
    if (this.#state.kind !== 'unknown') return;
    const patience = AbortSignal.any([signal, this.#patience]);
    await abortable(this.#firstAnswer.promise, patience).catch(() => signal.throwIfAborted());
  }

  async #watch(): Promise<void> {
    const { api } = this.#deps;
    const handler = {
      onList: (all: readonly ClusterTrustBundle[]) =>
        this.#set(new Map(all.map((bundle) => [bundle.metadata.name, bundle]))),
      onChange: (change: ObjectChange<ClusterTrustBundle>) => this.#apply(change),
    };
    const list: ApiServer['list'] = (selection, signal) =>
      api.list(selection, signal).catch((error: unknown) => {
        if (isApiError(error, 'NotFound')) this.#setNotServed();
        throw error;
      });
    const watch: ApiServer['watch'] = (selection, signal) => api.watch(selection, signal);
    const deps = { ...this.#deps, api: { list, watch } };
    await runReflector({ resource: 'clustertrustbundles' }, handler, deps, this.#life);
  }

  /** Bundles that were known stay known: the API server may be starting. */
  #setNotServed(): void {
    if (this.#state.kind === 'unknown') this.#state = { kind: 'notServed' };
    this.#firstAnswer.resolve();
  }

  #apply({ type, object }: ObjectChange<ClusterTrustBundle>): void {
    const bundles = new Map(this.#state.kind === 'known' ? this.#state.bundles : []);
    if (type === 'DELETED') bundles.delete(object.metadata.name);
    else bundles.set(object.metadata.name, object);
    this.#set(bundles);
  }

  #set(bundles: BundleMap): void {
    const changed = this.#state.kind === 'known' ? changedBundles(this.#state.bundles, bundles) : [];
    this.#state = { kind: 'known', bundles };
    this.#firstAnswer.resolve();
    if (changed.length > 0) this.#anchors.clear();
    const affected = [...this.#readers].filter(([, selections]) =>
      changed.some((bundle) => [...selections.values()].some((each) => each.selects(bundle))),
    );
    const uids = new Set([...this.#missedBy, ...affected.map(([uid]) => uid)]);
    this.#missedBy.clear();
    for (const uid of uids) this.#deps.onChange(uid);
  }
}

/** The bundles that were added, changed or removed, in their old and new versions. */
function changedBundles(before: BundleMap, after: BundleMap): readonly ClusterTrustBundle[] {
  const isIn = (bundle: ClusterTrustBundle, bundles: BundleMap): boolean => {
    const { uid, resourceVersion } = bundles.get(bundle.metadata.name)?.metadata ?? {};
    return uid === bundle.metadata.uid && resourceVersion === bundle.metadata.resourceVersion;
  };
  return [
    ...[...before.values()].filter((bundle) => !isIn(bundle, after)),
    ...[...after.values()].filter((bundle) => !isIn(bundle, before)),
  ];
}
