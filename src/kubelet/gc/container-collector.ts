import { errorText } from '../../base/error-text.ts';
import { LatestOnly } from '../../base/latest-only.ts';
import type { Log } from '../../base/log.ts';
import { traceWork } from '../../base/trace-work.ts';
import type { UnhandledErrors } from '../../base/unhandled-errors.ts';
import { ignoreNotFound } from '../../cri/ignore-not-found.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { RUNTIME_SCOPE } from '../events/trace-names.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { WorkerView } from '../workers/pod-state-queries.ts';
import {
  type CollectablePod,
  type DeadContainer,
  type DeadContainerPolicy,
  deadContainersOfEndedPod,
  excessDeadContainers,
  excessExitedContainers,
  unusedSandboxes,
} from './dead-containers.ts';
import type { RecordNodeEvent } from './node-event.ts';
import { type RemovalDeps, removeDeadContainer } from './remove-dead-container.ts';

/** kubelet's ContainerGCPeriod. */
const PERIOD_MS = 60_000;

const LOG_SUFFIX = '.log';
/** As in kubelet: a shorter text is not a container id. */
const MIN_ID_LENGTH = 6;

export interface ContainerCollectorDeps extends RemovalDeps {
  readonly observed: Pick<ObservedPods, 'all' | 'get' | 'refresh'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly unhandled: Pick<UnhandledErrors, 'report'>;
  readonly policy: DeadContainerPolicy;
  /** The worker of a pod, if it has one. */
  readonly workerOf: (uid: string) => WorkerView | undefined;
  readonly recordNodeEvent: RecordNodeEvent;
}

/**
 * Container GC: removes excess dead containers and sandboxes, of one pod after each exit, and of the whole node each
 * minute.
 *
 * 1. Skips pods that are terminating or removed, which their workers clean up, and pods without a worker, which may be
 *    desired.
 * 2. Keeps everything that pod workers base decisions on: see `dead-containers.ts`.
 * 3. One removal at a time. Errors are logged and retried in the next minute.
 */
export class ContainerCollector {
  readonly #deps: ContainerCollectorDeps;
  readonly #life: AbortSignal;
  readonly #slot: LatestOnly<void>;
  readonly #changed = new Set<string>();
  #isDue = false;
  #isShort = false;

  constructor(deps: ContainerCollectorDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
    const onUnhandled = (error: unknown): void => deps.unhandled.report('container garbage collection', error);
    this.#slot = new LatestOnly<void>(() => this.#collect(), onUnhandled);
  }

  /** Called when an observed pod changed: a container may have exited. */
  onPodObserved(uid: string): void {
    if (this.#life.aborted) return;
    this.#changed.add(uid);
    this.#slot.offer();
  }

  /** Runs until the agent stops. */
  async run(): Promise<void> {
    while (!this.#life.aborted) {
      this.#isDue = true;
      this.#slot.offer();
      await this.#deps.clock.sleep(PERIOD_MS, this.#life).catch(() => undefined);
    }
    await this.#slot.idle();
  }

  /** Removes every dead container of pods that have ended, and excess ones of other pods: the node is short of disk space. */
  async collectUnused(): Promise<void> {
    this.#isShort = true;
    this.#slot.offer();
    await this.#slot.idle();
  }

  async #collect(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const uid of changed) await this.#collectPod(uid);
    const isShort = this.#isShort;
    if (!this.#isDue && !isShort) return;
    [this.#isDue, this.#isShort] = [false, false];
    if (isShort) await this.#removeAll(this.#collectablePods().flatMap(deadContainersOfEndedPod));
    await traceWork(
      () => ({ name: 'Containers/GarbageCollect', scope: RUNTIME_SCOPE, subject: 'containers' }),
      () => this.#collectNode(),
    );
  }

  async #collectPod(uid: string): Promise<void> {
    const pod = this.#deps.observed.get(uid);
    if (pod && this.#isCollectable(uid)) await this.#removeAll(excessExitedContainers(pod, this.#deps.policy));
  }

  async #collectNode(): Promise<void> {
    const { policy, clock } = this.#deps;
    const pods = this.#collectablePods();
    await this.#removeAll(excessDeadContainers(pods, policy, clock.now()));
    for (const { pod } of pods) await this.#removeSandboxes(pod.uid);
    await this.#removeLinks();
  }

  #collectablePods(): readonly CollectablePod[] {
    return [...this.#deps.observed.all.values()].flatMap((pod): CollectablePod[] =>
      this.#isCollectable(pod.uid) ? [{ pod, isLive: this.#deps.workerOf(pod.uid)?.state.phase === 'syncing' }] : [],
    );
  }

  /** Checked again before each removal: the pod may have started to terminate. */
  #isCollectable(uid: string): boolean {
    const worker = this.#deps.workerOf(uid);
    if (this.#life.aborted || !worker || worker.removed) return false;
    return worker.state.phase === 'syncing' || worker.state.phase === 'finished';
  }

  async #removeAll(dead: readonly DeadContainer[]): Promise<void> {
    for (const { pod, container } of dead) {
      if (!this.#isCollectable(pod.uid)) continue;
      await this.#attempt('Failed to remove container', { containerID: container.id, pod: formatName(pod) }, () =>
        removeDeadContainer(pod, container, this.#deps, this.#life),
      );
    }
    for (const uid of new Set(dead.map(({ pod }) => pod.uid))) await this.#refresh(uid);
  }

  async #removeSandboxes(uid: string): Promise<void> {
    const { observed, runtime } = this.#deps;
    const pod = observed.get(uid);
    const unused = pod && this.#isCollectable(uid) ? unusedSandboxes(pod) : [];
    for (const { id: podSandboxId } of unused) {
      await this.#attempt(
        'Failed to remove sandbox',
        { sandboxID: podSandboxId, pod: pod && formatName(pod) },
        async () => {
          // A sandbox that is not ready may still hold a network.
          await ignoreNotFound(runtime.stopPodSandbox({ podSandboxId }, this.#life));
          await ignoreNotFound(runtime.removePodSandbox({ podSandboxId }, this.#life));
        },
      );
    }
    if (unused.length > 0) await this.#refresh(uid);
  }

  /** Errors are ignored: the pod is marked stale, and its worker inspects it again. */
  async #refresh(uid: string): Promise<void> {
    await this.#deps.observed.refresh(uid, this.#life).catch(() => undefined);
  }

  async #removeLinks(): Promise<void> {
    const { settings, fs, observed, log, recordNodeEvent } = this.#deps;
    if (settings.containerLogsDir === undefined) return;
    const all = [...observed.all.values()].flatMap(({ containers }) => containers);
    const isAlive = (id: string): boolean => all.some((each) => each.state !== 'exited' && each.id.startsWith(id));
    try {
      await removeDeadLogLinks(settings.containerLogsDir, fs, isAlive);
    } catch (error) {
      log.error('Container garbage collection failed', { error });
      recordNodeEvent('Warning', 'ContainerGCFailed', errorText(error));
    }
  }

  async #attempt(message: string, fields: Readonly<Record<string, unknown>>, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#life.aborted) this.#deps.log.error(message, { ...fields, error });
    }
  }
}

function formatName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/**
 * Removes links to missing logs. The log of a running container may be missing briefly while it is rotated: its link
 * stays. `isAlive` gets a container id, or the prefix of one that was truncated in a long file name.
 */
async function removeDeadLogLinks(folder: string, fs: FileSystem, isAlive: (id: string) => boolean): Promise<void> {
  if (!(await fs.stat(folder))) return;
  for (const { name, kind } of await fs.readDirectory(folder)) {
    if (kind !== 'symlink' || !name.endsWith(LOG_SUFFIX) || (await fs.stat(`${folder}/${name}`))) continue;
    const id = containerIdIn(name);
    if (id === undefined || !isAlive(id)) await fs.remove(`${folder}/${name}`);
  }
}

/** `web_default_main-0123….log` */
function containerIdIn(name: string): string | undefined {
  const id = name.slice(name.lastIndexOf('-') + 1, -LOG_SUFFIX.length);
  return name.includes('-') && id.length >= MIN_ID_LENGTH ? id : undefined;
}
