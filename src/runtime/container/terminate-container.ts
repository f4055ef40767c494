import { abortable } from '../../base/abortable.ts';
import { assertNever } from '../../base/assert-never.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import { signalNumber } from '../spec/stop-signal.ts';
import type { ContainerRecord } from '../store/container-record.ts';
import { type ContainerDeps, hasOwnPidNamespace, monitoredName } from './container-deps.ts';
import { type ContainerExited, nanoseconds, unknownExit } from './container-state.ts';
import type { ContainerStore } from './container-store.ts';
import type { ExitWatcher, WatchedContainer } from './exit-watcher.ts';
import { SIGKILL } from './stop-signal.ts';

export type TerminateDeps = Pick<ContainerDeps, 'clock' | 'paths' | 'runtimes'> & {
  readonly store: ContainerStore;
  readonly exitWatcher: ExitWatcher;
  readonly notifyExit: (record: ContainerRecord) => Promise<void>;
};

/** A process that survives SIGKILL is blocked in the kernel (disk, network); waiting longer does not help. */
export const KILL_TIMEOUT_MS = 60_000;

/**
 * Sends the stop signal, and kills the container after `graceMs`. Of concurrent calls, the first sends the signal and the
 * shortest grace period kills. The lock is not held during the grace period, so other verbs need not wait for it.
 */
export async function terminateContainer(
  id: string,
  graceMs: number,
  deps: TerminateDeps,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = deps;
  const watched = await store.withLock(id, () => findRunning(id, deps, signal));
  const record = store.all.get(id);
  if (watched === undefined || record === undefined) return;
  if (graceMs > 0) {
    await sendStopSignal(record, watched, deps);
    if (await resolvesWithin(watched.exited, graceMs, clock, signal)) return;
  }
  await killContainer(record, watched, deps, signal);
}

/** Sends SIGKILL. Resolves when the exit is recorded. */
export async function killContainer(
  record: ContainerRecord,
  watched: WatchedContainer,
  { clock, paths, runtimes }: TerminateDeps,
  signal: AbortSignal,
): Promise<void> {
  await runtimeForRecord(runtimes, record).kill(monitoredName(paths, record.id), SIGKILL, {
    all: !hasOwnPidNamespace(record),
  });
  if (await resolvesWithin(watched.exited, KILL_TIMEOUT_MS, clock, signal)) return;
  throw new CriError(
    'DeadlineExceeded',
    `container ${record.id} still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL: its processes are blocked in the kernel`,
  );
}

async function sendStopSignal(
  record: ContainerRecord,
  watched: WatchedContainer,
  { paths, runtimes }: TerminateDeps,
): Promise<void> {
  if (watched.stopSignalled) return;
  watched.stopSignalled = true;
  try {
    // Validated when the container was created.
    const number = signalNumber(record.stopSignal) ?? SIGKILL;
    await runtimeForRecord(runtimes, record).kill(monitoredName(paths, record.id), number);
  } catch (error) {
    watched.stopSignalled = false;
    throw error;
  }
}

/** Requires the lock. Returns `undefined` if there is nothing to stop. */
async function findRunning(
  id: string,
  deps: TerminateDeps,
  signal: AbortSignal,
): Promise<WatchedContainer | undefined> {
  signal.throwIfAborted();
  const { store, exitWatcher, clock, paths, runtimes } = deps;
  const record = store.all.get(id);
  if (record === undefined) return undefined;
  const { phase } = record.state;
  switch (phase) {
    case 'running':
      return exitWatcher.get(id) ?? exitWatcher.watch(record);
    case 'starting':
      // We hold the lock, so no start is running: neither its success nor its failure could be recorded.
      await runtimeForRecord(runtimes, record).remove(monitoredName(paths, id), signal);
      await recordExit(id, unknownExit('its start could not be recorded', nanoseconds(clock.now())), deps);
      return undefined;
    case 'creating':
    case 'created': // may still be started, as in containerd
    case 'exited':
      return undefined;
    default:
      return assertNever(phase);
  }
}

/** Records an exit that no watcher observes, and notifies subscribers and plugins. */
export async function recordExit(
  id: string,
  end: ContainerExited,
  { store, notifyExit }: Pick<TerminateDeps, 'store' | 'notifyExit'>,
): Promise<void> {
  const ended = await store.applyEvent(id, end);
  if (ended) await notifyExit(ended);
}

/** Resolves with `false` after `ms`. Rejects with the signal's reason when it aborts. */
async function resolvesWithin(work: Promise<void>, ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const done = new AbortController();
  const time = clock.sleep(ms, done.signal).then(() => false);
  try {
    return await abortable(Promise.race([work.then(() => true), time]), signal);
  } finally {
    done.abort();
    time.catch(() => {});
  }
}
