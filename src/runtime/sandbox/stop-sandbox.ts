import { textOf } from '../../base/text-of.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { FinishLater } from './finish-later.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { SandboxLedger } from './sandbox-ledger.ts';
import { removeFolders, type TakeDownDeps, takeDown } from './take-down.ts';

export interface StopDeps extends TakeDownDeps, Pick<SandboxDeps, 'containers' | 'nri' | 'log'> {
  readonly ledger: SandboxLedger;
  readonly later: FinishLater;
}

/** In the sandbox's turn. The record then; `undefined` when there is none any more. */
export async function stopSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<SandboxRecord | undefined> {
  const { ledger } = deps;
  const found = ledger.all.get(id);
  if (found === undefined || isStopped(found)) return found;
  // First of all: no container is made in it any more, and whoever starts after a crash finishes this.
  const stopping = await ledger.become(found, { phase: 'notReady', networkDown: false, stopAsked: true });
  try {
    await endAll(stopping, deps, signal);
  } catch (error) {
    deps.later.add(id, (limit) => finishSandbox(id, deps, limit));
    signal.throwIfAborted();
    if (error instanceof CriError) throw error;
    throw new CriError('Unknown', `failed to stop sandbox ${JSON.stringify(id)}: ${textOf(error)}`, { cause: error });
  }
  const life = { phase: 'notReady', networkDown: true, stopAsked: true } as const;
  return ledger.become(stopping, life, { ips: [], networkResults: {} });
}

/** In the sandbox's turn: stops what is not stopped, and takes away the rest. */
export async function removeSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<void> {
  const { containers, nri, ledger, log } = deps;
  const stopped = await stopSandbox(id, deps, signal);
  if (stopped === undefined) return;
  await containers.removeAll(id, signal);
  try {
    await nri.removePodSandbox(stopped, signal);
  } catch (error) {
    log.warn('a plugin of NRI failed for the removal of a sandbox', { sandboxId: id, error });
  }
  await removeFolders(id, deps);
  await ledger.remove(stopped);
}

/** Nobody but us speaks of it any more: what `FinishLater` does. */
export async function finishSandbox(id: string, deps: StopDeps, signal: AbortSignal): Promise<void> {
  await deps.ledger.turn(id, async () => {
    const record = deps.ledger.all.get(id);
    if (record?.life.phase !== 'creating') return stopSandbox(id, deps, signal);
    const failures = await takeDown(record, deps, signal);
    if (failures.length > 0) throw new AggregateError(failures);
    await removeFolders(id, deps);
    return deps.ledger.remove(record);
  });
}

async function endAll(record: SandboxRecord, deps: StopDeps, signal: AbortSignal): Promise<void> {
  await deps.containers.stopAll(record.id, signal);
  try {
    await deps.nri.stopPodSandbox(record, signal);
  } catch (error) {
    deps.log.warn('a plugin of NRI failed for the stop of a sandbox', { sandboxId: record.id, error });
  }
  const failures = await takeDown(record, deps, signal);
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
}

function isStopped({ life }: SandboxRecord): boolean {
  return life.phase === 'notReady' && life.networkDown && life.stopAsked === true;
}
