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
import type { StatusStore, VersionedStatus } from './status-store.ts';

/** As often as kubelet looks through all statuses, at the latest. */
const RETRY = { firstMs: 250, maxMs: 10_000, jitter: 0.5 };
const STATUS_SHAPE = patchShape('pods').fields?.['status'] ?? {};

export interface StatusWriterDeps {
  readonly statuses: Pick<StatusStore, 'get' | 'subscribe'>;
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** What the API server was last seen to have of a pod: itself, or the mirror of a static one. */
  readonly apiPodOf: (pod: Pod) => Pod | undefined;
  /** Containers of the pod may still run. */
  readonly mayRun: (uid: string) => boolean;
  /** The pod has ended and nothing that it used is held any more. */
  readonly podCanBeDeleted: (uid: string) => boolean;
}

export interface StatusWriter {
  /** Writes until the signal aborts. Statuses that changed before are not lost. */
  run(signal: AbortSignal): Promise<void>;

  /**
   * Looks at a pod once more: the API server has changed it or its mirror, or it has come further here. To be called
   * also when a pod is gone, which is then forgotten.
   */
  reconcile(uid: string): void;
}

/**
 * Lets the API server know the status of every pod.
 *
 * 1. One request at a time for each pod. What changes meanwhile is sent with the next one; history is not.
 * 2. A version is sent once, and again only when the API server has something else where the agent is to be believed.
 * 3. Only what differs is sent, for exactly the pod that it was found on: another one of the same name is left alone.
 * 4. A pod that is to be deleted, has ended and told so, and of which nothing is left here, is deleted for good.
 * 5. What fails is tried again, less and less often, with what is true then.
 */
export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  return new Writer(deps);
}

/** What is known of a pod's counterpart at the API server. */
interface Counterpart {
  /** Its newest version that was seen, in an answer or from the watch. */
  readonly pod: Pod;
  /** Of the status that was sent last; nothing before the first. */
  readonly version: number | undefined;
  /** It was deleted, or another has its name: there is nothing more to tell it. */
  readonly isGone: boolean;
}

class Writer implements StatusWriter {
  readonly #deps: StatusWriterDeps;
  readonly #counterparts = new Map<string, Counterpart>();
  /** Pods to be looked at. */
  readonly #due = new Set<string>();
  readonly #busy = new Map<string, Promise<void>>();
  readonly #unsubscribe: () => void;
  #life: AbortSignal | undefined;

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.statuses.subscribe(({ pod }) => this.reconcile(pod.metadata.uid));
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
    while (!signal.aborted && this.#due.delete(uid)) {
      try {
        await this.#write(uid, signal);
        pause.reset();
      } catch (error) {
        if (signal.aborted) break;
        log.warn('cannot write the status of a pod, will try again', { pod: this.#nameOf(uid), error });
        this.#due.add(uid);
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await clock.sleep(Math.max(asked, pause.next(random.fraction())), signal).catch(() => undefined);
      }
    }
    this.#busy.delete(uid);
  }

  async #write(uid: string, signal: AbortSignal): Promise<void> {
    const { statuses, apiPodOf } = this.#deps;
    const found = statuses.get(uid);
    const seen = found && apiPodOf(found.pod);
    if (!found || !seen) {
      this.#counterparts.delete(uid);
      return;
    }
    const counterpart = withNews(this.#counterparts.get(uid), seen);
    this.#counterparts.set(uid, counterpart);
    if (counterpart.isGone) return;
    try {
      const pod = await this.#send(found, counterpart, signal);
      this.#counterparts.set(uid, { pod, version: found.version, isGone: false });
      const isLastWord = statuses.get(uid)?.version === found.version;
      if (!isLastWord || !isToBeDeleted(pod) || !this.#deps.podCanBeDeleted(uid)) return;
      await this.#deps.api.delete(keyOf(pod), { uid: pod.metadata.uid, graceSeconds: 0 }, signal);
    } catch (error) {
      if (!(await this.#isGone(uid, counterpart.pod, error, signal))) throw error;
    }
    this.#counterparts.set(uid, { ...counterpart, isGone: true });
  }

  /** The pod as the API server has it then. */
  async #send(found: VersionedStatus, { pod, version }: Counterpart, signal: AbortSignal): Promise<Pod> {
    const { api, clock, mayRun } = this.#deps;
    const before = pod.status ?? {};
    const after = mergePodStatus({
      api: before,
      own: found.status,
      mayRun: mayRun(found.pod.metadata.uid),
      isMirror: isMirrorPod(pod),
      nowMs: clock.now(),
    });
    if (version === found.version && statusesAgree(before, after)) return pod;
    const status = strategicDiff(asMap(before), asMap(after), STATUS_SHAPE);
    if (Object.keys(status).length === 0) return pod;
    const patch = { metadata: { uid: pod.metadata.uid }, status };
    return api.patch(keyOf(pod), patch, { subresource: 'status' }, signal);
  }

  /**
   * Whether the failure means that the pod is not there any more. A server says neither for a wrong UID in a patch
   * (`Invalid`) nor for a conflict which of several reasons it has, so it is asked.
   */
  async #isGone(uid: string, pod: Pod, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (isApiError(error, 'NotFound')) return true;
    if (!isApiError(error, 'Conflict', 'Invalid')) return false;
    try {
      const now = await this.#deps.api.get(keyOf(pod), signal);
      if (now.metadata.uid !== pod.metadata.uid) return true;
      this.#counterparts.set(uid, { pod: now, version: undefined, isGone: false });
      return false;
    } catch (failure) {
      return isApiError(failure, 'NotFound');
    }
  }

  #nameOf(uid: string): string {
    const { namespace, name } = this.#deps.statuses.get(uid)?.pod.metadata ?? {};
    return `${namespace}/${name}`;
  }
}

/** An answer to a request of ours may be ahead of what the watch has told. */
function withNews(before: Counterpart | undefined, seen: Pod): Counterpart {
  if (before?.pod.metadata.uid !== seen.metadata.uid) return { pod: seen, version: undefined, isGone: false };
  return isOlder(seen, before.pod) ? before : { ...before, pod: seen };
}

function isOlder(a: Pod, b: Pod): boolean {
  const [left = '', right = ''] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return /^\d+$/.test(left) && /^\d+$/.test(right) && BigInt(left) < BigInt(right);
}

/** A mirror goes with its static pod, never by itself. */
function isToBeDeleted(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isMirrorPod(pod) && isTerminal(pod.status?.phase);
}

function keyOf({ metadata: { namespace, name } }: Pod): ObjectKey<'pods'> {
  return { resource: 'pods', namespace, name };
}

function asMap(status: PodStatus): Readonly<Record<string, unknown>> {
  return { ...status };
}
