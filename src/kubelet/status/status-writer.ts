import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { isMirrorPod } from '../../api/pod-names.ts';
import { ExponentialBackoff } from '../../base/exponential-backoff.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import { ApiError, type ApiServer, type ObjectKey } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { patchShape } from '../api-client/patch-shapes.ts';
import { strategicDiff } from '../api-client/strategic-diff.ts';
import { mergePodStatus, statusesAgree } from './merge-pod-status.ts';
import { isTerminal } from './pod-phase.ts';
import { statusChannel } from './status-channel.ts';
import type { StatusStore, VersionedStatus } from './status-store.ts';

/** The longest delay is the period in which kubelet syncs all statuses. */
const RETRY = { firstMs: 250, maxMs: 10_000, jitter: 0.5 };
const STATUS_SHAPE = patchShape('pods').fields?.['status'] ?? {};

export interface StatusWriterDeps {
  readonly statuses: Pick<StatusStore, 'get' | 'subscribe'>;
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The last observed version of a pod at the API server; for a static pod, its mirror pod. */
  readonly apiPodOf: (pod: Pod) => Pod | undefined;
  /** Containers of the pod may still run. */
  readonly hasRunningContainers: (uid: string) => boolean;
  /** The pod has ended and all its resources are released. */
  readonly podCanBeDeleted: (uid: string) => boolean;
}

export interface StatusWriter {
  /** Writes until the signal aborts. Statuses that changed before are not lost. */
  run(signal: AbortSignal): Promise<void>;

  /**
   * Checks a pod again: it or its mirror pod changed at the API server, or its state changed here. Also called when a pod
   * is removed, to forget it.
   */
  reconcile(uid: string): void;
}

/**
 * Writes the statuses of all pods to the API server.
 *
 * 1. One request at a time for each pod. Changes meanwhile are sent with the next request; intermediate ones are skipped.
 * 2. A version is sent once, and again only when fields of the agent differ at the API server.
 * 3. Only differences are sent, with the UID of the pod: a new pod of the same name is not changed.
 * 4. A deleted pod that has ended, whose final status is sent and whose resources are released, is removed.
 * 5. A failed request is retried with back-off and the then current status.
 */
export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  return new Writer(deps);
}

/** State of a pod at the API server. */
interface Counterpart {
  /** The newest version from a response or the watch. */
  readonly pod: Pod;
  /** Version of the last sent status; `undefined` before the first. */
  readonly version: number | undefined;
  /** The pod was deleted, or a new pod has its name: nothing more is sent. */
  readonly isGone: boolean;
}

class Writer implements StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #counterparts = new Map<string, Counterpart>();
  /** Pods to check. */
  readonly #due = new Set<string>();
  readonly #busy = new Map<string, Promise<void>>();
  /** Since when a status differs from the last one that was sent. */
  readonly #changedMs = new Map<string, number>();
  readonly #unsubscribe: () => void;
  #life: AbortSignal | undefined;

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.statuses.subscribe(({ pod: { metadata } }) => {
      if (!this.#changedMs.has(metadata.uid)) this.#changedMs.set(metadata.uid, deps.clock.monotonic());
      this.reconcile(metadata.uid);
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#life = signal;
    for (const uid of [...this.#due]) this.reconcile(uid);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#unsubscribe();
    await Promise.all(this.#busy.values());
  }

  reconcile(uid: string): void {
    this.#due.add(uid);
    if (this.#life && !this.#life.aborted && !this.#busy.has(uid)) this.#busy.set(uid, this.#work(uid, this.#life));
  }

  async #work(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const pause = new ExponentialBackoff(RETRY);
    try {
      while (!signal.aborted && this.#due.delete(uid)) {
        try {
          await this.#write(uid, signal);
          pause.reset();
        } catch (error) {
          if (signal.aborted) break;
          this.#due.add(uid);
          log.warn('cannot write pod status, will try again', { pod: this.#podName(uid), error });
          const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
          await clock.sleep(Math.max(asked, pause.next(random.fraction())), signal).catch(() => undefined);
        }
      }
    } finally {
      this.#busy.delete(uid);
    }
  }

  async #write(uid: string, signal: AbortSignal): Promise<void> {
    const { statuses, apiPodOf } = this.#deps;
    const found = statuses.get(uid);
    const seen = found && apiPodOf(found.pod);
    if (!found || !seen) {
      this.#counterparts.delete(uid);
      if (!found) this.#changedMs.delete(uid);
      return;
    }
    const counterpart = mergeObserved(this.#counterparts.get(uid), seen);
    this.#counterparts.set(uid, counterpart);
    if (counterpart.isGone) return;
    try {
      const pod = await this.#send(found, counterpart, signal);
      this.#counterparts.set(uid, { pod, version: found.version, isGone: false });
      const isLatest = statuses.get(uid)?.version === found.version;
      this.#publish(pod, isLatest);
      if (!isLatest || !isToBeDeleted(pod) || !this.#deps.podCanBeDeleted(uid)) return;
      await this.#deps.api.delete(podKey(pod), { uid: pod.metadata.uid, graceSeconds: 0 }, signal);
    } catch (error) {
      if (!(await this.#isGone(uid, counterpart.pod, error, signal))) throw error;
    }
    this.#counterparts.set(uid, { ...counterpart, isGone: true });
  }

  /** Returns the pod as the API server has it afterwards. */
  async #send(found: VersionedStatus, { pod, version }: Counterpart, signal: AbortSignal): Promise<Pod> {
    const { api, clock, hasRunningContainers: mayRun } = this.#deps;
    const before = pod.status ?? {};
    const after = mergePodStatus({
      api: before,
      own: found.status,
      hasRunningContainers: mayRun(found.pod.metadata.uid),
      isMirror: isMirrorPod(pod),
      nowMs: clock.now(),
    });
    if (version === found.version && statusesAgree(before, after)) return pod;
    const status = strategicDiff(asMap(before), asMap(after), STATUS_SHAPE);
    if (Object.keys(status).length === 0) return pod;
    const patch = { metadata: { uid: pod.metadata.uid }, status };
    return api.patch(podKey(pod), patch, { subresource: 'status' }, signal);
  }

  /**
   * Whether the error means that the pod is gone. Neither `Invalid` (a wrong UID in a patch) nor `Conflict` says so, so
   * the pod is read again.
   */
  async #isGone(uid: string, pod: Pod, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (isApiError(error, 'NotFound')) return true;
    if (!isApiError(error, 'Conflict', 'Invalid')) return false;
    try {
      const now = await this.#deps.api.get(podKey(pod), signal);
      if (now.metadata.uid !== pod.metadata.uid) return true;
      this.#counterparts.set(uid, { pod: now, version: undefined, isGone: false });
      return false;
    } catch (failure) {
      return isApiError(failure, 'NotFound');
    }
  }

  #publish(pod: Pod, isLatest: boolean): void {
    const { uid } = pod.metadata;
    const nowMs = this.#deps.clock.monotonic();
    const changedMs = this.#changedMs.get(uid);
    if (isLatest) this.#changedMs.delete(uid);
    else this.#changedMs.set(uid, nowMs);
    statusChannel.publish({ pod, tookMs: changedMs === undefined ? undefined : nowMs - changedMs });
  }

  #podName(uid: string): string {
    const { namespace, name } = this.#deps.statuses.get(uid)?.pod.metadata ?? {};
    return `${namespace}/${name}`;
  }
}

/** The response to a request may be newer than the watch. */
function mergeObserved(before: Counterpart | undefined, seen: Pod): Counterpart {
  if (before?.pod.metadata.uid !== seen.metadata.uid) return { pod: seen, version: undefined, isGone: false };
  return isOlder(seen, before.pod) ? before : { ...before, pod: seen };
}

function isOlder(a: Pod, b: Pod): boolean {
  const [left = '', right = ''] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return /^\d+$/.test(left) && /^\d+$/.test(right) && BigInt(left) < BigInt(right);
}

/** A mirror pod is deleted with its static pod only. */
function isToBeDeleted(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isMirrorPod(pod) && isTerminal(pod.status?.phase);
}

function podKey({ metadata: { namespace, name } }: Pod): ObjectKey<'pods'> {
  return { resource: 'pods', namespace, name };
}

function asMap(status: PodStatus): Readonly<Record<string, unknown>> {
  return { ...status };
}
