import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { CleanupRetryQueue } from './cleanup-retry-queue.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { SandboxStore } from './sandbox-store.ts';
import { removeSandboxFolders, type TeardownDeps, teardownSandbox } from './teardown-sandbox.ts';

export interface StopDeps extends TeardownDeps, Pick<SandboxDeps, 'containers' | 'nri' | 'log'> {
  readonly store: SandboxStore;
  readonly cleanups: CleanupRetryQueue;
}

/** Requires the sandbox's lock. Returns the new record, or `undefined` if the sandbox is gone. */
export async function stopSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<SandboxRecord | undefined> {
  const { store } = deps;
  const found = store.all.get(id);
  if (found === undefined || isStopped(found)) return found;
  // Recorded first: no container can be created in it, and recovery after a crash finishes the stop.
  const stopping = await store.updateState(found, { phase: 'notReady', networkDown: false, stopAsked: true });
  try {
    await stopEverything(stopping, deps, signal);
  } catch (error) {
    deps.cleanups.add(id, (limit) => cleanUpSandbox(id, deps, limit));
    signal.throwIfAborted();
    if (error instanceof CriError) throw error;
    throw new CriError('Unknown', `failed to stop sandbox ${JSON.stringify(id)}: ${errorText(error)}`, {
      cause: error,
    });
  }
  const state = { phase: 'notReady', networkDown: true, stopAsked: true } as const;
  return store.updateState(stopping, state, { ips: [], networkResults: {} });
}

/** Requires the sandbox's lock. Stops the sandbox if it is not stopped, and removes all of it. */
export async function removeSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<void> {
  const { containers, nri, store, log } = deps;
  const stopped = await stopSandbox(id, deps, signal);
  if (stopped === undefined) return;
  await containers.removeAll(id, signal);
  try {
    await nri.removePodSandbox(stopped, signal);
  } catch (error) {
    log.warn('cannot notify NRI plugins of sandbox removal', { sandboxId: id, error });
  }
  await removeSandboxFolders(id, deps);
  await store.remove(stopped);
}

/** The cleanup that the `CleanupRetryQueue` runs: undoes an interrupted create, or finishes a stop. */
export async function cleanUpSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<void> {
  await deps.store.withLock(id, async () => {
    const record = deps.store.all.get(id);
    if (record?.state.phase !== 'creating') return stopSandbox(id, deps, signal);
    const failures = await teardownSandbox(record, deps, signal);
    if (failures.length > 0) throw new AggregateError(failures);
    await removeSandboxFolders(id, deps);
    return deps.store.remove(record);
  });
}

async function stopEverything(record: SandboxRecord, deps: StopDeps, signal: AbortSignal): Promise<void> {
  await deps.containers.stopAll(record.id, signal);
  try {
    await deps.nri.stopPodSandbox(record, signal);
  } catch (error) {
    deps.log.warn('cannot notify NRI plugins of sandbox stop', { sandboxId: record.id, error });
  }
  const failures = await teardownSandbox(record, deps, signal);
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}

function isStopped({ state }: SandboxRecord): boolean {
  return state.phase === 'notReady' && state.networkDown && state.stopAsked === true;
}
