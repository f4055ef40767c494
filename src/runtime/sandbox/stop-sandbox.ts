import { errorText } from '../../base/error-text.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { CleanupRetryQueue } from './cleanup-retry-queue.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { SandboxStore } from './sandbox-store.ts';
import { removeSandboxFolders, type TeardownDeps, teardownSandbox } from './teardown-sandbox.ts';

export interface StopDeps extends TeardownDeps, Pick<SandboxDeps, 'containers' | 'nri' | 'log'> {
  readonly store: SandboxStore;
  readonly later: CleanupRetryQueue;
}

/** In the sandbox's turn. The record then; `undefined` when there is none any more. */
export async function stopSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<SandboxRecord | undefined> {
  const { store } = deps;
  const found = store.all.get(id);
  if (found === undefined || isStopped(found)) return found;
  // First of all: no container is made in it any more, and whoever starts after a crash finishes this.
  const stopping = await store.updateState(found, { phase: 'notReady', networkDown: false, stopAsked: true });
  try {
    await stopEverything(stopping, deps, signal);
  } catch (error) {
    deps.later.add(id, (limit) => cleanUpSandbox(id, deps, limit));
    signal.throwIfAborted();
    if (error instanceof CriError) throw error;
    throw new CriError('Unknown', `failed to stop sandbox ${JSON.stringify(id)}: ${errorText(error)}`, { cause: error });
  }
  const state = { phase: 'notReady', networkDown: true, stopAsked: true } as const;
  return store.updateState(stopping, state, { ips: [], networkResults: {} });
}

/** In the sandbox's turn: stops what is not stopped, and takes away the rest. */
export async function removeSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<void> {
  const { containers, nri, store, log } = deps;
  const stopped = await stopSandbox(id, deps, signal);
  if (stopped === undefined) return;
  await containers.removeAll(id, signal);
  try {
    await nri.removePodSandbox(stopped, signal);
  } catch (error) {
    log.warn('a plugin of NRI failed for the removal of a sandbox', { sandboxId: id, error });
  }
  await removeSandboxFolders(id, deps);
  await store.remove(stopped);
}

/** Nobody but us speaks of it any more: what `FinishLater` does. */
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
    deps.log.warn('a plugin of NRI failed for the stop of a sandbox', { sandboxId: record.id, error });
  }
  const failures = await teardownSandbox(record, deps, signal);
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}

function isStopped({ state }: SandboxRecord): boolean {
  return state.phase === 'notReady' && state.networkDown && state.stopAsked === true;
}
