import type { Log } from '../../base/log.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { Clock } from '../../host/clock.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { type ContainerLog, type RotateLogDeps, restoreLog, rotateLog } from './rotate-log.ts';
import { type LogRotationPolicy, type LogSize, nextSizeCheckMs } from './rotation-plan.ts';

export interface LogRotationDeps extends RotateLogDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly observed: { readonly all: ReadonlyMap<string, ObservedPod> };
  readonly policy: LogRotationPolicy;
}

interface WatchedLog {
  readonly uid: string;
  readonly end: AbortController;
  readonly done: Promise<void>;
}

/**
 * Keeps the logs of running containers within their limits.
 * 1. Each running container is monitored separately until it exits; a check costs one stat.
 * 2. One rotation per log at a time, and at most `maxWorkers` rotations at once.
 * 3. Errors are logged and retried after the interval, and do not delay other containers.
 */
export class LogRotation {
  readonly #deps: LogRotationDeps;
  readonly #rotations: Semaphore;
  /** By container id. */
  readonly #watched = new Map<string, WatchedLog>();
  #life: AbortSignal | undefined;

  constructor(deps: LogRotationDeps) {
    this.#deps = deps;
    this.#rotations = new Semaphore(deps.policy.maxWorkers);
  }

  /** Runs until the signal aborts. Call after the first relist. */
  async run(signal: AbortSignal): Promise<void> {
    const { observed, policy } = this.#deps;
    if (policy.maxBytes < 0 || signal.aborted) return;
    this.#life = signal;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => resolve(), { once: true });
    for (const uid of observed.all.keys()) this.onPodObserved(uid);
    await this.#restoreEnded(signal);
    await ended;
    await Promise.all([...this.#watched.values()].map(({ done }) => done));
  }

  /** Called when an observed pod changed. */
  onPodObserved(uid: string): void {
    const life = this.#life;
    if (!life || life.aborted) return;
    const running = new Map(this.#containers(uid).flatMap((each) => (isLogging(each) ? [[each.id, each]] : [])));
    for (const [id, watched] of this.#watched) {
      if (watched.uid === uid && !running.has(id)) watched.end.abort(new Error('the container has exited'));
    }
    for (const { id, logPath } of running.values()) {
      if (!this.#watched.has(id)) this.#begin(uid, { id, path: logPath }, life);
    }
  }

  #containers(uid: string): readonly ObservedContainer[] {
    return this.#deps.observed.all.get(uid)?.containers ?? [];
  }

  #begin(uid: string, container: ContainerLog, life: AbortSignal): void {
    const end = new AbortController();
    const done = this.#watch(container, AbortSignal.any([life, end.signal]), life).finally(() => {
      this.#watched.delete(container.id);
    });
    this.#watched.set(container.id, { uid, end, done });
  }

  /** A rotation in progress is completed even if its container exits. */
  async #watch(container: ContainerLog, signal: AbortSignal, life: AbortSignal): Promise<void> {
    const { clock, log, policy } = this.#deps;
    let before: LogSize | undefined;
    while (!signal.aborted) {
      let wait = policy.monitorIntervalMs;
      try {
        const now = await this.#checkSize(container, signal);
        const isFull = now.size >= policy.maxBytes;
        if (isFull) await this.#rotations.run(() => rotateLog(container, policy.maxFiles, this.#deps, life), signal);
        wait = nextSizeCheckMs(isFull ? undefined : before, now, policy);
        before = isFull ? undefined : now;
      } catch (error) {
        if (!signal.aborted) log.warn('cannot rotate the log of a container, will retry', { ...container, error });
      }
      await clock.sleep(wait, signal).catch(() => undefined);
    }
  }

  async #checkSize(container: ContainerLog, signal: AbortSignal): Promise<LogSize> {
    const { fs, clock } = this.#deps;
    let stat = await fs.stat(container.path);
    if (!stat) {
      await restoreLog(container, true, this.#deps, signal);
      stat = await fs.stat(container.path);
    }
    if (!stat) throw new Error('the runtime reopened the log, but the file is missing');
    return { atMs: clock.monotonic(), size: stat.size };
  }

  /** Runs once at start-up: logs of exited containers are not rotated later. */
  async #restoreEnded(signal: AbortSignal): Promise<void> {
    const { fs, log, observed } = this.#deps;
    for (const { id, logPath: path, state } of [...observed.all.values()].flatMap(({ containers }) => containers)) {
      if (state !== 'exited' || path === '' || signal.aborted) continue;
      try {
        if (!(await fs.stat(path))) await restoreLog({ id, path }, false, this.#deps, signal);
      } catch (error) {
        log.warn('cannot restore the log of an exited container', { id, path, error });
      }
    }
  }
}

function isLogging({ state, logPath }: ObservedContainer): boolean {
  return state === 'running' && logPath !== '';
}
